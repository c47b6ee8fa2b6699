package dev.headrace;

import java.util.concurrent.CompletableFuture;

/** A future of something in flight, which is cancelled with it. */
final class Pending<T> extends CompletableFuture<T> {
  private final Runnable cancel;

  Pending(Runnable cancel) {
    this.cancel = cancel;
  }

  @Override
  public boolean cancel(boolean mayInterrupt) {
    boolean out = super.cancel(mayInterrupt);
    if (out) cancel.run();
    return out;
  }

  /**
   * Completes the future on a thread of its default executor: what depends on it may wait, and must
   * not hold up the thread that serves all others.
   */
  void completeElsewhere(T value, Throwable failure) {
    defaultExecutor().execute(() -> {
      if (failure == null) complete(value);
      else completeExceptionally(failure);
    });
  }
}
