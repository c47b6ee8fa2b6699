package dev.headrace;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.LongConsumer;

/**
 * A handle of C with the number of calls that use it. It is released once, after it was closed and
 * the last of these calls has returned, so that closing during a call is safe. It never refers to
 * the object that owns it, which the garbage collector may find unused.
 */
class Handle implements Runnable {
  private static final int CLOSED = Integer.MIN_VALUE;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Handle.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String what;
  private final long pointer;
  private final LongConsumer releaser;
  private final Handle pinned;
  private final LongConsumer closer;

  @SuppressWarnings("unused") // through STATE
  private volatile int state;

  /**
   * Takes over a pointer. {@code pinned}, which may be null, is kept from being released until this
   * handle is; the caller must be using it, or something that pins it.
   */
  Handle(String what, long pointer, LongConsumer releaser, Handle pinned) {
    this(what, pointer, releaser, pinned, null);
  }

  /** As above, with a function that is called when the handle is closed, also during calls. */
  Handle(String what, long pointer, LongConsumer releaser, Handle pinned, LongConsumer closer) {
    this.closer = closer;
    this.what = what;
    this.pointer = pointer;
    this.releaser = releaser;
    this.pinned = pinned;
    if (pinned != null) pinned.pin();
  }

  /** Takes over what another handle has, which nobody uses. */
  Handle(Handle made, LongConsumer releaser) {
    this(made.what, made.pointer, releaser, made.pinned);
    if (pinned != null) pinned.release();
  }

  /** Begins a call. Fails if the handle is closed. */
  final long acquire() {
    for (int now = state; now >= 0; now = state) {
      if (STATE.compareAndSet(this, now, now + 1)) return pointer;
    }
    throw new HeadraceException.FailedPrecondition("the " + what + " is closed");
  }

  /** Begins a call on a handle that the caller is using already, so that it may be closed. */
  final long pin() {
    STATE.getAndAdd(this, 1);
    return pointer;
  }

  /** Begins a call if the pointer has not been released, although the handle may be closed. */
  final boolean tryPin() {
    for (int now = state; now != CLOSED; now = state) {
      if (STATE.compareAndSet(this, now, now + 1)) return true;
    }
    return false;
  }

  /** Calls a function with the pointer if that has not been released. */
  final void ifAlive(LongConsumer function) {
    if (!tryPin()) return;
    try {
      function.accept(pointer);
    } finally {
      release();
    }
  }

  /** Ends a call. */
  final void release() {
    if ((int) STATE.getAndAdd(this, -1) - 1 == CLOSED) free();
  }

  /** Closes the handle. Does nothing if it is closed already. */
  final void close() {
    if ((int) STATE.getAndBitwiseOr(this, CLOSED) == 0) free();
  }

  final boolean isClosed() {
    return state < 0;
  }

  /** Returns whether calls that are running when the handle is closed have to finish. */
  final boolean finishes() {
    return closer != null;
  }

  final Handle pinned() {
    return pinned;
  }

  /** Closes the handle, for a Cleaner. */
  @Override
  public final void run() {
    if (closer != null && !isClosed()) closeBeforeRelease();
    close();
  }

  private void closeBeforeRelease() {
    pin();
    closer.accept(pointer);
    release();
  }

  /** Called once before the pointer is released. */
  void freeing() {}

  private void free() {
    freeing();
    releaser.accept(pointer);
    if (pinned != null) pinned.release();
  }
}
