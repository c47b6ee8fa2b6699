package dev.headrace;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * A node of an {@link Operator}, as its functions see it. Valid during the call of such a function
 * and on its thread only; afterwards every method throws.
 */
public abstract sealed class OperatorContext implements AutoCloseable
    permits OperatorContext.Types, OperatorContext.Kernel, OperatorContext.Gradient {
  private final Thread thread = Thread.currentThread();
  private long op;

  private OperatorContext(long op) {
    this.op = op;
  }

  final long op() {
    if (op != 0 && Thread.currentThread() == thread) return op;
    throw new HeadraceException.FailedPrecondition(
        "a node can be used during the call of its operator only, and on the thread of that");
  }

  /** Ends the call; the binding does so. */
  @Override
  public final void close() {
    op = 0;
  }

  /** Returns the number of inputs. */
  public final int inputCount() {
    return (int) Raw.hr_op_input_count(op());
  }

  /** Returns the number of outputs. */
  public final int outputCount() {
    return (int) Raw.hr_op_output_count(op());
  }

  /** Returns an integer attribute, or the fallback if the node does not have it. */
  public final long attribute(String name, long fallback) {
    try (Scratch s = Scratch.open()) {
      return Raw.hr_op_int(op(), s.text(name), fallback);
    }
  }

  /** Returns a number, or the fallback if the node does not have it. */
  public final double attribute(String name, double fallback) {
    try (Scratch s = Scratch.open()) {
      return Raw.hr_op_float(op(), s.text(name), fallback);
    }
  }

  /** Returns a text, or the fallback if the node does not have it. */
  public final String attribute(String name, String fallback) {
    try (Scratch s = Scratch.open()) {
      return Native.text(Raw.hr_op_string(op(), s.text(name), s.text(fallback)));
    }
  }

  /** Returns a list of integers; none if the node does not have it. */
  public final long[] ints(String name) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      long count = Raw.hr_op_ints(op(), s.text(name), out);
      return Native.longs(s.get(out), count);
    }
  }

  /** Returns a list of numbers; none if the node does not have it. */
  public final double[] floats(String name) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      long count = Raw.hr_op_floats(op(), s.text(name), out);
      return Native.doubles(s.get(out), count);
    }
  }

  /**
   * A type: {@code dims} is null if the rank is unknown, and a dimension is -1 if it is unknown. The
   * dtype is {@link DType#UNDEFINED} if the input is omitted.
   */
  public record Type(DType dtype, long[] dims) {}

  /** The node in {@link Operator#infer}. */
  public static final class Types extends OperatorContext {
    Types(long op) {
      super(op);
    }

    /** Returns the type of an input. */
    public Type input(int input) {
      try (Scratch s = Scratch.open()) {
        long rank = s.out();
        long dims = s.out();
        DType dtype = DType.of(Raw.hr_op_input_type(op(), input, rank, dims));
        int count = s.getInt(rank);
        return new Type(dtype, count < 0 ? null : Native.longs(s.get(dims), count));
      }
    }

    /** Sets the type of an output. null dims: the rank is unknown. */
    public void output(int output, DType dtype, long... dims) {
      try (Scratch s = Scratch.open()) {
        Failures.check(Raw.hr_op_set_output(op(), output, dtype.number(), dims == null ? -1 : dims.length,
            dims == null ? 0 : s.longs(dims)));
      }
    }

    /** Sets the type of an output to that of an input, with the names of its dimensions. */
    public void outputLike(int output, int input) {
      Failures.check(Raw.hr_op_set_output_like(op(), output, input));
    }
  }

  /**
   * A contiguous tensor in a kernel. The memory is valid during the call of {@link Operator#compute}
   * only; outputs are to be written, and inputs are read-only.
   */
  public record Operand(DType dtype, long[] dims, ByteBuffer data) {
    /** Returns the elements of float32. */
    public java.nio.FloatBuffer floats() {
      return data.asFloatBuffer();
    }
  }

  /** The node in {@link Operator#compute}. */
  public static final class Kernel extends OperatorContext {
    Kernel(long op) {
      super(op);
    }

    /** Returns an input; null if it is omitted or the node does not have it. */
    public Operand input(int input) {
      Operand out = operand(Raw.hr_op_input_tensor(op(), input));
      return out == null ? null
          : new Operand(out.dtype, out.dims, out.data.asReadOnlyBuffer().order(out.data.order()));
    }

    /** Returns an output; null if the node does not have it. */
    public Operand output(int output) {
      return operand(Raw.hr_op_output_tensor(op(), output));
    }

    private static Operand operand(long address) {
      if (address == 0) return null;
      Structs.hr_op_tensor from = new Structs.hr_op_tensor(address);
      DType dtype = DType.of(from.dtype());
      if (dtype == DType.UNDEFINED) return null;
      long[] dims = Native.longs(from.dims(), from.rank());
      long bytes = dtype.bytes();
      for (long one : dims) bytes *= one;
      ByteBuffer data = bytes == 0 ? ByteBuffer.allocateDirect(0) : Native.view(from.data(), bytes);
      return new Operand(dtype, dims, data.order(java.nio.ByteOrder.nativeOrder()));
    }

    /** Calls a function with each of the numbers below {@code tasks} on the threads of the run. */
    public void parallelFor(int tasks, IntConsumer task) {
      Parallel shared = new Parallel(task);
      long context = Registry.add(shared);
      try {
        Raw.hr_op_parallel_for(op(), tasks, Bridge.function(Callbacks.HR_OP_PARALLEL_FOR_FN), context);
      } finally {
        Registry.remove(context);
      }
      shared.rethrow();
    }
  }

  /** The tasks of a kernel; the first exception comes out of the kernel. */
  private static final class Parallel implements Callbacks.hr_op_parallel_for_fn {
    private final IntConsumer body;
    private volatile Throwable thrown;

    Parallel(IntConsumer body) {
      this.body = body;
    }

    @Override
    public void hr_op_parallel_for_fn(int task) {
      if (thrown != null) return;
      try {
        body.accept(task);
      } catch (Throwable e) {
        thrown = e;
      }
    }

    void rethrow() {
      if (thrown instanceof RuntimeException e) throw e;
      if (thrown instanceof Error e) throw e;
    }
  }

  /** A value of the graph to which gradients are added; null stands for none. */
  public record GradientValue(int id) {}

  /** The node in {@link Operator#gradient}. */
  public static final class Gradient extends OperatorContext {
    Gradient(long op) {
      super(op);
    }

    /** Returns an input; null if it is omitted. */
    public GradientValue input(int input) {
      return value(Raw.hr_op_input(op(), input));
    }

    /** Returns an output. */
    public GradientValue output(int output) {
      return value(Raw.hr_op_output(op(), output));
    }

    /** Returns the gradient of an output; null if nothing depends on the output. */
    public GradientValue outputGradient(int output) {
      return value(Raw.hr_op_output_gradient(op(), output));
    }

    /** Returns whether the gradient of an input is needed. */
    public boolean wants(int input) {
      return Raw.hr_op_wants_gradient(op(), input) != 0;
    }

    /** Adds a node with one output. The attributes may be null. */
    public GradientValue add(String name, String attributes, GradientValue... inputs) {
      return add(1, name, attributes, inputs).get(0);
    }

    /** Adds a node with a number of outputs. */
    public List<GradientValue> add(int outputs, String name, String attributes,
        GradientValue... inputs) {
      Graph.requireCount(outputs);
      int[] ids = new int[inputs.length];
      for (int i = 0; i < ids.length; ++i) ids[i] = id(inputs[i]);
      try (Scratch s = Scratch.open()) {
        long out = s.bytes(4L * outputs);
        Failures.check(Raw.hr_op_add(
            op(), s.text(name), s.text(attributes), ids.length, s.ints(ids), outputs, out));
        List<GradientValue> values = new ArrayList<>();
        for (int one : Native.ints(out, outputs)) values.add(value(one));
        return values;
      }
    }

    /** Adds a scalar constant of the floating-point type of another value. */
    public GradientValue scalar(double number, GradientValue like) {
      try (Scratch s = Scratch.open()) {
        long out = s.out();
        Failures.check(Raw.hr_op_scalar(op(), number, id(like), out));
        return value(s.getInt(out));
      }
    }

    /** Sets the gradient of an input, of the input's shape. */
    public void set(int input, GradientValue gradient) {
      Failures.check(Raw.hr_op_set_gradient(op(), input, id(gradient)));
    }

    private static GradientValue value(int id) {
      return id == Constants.HR_NONE ? null : new GradientValue(id);
    }

    private static int id(GradientValue value) {
      return value == null ? Constants.HR_NONE : value.id;
    }
  }
}
