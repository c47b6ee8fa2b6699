package dev.headrace;

/** The description of any operation of a {@link Group}, for {@link Group#run} and its like. */
public final class Request {
  private final Kind kind;
  private final DType dtype;
  private final long count;
  private Tensor input;
  private Tensor output;
  private ReduceOp op = ReduceOp.SUM;
  private int peer;
  private int tag;
  private double factor = 1;

  /**
   * Makes a description. The count is that of one rank's contribution (gather, allGather), of one
   * rank's result (scatter, reduceScatter), of what one rank sends to another (allToAll), or of the
   * tensor.
   */
  public Request(Kind kind, DType dtype, long count) {
    this.kind = kind;
    this.dtype = dtype;
    this.count = count;
  }

  /** The operations. */
  public enum Kind {
    /** {@link Group#send}. */
    SEND(Constants.HR_OPERATION_SEND),
    /** {@link Group#recv}. */
    RECV(Constants.HR_OPERATION_RECV),
    /** {@link Group#barrier}. */
    BARRIER(Constants.HR_OPERATION_BARRIER),
    /** {@link Group#broadcast}. */
    BROADCAST(Constants.HR_OPERATION_BROADCAST),
    /** {@link Group#reduce}. */
    REDUCE(Constants.HR_OPERATION_REDUCE),
    /** {@link Group#allReduce}. */
    ALL_REDUCE(Constants.HR_OPERATION_ALL_REDUCE),
    /** {@link Group#gather}. */
    GATHER(Constants.HR_OPERATION_GATHER),
    /** {@link Group#allGather}. */
    ALL_GATHER(Constants.HR_OPERATION_ALL_GATHER),
    /** {@link Group#scatter}. */
    SCATTER(Constants.HR_OPERATION_SCATTER),
    /** {@link Group#reduceScatter}. */
    REDUCE_SCATTER(Constants.HR_OPERATION_REDUCE_SCATTER),
    /** {@link Group#allToAll}. */
    ALL_TO_ALL(Constants.HR_OPERATION_ALL_TO_ALL);

    private final int number;

    Kind(int number) {
      this.number = number;
    }

    /** How many blocks of the size of {@code count} the input and the output have. */
    private long inputBlocks(int ranks) {
      return this == SCATTER || this == REDUCE_SCATTER || this == ALL_TO_ALL ? ranks : 1;
    }

    private long outputBlocks(int ranks) {
      return this == GATHER || this == ALL_GATHER || this == ALL_TO_ALL ? ranks : 1;
    }
  }

  /** Sets the input; null if this rank needs none. */
  public Request input(Tensor tensor) {
    input = tensor;
    return this;
  }

  /** Sets the output; null if this rank needs none. */
  public Request output(Tensor tensor) {
    output = tensor;
    return this;
  }

  /** Sets how the inputs become one. */
  public Request op(ReduceOp how) {
    op = how;
    return this;
  }

  /** Sets the root; of a send the receiver, of a receive the sender. */
  public Request peer(int rank) {
    peer = rank;
    return this;
  }

  /** Sets the tag of a send or a receive. */
  public Request tag(int number) {
    tag = number;
    return this;
  }

  /** Sets this rank's factor of {@link ReduceOp#PRE_MULTIPLIED_SUM}. */
  public Request factor(double number) {
    factor = number;
    return this;
  }

  long in(Scratch s, Uses uses, int ranks) {
    Structs.hr_operation out = new Structs.hr_operation(s);
    out.kind(kind.number);
    out.dtype(dtype.number());
    out.count(count);
    if (input != null) Shape.require(input, dtype, count * kind.inputBlocks(ranks));
    if (output != null) Shape.require(output, dtype, count * kind.outputBlocks(ranks));
    out.input(Shape.read(input, uses));
    out.output(Shape.written(output, uses));
    out.op(op.number());
    out.peer(peer);
    out.tag(tag);
    out.factor(factor);
    return out.address;
  }
}
