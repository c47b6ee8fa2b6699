package dev.headrace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory for the arguments of one call. Each thread has a block of its own, in which calls that a
 * callback makes stand behind those that are running; what does not fit is allocated. Everything is
 * zero at first and lives until {@link #close}.
 */
final class Scratch implements AutoCloseable {
  private static final int BLOCK = 8192;
  private static final int ALIGNMENT = 16;
  private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

  private final ByteBuffer block;
  private final long start;
  private int top;
  /** The `top` of the calls that are running, and behind it what they have allocated. */
  private final List<Frame> frames = new ArrayList<>();

  private static final class Frame {
    final int top;
    List<Long> allocated;

    Frame(int top) {
      this.top = top;
    }
  }

  private Scratch() {
    Library.load();
    block = ByteBuffer.allocateDirect(BLOCK + ALIGNMENT).order(ByteOrder.nativeOrder());
    start = Bridge.address(block);
    top = (int) (-start & (ALIGNMENT - 1));
  }

  /** Begins a call: {@code try (Scratch s = Scratch.open())}. */
  static Scratch open() {
    Scratch out = OF_THREAD.get();
    out.frames.add(new Frame(out.top));
    return out;
  }

  @Override
  public void close() {
    Frame frame = frames.remove(frames.size() - 1);
    top = frame.top;
    if (frame.allocated != null) frame.allocated.forEach(Bridge::free);
  }

  long bytes(long count) {
    long end = top + (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (count < 0 || end > BLOCK) return allocate(count);
    for (int i = top; i < end; i += 8) block.putLong(i, 0);
    long out = start + top;
    top = (int) end;
    return out;
  }

  private long allocate(long count) {
    long out = count < 0 ? 0 : Bridge.allocate(Math.max(count, 1));
    if (out == 0) throw new OutOfMemoryError("no memory for " + count + " bytes");
    Frame frame = frames.get(frames.size() - 1);
    if (frame.allocated == null) frame.allocated = new ArrayList<>();
    frame.allocated.add(out);
    return out;
  }

  /** Returns the address of a pointer or a number that a function writes. */
  long out() {
    return bytes(8);
  }

  long get(long address) {
    long at = address - start;
    return at >= 0 && at < BLOCK ? block.getLong((int) at) : Native.view(address, 8).getLong();
  }

  int getInt(long address) {
    return Native.view(address, 4).getInt();
  }

  double getDouble(long address) {
    return Double.longBitsToDouble(get(address));
  }

  /** Returns the address of a NUL-terminated text; 0 if it is null. */
  long text(String text) {
    return text == null ? 0 : copy(Native.utf8(text));
  }

  long copy(byte[] values) {
    return copy(values, values.length);
  }

  long longs(long... values) {
    return copy(values, 8L * values.length);
  }

  long ints(int... values) {
    return copy(values, 4L * values.length);
  }

  long doubles(double... values) {
    return copy(values, 8L * values.length);
  }

  /** Returns the address of an array of texts, which may have nulls. */
  long texts(List<String> texts) {
    long[] addresses = new long[texts.size()];
    for (int i = 0; i < addresses.length; ++i) addresses[i] = text(texts.get(i));
    return longs(addresses);
  }

  private long copy(Object array, long bytes) {
    long out = bytes(bytes);
    if (bytes > 0) Bridge.write(out, array, 0, bytes);
    return out;
  }
}
