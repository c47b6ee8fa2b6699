package dev.headrace;

import java.lang.ref.Reference;
import java.time.Duration;

/**
 * When a call that waits shall give up: a deadline, a cancel token, or both. Immutable, so one
 * object may limit many calls; the time of each is counted from its start.
 *
 * <p>Whatever its limits, a call ends with {@link HeadraceException.Cancelled} within a fifth of a
 * second after its thread has been interrupted. The interrupt status stays set.
 */
public final class Limits {
  /** Asks, on the thread of the call, whether that shall end. */
  private static final Callbacks.hr_limits_interrupted INTERRUPTED =
      () -> Resource.interrupted() ? 1 : 0;

  /** No deadline and no token. Only an interrupt ends the call. */
  public static final Limits NONE = new Limits(null, 0);

  private final CancelToken token;
  private final long nanos;
  /** The hr_limits, made when it is first used: it lives as long as this object. */
  private volatile long address;

  private Limits(CancelToken token, long nanos) {
    this.token = token;
    this.nanos = nanos;
  }

  /** Returns limits with a deadline, which must be positive. */
  public static Limits timeout(Duration time) {
    return NONE.withTimeout(time);
  }

  /** Returns limits with a token. */
  public static Limits cancelledBy(CancelToken token) {
    return NONE.withToken(token);
  }

  /** Returns these limits with another deadline, which must be positive. */
  public Limits withTimeout(Duration time) {
    if (time.isNegative() || time.isZero()) {
      throw new HeadraceException.InvalidArgument("a timeout must be positive, not " + time);
    }
    return new Limits(token, saturated(time));
  }

  /** Returns these limits with another token. */
  public Limits withToken(CancelToken other) {
    return new Limits(other, nanos);
  }

  static Limits nanos(long nanos) {
    return nanos <= 0 ? NONE : new Limits(null, nanos);
  }

  private static long saturated(Duration time) {
    try {
      return time.toNanos();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }

  /** Begins a call with these limits and returns the address of the hr_limits. */
  long begin() {
    if (address == 0) make();
    if (token != null) token.handle.acquire();
    return address;
  }

  /** Ends the call. Until then the collector must not find this object unused: it has the hr_limits. */
  void end() {
    if (token != null) token.handle.release();
    Reference.reachabilityFence(this);
  }

  private synchronized void make() {
    if (address != 0) return;
    Library.load();
    long memory = Bridge.allocate(Structs.hr_limits.BYTES);
    Structs.hr_limits limits = new Structs.hr_limits(memory);
    limits.struct_size(Structs.hr_limits.BYTES);
    limits.timeout_nanos(nanos);
    limits.use_interrupted();
    limits.context(Interrupts.CONTEXT);
    if (token != null) {
      limits.cancel(token.handle.acquire());
      token.handle.release();
    }
    Resource.whenUnused(this, () -> Bridge.free(memory));
    address = memory;
  }

  /** The one object that all limits ask. */
  private static final class Interrupts {
    static final long CONTEXT = Registry.add(INTERRUPTED);
  }
}
