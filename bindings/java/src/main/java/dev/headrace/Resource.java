package dev.headrace;

import java.lang.ref.Cleaner;
import java.util.function.LongConsumer;

/**
 * An object that owns something of the library. {@link #close} gives it back; if nobody calls that,
 * it happens after the garbage collector has found the object unused.
 *
 * <p>Closing is safe at any time and from any thread, also twice and during a call: what the object
 * owns is given back when the call has returned. Runs finish; a call that waits for something else
 * ends with {@link HeadraceException.Cancelled}. A call on a closed object throws
 * {@link HeadraceException.FailedPrecondition}.
 */
public abstract class Resource implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create(Resource::thread);

  /** The handle of the object in whose call the thread waits. */
  private static final ThreadLocal<Handle> WAITS_FOR = new ThreadLocal<>();

  final Handle handle;
  private final Cleaner.Cleanable cleanable;

  Resource(Handle handle) {
    this.handle = handle;
    cleanable = CLEANER.register(this, handle);
  }

  private static Thread thread(Runnable task) {
    Thread out = new Thread(task, "headrace-cleaner");
    out.setDaemon(true);
    return out;
  }

  /** Calls {@code action} when {@code object} has become unused. */
  static void whenUnused(Object object, Runnable action) {
    CLEANER.register(object, action);
  }

  /** What a call does with the pointer, which stays valid meanwhile. */
  @FunctionalInterface
  interface Body<T> {
    T run(long self, Scratch scratch);
  }

  /** A {@link Body} that returns a hr_status, which is checked. */
  @FunctionalInterface
  interface Checked {
    long run(long self, Scratch scratch);
  }

  /** A {@link Body} that returns a hr_status, and waits within limits. */
  @FunctionalInterface
  interface Waiting {
    long run(long self, Scratch scratch, long limits);
  }

  final <T> T with(Body<T> body) {
    long self = handle.acquire();
    try (Scratch scratch = Scratch.open()) {
      return body.run(self, scratch);
    } finally {
      handle.release();
    }
  }

  final void check(Checked body) {
    with((self, s) -> {
      Failures.check(body.run(self, s));
      return null;
    });
  }

  /** Waits within limits; the wait also ends if the object is closed, unless runs have to finish. */
  final void check(Limits limits, Waiting body) {
    long address = limits.begin();
    Handle outer = WAITS_FOR.get();
    WAITS_FOR.set(handle.finishes() ? null : handle);
    try {
      check((self, s) -> body.run(self, s, address));
    } finally {
      WAITS_FOR.set(outer);
      limits.end();
    }
  }

  /** Returns whether the call that this thread is waiting in shall end. */
  static boolean interrupted() {
    Handle waited = WAITS_FOR.get();
    return Thread.currentThread().isInterrupted() || waited != null && waited.isClosed();
  }

  /** Runs a function that writes a pointer or a number of 64 bits, and returns that. */
  final long get(Limits limits, Getting body) {
    long[] out = new long[1];
    check(limits, (self, s, l) -> {
      long address = s.out();
      long status = body.run(self, s, l, address);
      out[0] = s.get(address);
      return status;
    });
    return out[0];
  }

  /** A {@link Waiting} that also writes a result. */
  @FunctionalInterface
  interface Getting {
    long run(long self, Scratch scratch, long limits, long out);
  }

  /** Returns the handle that everything pins which comes from this object: that of the env. */
  Handle root() {
    return handle.pinned();
  }

  /** Makes something of this object, which keeps the env usable. */
  final Handle child(String what, LongConsumer releaser, Limits limits, Getting body) {
    return child(what, releaser, null, limits, body);
  }

  final Handle child(String what, LongConsumer releaser, LongConsumer closer, Limits limits, Getting body) {
    handle.acquire();
    try {
      return new Handle(what, get(limits, body), releaser, root(), closer);
    } finally {
      handle.release();
    }
  }

  /** Returns what a function writes about the object into a hr_text. */
  final String describe(Headrace.Describer of) {
    return with((self, s) -> {
      long out = s.out();
      Failures.check(of.describe(self, out));
      return Native.take(s.get(out));
    });
  }

  /** Gives back what the object owns, after the calls that are using it. Does not wait for them. */
  @Override
  public void close() {
    cleanable.clean();
  }

  /** Returns whether the object has been closed. */
  public final boolean isClosed() {
    return handle.isClosed();
  }
}
