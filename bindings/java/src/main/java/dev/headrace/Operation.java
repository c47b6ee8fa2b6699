package dev.headrace;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What {@link Run} and {@link Work} have in common: something in flight. Thread-safe. */
abstract class Operation extends Resource {
  private final Pending<Void> future;

  /** A function of C that puts an operation into a queue under a key. */
  @FunctionalInterface
  interface Enqueue {
    long enqueue(long self, long queue, long key);
  }

  /** Calls {@code ended} once when the operation has ended. */
  Operation(Handle handle, Enqueue enqueue, Runnable ended) {
    super(handle);
    Handle own = handle;
    Pending<Void> result = new Pending<>(() -> cancel(own));
    future = result;
    Completions completions = ((Env.State) root()).completions();
    long self = own.pin();
    try {
      completions.add((queue, key) -> enqueue.enqueue(self, queue, key), failure -> {
        own.release();
        ended.run();
        result.completeElsewhere(null, failure);
      });
    } catch (Throwable e) {
      own.release();
      ended.run();
      close();
      throw e;
    }
  }

  /** Returns whether the operation has ended, whether it succeeded or failed. Does not wait. */
  public abstract boolean isDone();

  /** Waits for the end and throws if the operation has failed. */
  public final void await() {
    await(defaultLimits());
  }

  /** Waits for the end; the limits end the waiting, not the operation. */
  public abstract void await(Limits limits);

  /** Cancels the operation; does nothing if it has ended. */
  public final void cancel() {
    handle.acquire();
    try {
      cancel(handle);
    } finally {
      handle.release();
    }
  }

  /**
   * Returns a future that completes when the operation has ended. Cancelling it cancels the
   * operation. What depends on the future runs on threads of the common pool.
   */
  public final CompletableFuture<Void> future() {
    return future;
  }

  /**
   * Calls a function once with null or the failure when the operation has ended, on a thread of the
   * library, which it may hold up. What it throws is reported as uncaught.
   */
  public abstract void onDone(Consumer<HeadraceException> then);

  /** Puts the operation into a queue when it has ended. */
  public abstract void enqueue(CompletionQueue queue, long key);

  abstract Limits defaultLimits();

  /** Cancels what a handle that is closed perhaps stands for; the operation may have ended. */
  abstract void cancel(Handle operation);

  /** A callback that is called once. */
  static final class Once
      implements Callbacks.hr_run_on_done_callback, Callbacks.hr_work_on_done_callback {
    private final Consumer<HeadraceException> then;
    private final long context = Registry.add(this);

    Once(Consumer<HeadraceException> then) {
      this.then = then;
    }

    /** Returns the context, or forgets it if the registration fails. */
    void register(Registration with) {
      long status = with.register(context);
      if (status != 0) Registry.remove(context);
      Failures.check(status);
    }

    @Override
    public void hr_run_on_done_callback(long status) {
      Registry.remove(context);
      then.accept(status == 0 ? null : Failures.read(status));
    }

    @Override
    public void hr_work_on_done_callback(long status) {
      hr_run_on_done_callback(status);
    }
  }

  /** A function of C that takes the context of a callback. */
  @FunctionalInterface
  interface Registration {
    long register(long context);
  }
}
