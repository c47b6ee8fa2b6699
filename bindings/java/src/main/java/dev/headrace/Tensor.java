package dev.headrace;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * A typed view of memory that several tensors can share.
 *
 * <p>Memory off the heap is used in place: {@link #wrap} makes a tensor of a direct buffer or of a
 * {@code MemorySegment}, and {@link #buffer} gives a buffer over a tensor's memory, which keeps that
 * alive even after the tensor is closed. Arrays on the heap are copied ({@link #copyOf},
 * {@link #toFloats}), because the garbage collector moves them.
 *
 * <p>Type and shape are immutable. A program that writes elements must make sure that no other
 * thread, and no run, uses them meanwhile.
 */
public final class Tensor extends Resource {
  private static final int HOST = 1;

  private final DType dtype;
  private final long[] dims;
  /** The segment whose memory it is, if it is one: see {@link Segments#requireAlive}. */
  private final Object segment;
  private ByteBuffer view;

  /** Takes over a hr_tensor. */
  Tensor(long pointer) {
    this(pointer, null);
  }

  private Tensor(long pointer, Object segment) {
    super(new Handle("tensor", pointer, Raw::hr_tensor_release, null));
    this.segment = segment;
    dtype = DType.of(Raw.hr_tensor_dtype(pointer));
    dims = Native.longs(Raw.hr_tensor_dims(pointer), Raw.hr_tensor_rank(pointer));
  }

  /** Returns a tensor of a pointer that may be 0; null then. */
  static Tensor orNull(long pointer) {
    return pointer == 0 ? null : new Tensor(pointer);
  }

  // ---- Making tensors ----

  /** Makes a contiguous tensor in memory of the env, whose elements are unspecified. */
  public static Tensor create(Env env, DType dtype, long... dims) {
    return new Tensor(env.get(Limits.NONE, (self, s, l, out) -> Raw.hr_tensor_create(
        self, dtype.number(), dims.length, s.longs(dims), out)));
  }

  /** Makes a tensor with a copy of the numbers. No dimensions: a scalar. */
  public static Tensor copyOf(Env env, float[] values, long... dims) {
    return copyOf(env, DType.FLOAT32, values, 4L * values.length, dims);
  }

  /** Makes a tensor with a copy of the numbers. No dimensions: a scalar. */
  public static Tensor copyOf(Env env, double[] values, long... dims) {
    return copyOf(env, DType.FLOAT64, values, 8L * values.length, dims);
  }

  /** Makes a tensor with a copy of the numbers. No dimensions: a scalar. */
  public static Tensor copyOf(Env env, long[] values, long... dims) {
    return copyOf(env, DType.INT64, values, 8L * values.length, dims);
  }

  /** Makes a tensor with a copy of the numbers. No dimensions: a scalar. */
  public static Tensor copyOf(Env env, int[] values, long... dims) {
    return copyOf(env, DType.INT32, values, 4L * values.length, dims);
  }

  /** Makes a tensor of a type of 16 bits with a copy of the numbers. */
  public static Tensor copyOf(Env env, DType dtype, short[] values, long... dims) {
    return copyOf(env, dtype, values, 2L * values.length, dims);
  }

  /** Makes a tensor of any type with a copy of the bytes, which are in the machine's order. */
  public static Tensor copyOf(Env env, DType dtype, byte[] values, long... dims) {
    return copyOf(env, dtype, values, values.length, dims);
  }

  private static Tensor copyOf(Env env, DType dtype, Object array, long bytes, long... dims) {
    Tensor out = create(env, dtype, dims);
    try {
      out.requireBytes(bytes);
      out.with((self, s) -> {
        if (bytes > 0) Bridge.write(Raw.hr_tensor_data(self), array, 0, bytes);
        return null;
      });
      return out;
    } catch (Throwable e) {
      out.close();
      throw e;
    }
  }

  /** Makes a tensor with a copy of what remains of a direct buffer. */
  public static Tensor copyOf(Env env, DType dtype, Buffer values, long... dims) {
    Memory memory = Memory.of(values, dtype);
    return new Tensor(env.get(Limits.NONE, (self, s, l, out) -> Raw.hr_tensor_copy_of(self,
        dtype.number(), dims.length, s.longs(dims), memory.address(), memory.bytes(), out)));
  }

  /**
   * Makes a tensor of what remains of a direct buffer, in place. The buffer is kept as long as
   * anything uses the tensor's memory. If it is read-only, so is the tensor.
   */
  public static Tensor wrap(Buffer memory, DType dtype, long... dims) {
    return wrapped(Memory.of(memory, dtype), dtype, dims, null);
  }

  /** Makes a tensor of floats in place, as {@link #wrap(Buffer, DType, long...)} does. */
  public static Tensor wrap(FloatBuffer memory, long... dims) {
    return wrap(memory, DType.FLOAT32, dims);
  }

  /** Makes a tensor of 64-bit integers in place, as {@link #wrap(Buffer, DType, long...)} does. */
  public static Tensor wrap(LongBuffer memory, long... dims) {
    return wrap(memory, DType.INT64, dims);
  }

  /**
   * Makes a tensor of elements that may lie apart, in place. The strides are in elements and not
   * negative.
   */
  public static Tensor wrapStrided(Buffer memory, DType dtype, long[] dims, long[] strides) {
    if (dims.length != strides.length) {
      throw new HeadraceException.InvalidArgument("there must be a stride for each of the "
          + dims.length + " dimensions, not " + strides.length);
    }
    return wrapped(Memory.of(memory, dtype), dtype, dims, strides);
  }

  /**
   * Makes a tensor of a {@code MemorySegment} off the heap, in place. Needs Java 22 or newer. The
   * arena of the segment must not be closed before everything that uses the tensor is gone; a call
   * that is given the tensor later fails.
   */
  public static Tensor wrapSegment(Object segment, DType dtype, long... dims) {
    return wrapped(Segments.memory(segment), dtype, dims, null);
  }

  private static Tensor wrapped(Memory memory, DType dtype, long[] dims, long[] strides) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      if (memory.readOnly()) {
        Dlpack.wrapReadOnly(memory, dtype, dims, strides, s, out);
      } else {
        wrap(memory, dtype, dims, strides, s, out);
      }
      Object owner = memory.owner();
      return new Tensor(s.get(out), Segments.isSegment(owner) ? owner : null);
    }
  }

  private static void wrap(Memory memory, DType dtype, long[] dims, long[] strides, Scratch s, long out) {
    long context = Registry.add(memory.owner());
    long release = Bridge.function(Callbacks.RELEASE);
    long status = strides == null
        ? Raw.hr_tensor_wrap(dtype.number(), dims.length, s.longs(dims), memory.address(),
            memory.bytes(), release, context, out)
        : Raw.hr_tensor_wrap_strided(dtype.number(), dims.length, s.longs(dims), s.longs(strides),
            memory.address(), memory.bytes(), release, context, out);
    if (status != 0) Registry.remove(context);
    Failures.check(status);
  }

  /** A tensor of a file, and its name there; "" if it has none. */
  public record Named(String name, Tensor tensor) {}

  /** Reads a file with a single tensor, such as a ".pb" file of ONNX's test vectors. */
  public static Named load(Env env, String path) {
    return env.with((self, s) -> {
      long out = s.out();
      long name = s.out();
      Failures.check(Raw.hr_tensor_load(self, s.text(path), out, name));
      return new Named(Native.take(s.get(name)), new Tensor(s.get(out)));
    });
  }

  /** Makes another tensor of the same memory. */
  public Tensor share() {
    return new Tensor(get(Limits.NONE, (self, s, l, out) -> Raw.hr_tensor_share(self, out)), segment);
  }

  /**
   * Takes over a tensor of DLPack 1.x (the address of a DLManagedTensorVersioned), in place. If this
   * fails, it still belongs to the caller.
   */
  public static Tensor fromDlpack(long address) {
    return Dlpack.take(address);
  }

  /** Makes a tensor of DLPack that shares the memory. */
  public Dlpack toDlpack() {
    return Dlpack.of(this);
  }

  // ---- What it is ----

  /** Returns the type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /** Returns the sizes of the dimensions. */
  public long[] dims() {
    return dims.clone();
  }

  /** Returns the number of dimensions. */
  public int rank() {
    return dims.length;
  }

  /** Returns the number of elements. */
  public long elements() {
    return with((self, s) -> Raw.hr_tensor_elements(self));
  }

  /** Returns the bytes of all elements together. */
  public long bytes() {
    return with((self, s) -> Raw.hr_tensor_bytes(self));
  }

  /** Returns the strides in elements; null if the tensor is contiguous. */
  public long[] strides() {
    return with((self, s) -> {
      long strides = Raw.hr_tensor_strides(self);
      return strides == 0 ? null : Native.longs(strides, dims.length);
    });
  }

  /** Returns whether the elements must not be written to. */
  public boolean isReadOnly() {
    return with((self, s) -> Raw.hr_tensor_read_only(self) != 0);
  }

  /** Returns the kind of device that has the memory, as DLPack numbers them: 1 is the host. */
  public int device() {
    return with((self, s) -> Raw.hr_tensor_device(self, 0));
  }

  /** Returns the number of the device among those of its kind. */
  public int deviceOrdinal() {
    return with((self, s) -> {
      long out = s.out();
      Raw.hr_tensor_device(self, out);
      return s.getInt(out);
    });
  }

  /** Returns the address of the first element on its device; 0 if there are no elements. */
  public long address() {
    return with((self, s) -> Raw.hr_tensor_device_data(self));
  }

  // ---- Its memory ----

  /**
   * Returns a buffer over the memory, from the first to the last element, in the machine's byte
   * order. It is read-only if the tensor is. It keeps the memory alive.
   */
  public ByteBuffer buffer() {
    ByteBuffer all = view();
    return (isReadOnly() ? all.asReadOnlyBuffer() : all.duplicate()).order(ByteOrder.nativeOrder());
  }

  /** Returns a buffer over the elements of float32. */
  public FloatBuffer floatBuffer() {
    return bufferOf(DType.FLOAT32).asFloatBuffer();
  }

  /** Returns a buffer over the elements of float64. */
  public DoubleBuffer doubleBuffer() {
    return bufferOf(DType.FLOAT64).asDoubleBuffer();
  }

  /** Returns a buffer over the elements of int32 or uint32. */
  public IntBuffer intBuffer() {
    return bufferOf(DType.INT32, DType.UINT32).asIntBuffer();
  }

  /** Returns a buffer over the elements of int64 or uint64. */
  public LongBuffer longBuffer() {
    return bufferOf(DType.INT64, DType.UINT64).asLongBuffer();
  }

  /** Returns a buffer over the elements of a type of 16 bits. */
  public ShortBuffer shortBuffer() {
    return bufferOf(DType.INT16, DType.UINT16, DType.FLOAT16, DType.BFLOAT16).asShortBuffer();
  }

  /**
   * Returns the memory as {@link #buffer} does, as a {@code MemorySegment}. Needs Java 22 or newer:
   * {@code MemorySegment elements = tensor.segment();}
   */
  @SuppressWarnings("unchecked") // Java 17 has no name for the type
  public <T> T segment() {
    return (T) Segments.of(buffer());
  }

  private ByteBuffer bufferOf(DType... allowed) {
    require(allowed);
    return buffer();
  }

  private void require(DType... allowed) {
    if (Arrays.asList(allowed).contains(dtype)) return;
    throw new HeadraceException.InvalidArgument(
        "the tensor has elements of " + dtype + ", and the call is for " + Arrays.toString(allowed));
  }

  /** The view is an object that keeps a handle of the memory of its own until it is unused. */
  private synchronized ByteBuffer view() {
    if (view != null && !isClosed()) return view;
    view = with((self, s) -> {
      long data = Raw.hr_tensor_data(self);
      long bytes = span(self);
      if (bytes == 0) return ByteBuffer.allocateDirect(0);
      requireHost(data);
      requireSmall(bytes);
      long out = s.out();
      Failures.check(Raw.hr_tensor_share(self, out));
      long shared = s.get(out);
      ByteBuffer made = Bridge.view(data, bytes);
      whenUnused(made, () -> Raw.hr_tensor_release(shared));
      return made;
    });
    return view;
  }

  private void requireHost(long data) {
    if (data != 0) return;
    throw new HeadraceException.FailedPrecondition("the memory belongs to a device of kind "
        + device() + "; only that of the host (" + HOST + ") has buffers");
  }

  private static void requireSmall(long bytes) {
    if (bytes <= Integer.MAX_VALUE) return;
    throw new HeadraceException.OutOfRange("a buffer of Java has at most 2^31 - 1 bytes, and the"
        + " tensor " + bytes + "; read it in parts with copyTo");
  }

  /** The bytes from the first to the end of the last element. */
  private long span(long self) {
    long strides = Raw.hr_tensor_strides(self);
    if (strides == 0 || Raw.hr_tensor_elements(self) == 0) return Raw.hr_tensor_bytes(self);
    long[] steps = Native.longs(strides, dims.length);
    long last = 0;
    for (int i = 0; i < dims.length; ++i) last += (dims[i] - 1) * steps[i];
    return (last + 1) * dtype.bytes();
  }

  // ---- Copies ----

  /** Returns a copy of the elements of float32. */
  public float[] toFloats() {
    require(DType.FLOAT32);
    float[] out = new float[count()];
    return copied(out, 4L * out.length);
  }

  /** Returns a copy of the elements of float64. */
  public double[] toDoubles() {
    require(DType.FLOAT64);
    double[] out = new double[count()];
    return copied(out, 8L * out.length);
  }

  /** Returns a copy of the elements of int32 or uint32. */
  public int[] toInts() {
    require(DType.INT32, DType.UINT32);
    int[] out = new int[count()];
    return copied(out, 4L * out.length);
  }

  /** Returns a copy of the elements of int64 or uint64. */
  public long[] toLongs() {
    require(DType.INT64, DType.UINT64);
    long[] out = new long[count()];
    return copied(out, 8L * out.length);
  }

  /** Returns a copy of the bytes of the elements, in the machine's order. */
  public byte[] toBytes() {
    byte[] out = new byte[Math.toIntExact(bytes())];
    return copied(out, out.length);
  }

  /**
   * Copies {@code bytes} bytes, which begin {@code offset} bytes behind the first element, to the
   * beginning of an array. Works with tensors of any size.
   */
  public void copyTo(byte[] array, long offset, int bytes) {
    if (offset < 0 || bytes < 0 || bytes > array.length || offset > bytes() - bytes) {
      throw new HeadraceException.OutOfRange("bytes " + offset + " to " + (offset + bytes) + " are not"
          + " all in the tensor, which has " + bytes() + ", or in the array, which has " + array.length);
    }
    copy(array, offset, bytes);
  }

  private int count() {
    return Math.toIntExact(elements());
  }

  private <T> T copied(T array, long bytes) {
    copy(array, 0, bytes);
    return array;
  }

  private void copy(Object array, long offset, long bytes) {
    if (bytes == 0) return;
    with((self, s) -> {
      requireContiguous(self);
      long data = Raw.hr_tensor_data(self);
      requireHost(data);
      Bridge.read(data + offset, array, 0, bytes);
      return null;
    });
  }

  private void requireContiguous(long self) {
    if (Raw.hr_tensor_strides(self) == 0) return;
    throw new HeadraceException.FailedPrecondition(
        "the elements lie apart (strides); read them from buffer()");
  }

  private void requireBytes(long bytes) {
    if (bytes() == bytes) return;
    throw new HeadraceException.InvalidArgument("the shape " + Arrays.toString(dims) + " of " + dtype
        + " needs " + bytes() + " bytes, and the array has " + bytes);
  }

  // ---- For calls ----

  /** Begins a call that uses the tensor and returns the pointer; see {@link Handle#acquire}. */
  long use() {
    if (segment != null) Segments.requireAlive(segment);
    return handle.acquire();
  }

  /** Returns the segment whose memory it is; null if it is none. */
  Object segmentOwner() {
    return segment;
  }

  /** Returns the type and shape. */
  @Override
  public String toString() {
    return dtype + Arrays.toString(dims);
  }
}
