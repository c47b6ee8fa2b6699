package dev.headrace;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/** The services of a program for an env, as the library calls them. */
final class Services {
  private Services() {}

  record Log(EnvOptions.LogSink sink) implements Callbacks.hr_log_sink_write {
    @Override
    public void hr_log_sink_write(int level, long message) {
      sink.write(EnvOptions.LogLevel.of(level), Native.text(message));
    }
  }

  record Clock(LongSupplier nanos) implements Callbacks.hr_clock_now_nanos {
    @Override
    public long hr_clock_now_nanos() {
      return nanos.getAsLong();
    }
  }

  record Memory(EnvOptions.Allocator allocator)
      implements Callbacks.hr_allocator_allocate, Callbacks.hr_allocator_deallocate {
    @Override
    public long hr_allocator_allocate(long bytes, long alignment) {
      return allocator.allocate(bytes, alignment);
    }

    @Override
    public void hr_allocator_deallocate(long data, long bytes, long alignment) {
      allocator.deallocate(data, bytes, alignment);
    }
  }

  /** Threads take tasks until there are none left, so that it does not matter which of them come. */
  record Threads(Executor executor) implements Callbacks.hr_executor_parallel_for {
    @Override
    public void hr_executor_parallel_for(int tasks, int threads, long fn, long context) {
      Tasks shared = new Tasks(tasks, fn, context);
      for (int i = 1; i < Math.min(threads, tasks); ++i) {
        if (!offer(shared)) break;
      }
      shared.run();
      shared.await();
    }

    private boolean offer(Tasks shared) {
      try {
        executor.execute(shared);
        return true;
      } catch (Throwable e) {
        Failures.report(e);
        return false;
      }
    }
  }

  private static final class Tasks implements Runnable {
    private final int count;
    private final long fn;
    private final long context;
    private final AtomicInteger next = new AtomicInteger();
    private final CountDownLatch left;

    Tasks(int count, long fn, long context) {
      this.count = count;
      this.fn = fn;
      this.context = context;
      left = new CountDownLatch(count);
    }

    @Override
    public void run() {
      for (int task = next.getAndIncrement(); task < count; task = next.getAndIncrement()) {
        Raw.call_hr_executor_parallel_for_fn(fn, context, task);
        left.countDown();
      }
    }

    /** Waits for the tasks that others have taken; an interrupt has to wait for them, too. */
    void await() {
      boolean interrupted = false;
      while (left.getCount() > 0) {
        try {
          left.await();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) Thread.currentThread().interrupt();
    }
  }
}
