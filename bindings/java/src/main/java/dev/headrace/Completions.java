package dev.headrace;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The runs and operations of an env that are in flight: a thread waits for them in a queue of the
 * library. The thread exists from the first of them until the env's last user is gone.
 */
final class Completions {
  private final long queue;
  private final CancelToken stop = new CancelToken();
  private final AtomicLong last = new AtomicLong();
  private final Map<Long, Consumer<HeadraceException>> pending = new ConcurrentHashMap<>();

  Completions(long env) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_queue_create(env, out));
      queue = s.get(out);
    }
    Thread thread = new Thread(this::serve, "headrace-completions");
    thread.setDaemon(true);
    thread.start();
  }

  /** A function of C that puts something into the queue under a key. */
  @FunctionalInterface
  interface Enqueue {
    long enqueue(long queue, long key);
  }

  /** Calls {@code then} with null or the failure, on the thread, when what is enqueued has ended. */
  void add(Enqueue what, Consumer<HeadraceException> then) {
    long key = last.incrementAndGet();
    pending.put(key, then);
    long status = what.enqueue(queue, key);
    if (status != 0) pending.remove(key);
    Failures.check(status);
  }

  /** Ends the thread. Nothing is in flight any more. */
  void stop() {
    stop.cancel();
  }

  private void serve() {
    Limits limits = Limits.cancelledBy(stop);
    long address = limits.begin();
    while (next(address)) {
      // Until stop().
    }
    limits.end();
    stop.close();
    Raw.hr_queue_release(queue);
  }

  /** Handles one completion. Returns false after stop(). */
  private boolean next(long limits) {
    try (Scratch s = Scratch.open()) {
      Structs.hr_completion done = new Structs.hr_completion(s);
      long status = Raw.hr_queue_wait(queue, limits, done.address);
      if (status != 0) return goesOn(Failures.take(status));
      Consumer<HeadraceException> then = pending.remove(done.key());
      then.accept(done.failure() == 0 ? null : Failures.take(done.failure()));
    } catch (Throwable e) {
      Failures.report(e);
    }
    return true;
  }

  /** Only stop() ends the thread; somebody who interrupts it means the program's work on it. */
  private boolean goesOn(HeadraceException failure) {
    return Thread.interrupted() && !stop.isClosed() && failure.code() == ErrorCode.CANCELLED;
  }
}
