package dev.headrace;

/** Cancels the calls to which it is given (through {@link Limits}), now and later. Thread-safe. */
public final class CancelToken extends Resource {
  /** Makes a token. */
  public CancelToken() {
    super(new Handle("cancel token", create(), Raw::hr_cancel_release, null));
  }

  private static long create() {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_cancel_create(out));
      return s.get(out);
    }
  }

  /** Ends the calls that have the token; those that wait are woken at once. */
  public void cancel() {
    long pointer = handle.acquire();
    try {
      Raw.hr_cancel_trigger(pointer);
    } finally {
      handle.release();
    }
  }
}
