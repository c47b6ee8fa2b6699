package dev.headrace;

/**
 * A tensor for another library, as DLPack 1.x describes it. Whoever takes its address calls its
 * deleter; {@link #close} does so if nobody has taken it.
 */
public final class Dlpack implements AutoCloseable {
  private static final int BITS = 8;
  private static final int CPU = 1;

  private long address;

  private Dlpack(long address) {
    this.address = address;
  }

  static Dlpack of(Tensor tensor) {
    return new Dlpack(
        tensor.get(Limits.NONE, (self, s, l, out) -> Raw.hr_tensor_to_dlpack(self, out)));
  }

  static Tensor take(long address) {
    try (Scratch s = Scratch.open()) {
      if (address == 0) throw new HeadraceException.InvalidArgument("the address is 0");
      long out = s.out();
      Failures.check(Raw.hr_tensor_from_dlpack(address, out));
      return new Tensor(s.get(out));
    }
  }

  /**
   * Returns the address of the DLManagedTensorVersioned and gives it away: the receiver has to call
   * its deleter once.
   */
  public synchronized long take() {
    if (address == 0) {
      throw new HeadraceException.FailedPrecondition("the tensor of DLPack has been taken or closed");
    }
    long out = address;
    address = 0;
    return out;
  }

  /** Calls the deleter, unless somebody has taken the tensor. */
  @Override
  public synchronized void close() {
    if (address == 0) return;
    long taken = take();
    Raw.call_hr_dlpack_deleter(new Structs.hr_dlpack(taken).deleter(), taken);
  }

  /** The hr_dlpack of memory of the program, and the object that keeps the memory. */
  private record Managed(long address, Object owner) implements Registry.Released {
    @Override
    public void released() {
      Bridge.free(address);
    }
  }

  /** DLPack has a flag for memory that must not be written; other tensors of the program have not. */
  static void wrapReadOnly(Memory memory, DType dtype, long[] dims, long[] strides, Scratch s, long out) {
    requireBytes(memory, dtype, dims, strides);
    long block = Bridge.allocate(Structs.hr_dlpack.BYTES + 16L * dims.length);
    long context = Registry.add(new Managed(block, memory.owner()));
    fill(new Structs.hr_dlpack(block), context, memory, dtype, dims.length);
    long shape = block + Structs.hr_dlpack.BYTES;
    Structs.hr_dlpack_tensor tensor = new Structs.hr_dlpack(block).dl_tensor();
    tensor.shape(shape);
    tensor.strides(shape + 8L * dims.length);
    if (dims.length > 0) {
      Bridge.write(shape, dims, 0, 8L * dims.length);
      long[] steps = strides == null ? rowMajor(dims) : strides;
      Bridge.write(tensor.strides(), steps, 0, 8L * dims.length);
    }
    long status = Raw.hr_tensor_from_dlpack(block, out);
    if (status != 0) {
      Registry.remove(context);
      Bridge.free(block);
    }
    Failures.check(status);
  }

  private static void fill(Structs.hr_dlpack out, long context, Memory memory, DType dtype, int rank) {
    out.version().major(1);
    out.manager_ctx(context);
    out.use_deleter();
    out.flags(Constants.HR_DLPACK_READ_ONLY);
    out.dl_tensor().data(memory.address());
    out.dl_tensor().device().device_type(CPU);
    out.dl_tensor().ndim(rank);
    out.dl_tensor().dtype().code(code(dtype));
    out.dl_tensor().dtype().bits((byte) (BITS * dtype.bytes()));
    out.dl_tensor().dtype().lanes((short) 1);
  }

  /** DLPack's DLDataTypeCode. */
  private static byte code(DType dtype) {
    return switch (dtype) {
      case INT8, INT16, INT32, INT64 -> 0;
      case UINT8, UINT16, UINT32, UINT64 -> 1;
      case FLOAT16, FLOAT32, FLOAT64 -> 2;
      case BFLOAT16 -> 4;
      case BOOL -> 6;
      case FLOAT8E4M3FN -> 10;
      case FLOAT8E4M3FNUZ -> 11;
      case FLOAT8E5M2 -> 12;
      case FLOAT8E5M2FNUZ -> 13;
      case UNDEFINED -> throw new HeadraceException.InvalidArgument("a tensor needs an element type");
    };
  }

  private static long[] rowMajor(long[] dims) {
    long[] out = new long[dims.length];
    long step = 1;
    for (int i = dims.length - 1; i >= 0; --i) {
      out[i] = step;
      step *= dims[i];
    }
    return out;
  }

  /** DLPack does not say how long the memory is. */
  private static void requireBytes(Memory memory, DType dtype, long[] dims, long[] strides) {
    try {
      long[] steps = strides == null ? rowMajor(dims) : strides;
      long last = 0;
      boolean empty = false;
      for (int i = 0; i < dims.length; ++i) {
        if (dims[i] < 0 || steps[i] < 0) throw new ArithmeticException();
        empty |= dims[i] == 0;
        last = Math.addExact(last, Math.multiplyExact(Math.max(dims[i] - 1, 0), steps[i]));
      }
      long needed = empty ? 0 : Math.multiplyExact(last + 1, (long) dtype.bytes());
      boolean fits = strides == null ? needed == memory.bytes() : needed <= memory.bytes();
      if (!fits) {
        throw new HeadraceException.InvalidArgument("the shape " + java.util.Arrays.toString(dims)
            + " of " + dtype + " needs " + needed + " bytes, and the memory has " + memory.bytes());
      }
    } catch (ArithmeticException e) {
      throw new HeadraceException.InvalidArgument("dimensions and strides must not be negative or too"
          + " large: " + java.util.Arrays.toString(dims));
    }
  }
}
