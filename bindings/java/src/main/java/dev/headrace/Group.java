package dev.headrace;

/**
 * A set of processes that communicate; each has a rank from 0 to size - 1. All ranks start the same
 * collective operations in the same order; sends and receives meet by tag instead.
 *
 * <p>One thread at a time may start operations; give each thread a group of its own ({@link #split}).
 * All other functions may be called by any thread. If a rank dies, freezes or starts something
 * different, the group ends for all ranks with the same exception, which names that rank; it can
 * continue without it ({@link #shrink}).
 *
 * <p>The tensors of operations must be contiguous and in the memory of the host: use
 * {@link Tensor#wrap} for direct buffers. Operations that wait end with
 * {@link HeadraceException.Cancelled} if their thread is interrupted, which ends the group unless it
 * was a receive.
 */
public final class Group extends Resource {
  private final Limits defaults;

  private Group(Handle handle, Limits defaults) {
    super(handle);
    this.defaults = defaults;
  }

  // ---- Meeting ----

  /** Makes a group of all ranks that the environment tells, and waits until they are connected. */
  public static Group create(Env env) {
    return create(env, new GroupOptions(), null);
  }

  /** Makes a group and waits until all ranks are connected; null limits: the options' timeout. */
  public static Group create(Env env, GroupOptions options, Limits limits) {
    try (Uses uses = new Uses()) {
      return new Group(env.child("group", Raw::hr_group_release,
          limits == null ? options.limits() : limits,
          (self, s, l, out) -> Raw.hr_group_create(self, options.in(s, uses), l, out)),
          options.limits());
    }
  }

  /** Waits until a group grows and becomes one of its ranks; null limits: the options' timeout. */
  public static Group join(Env env, GroupOptions options, Limits limits) {
    try (Uses uses = new Uses()) {
      return new Group(env.child("group", Raw::hr_group_release,
          limits == null ? options.limits() : limits,
          (self, s, l, out) -> Raw.hr_group_join(self, options.in(s, uses), l, out)),
          options.limits());
    }
  }

  /**
   * Splits the group: ranks with the same color form a group, ordered by key and rank. Returns null
   * to ranks with a negative color.
   */
  public Group split(int color, int key) {
    if (color < 0) {
      get(defaults, (self, s, l, out) -> Raw.hr_group_split(self, color, key, l, out));
      return null;
    }
    return next(defaults, (self, s, l, out) -> Raw.hr_group_split(self, color, key, l, out));
  }

  /** Continues a group that has ended, without the ranks that are lost, as a new group. */
  public Group shrink(Limits limits) {
    return next(limits, (self, s, l, out) -> Raw.hr_group_shrink(self, l, out));
  }

  /** Adds ranks, which call {@link #join}, until there are {@code newSize}, as a new group. */
  public Group grow(int newSize, Limits limits) {
    return next(limits, (self, s, l, out) -> Raw.hr_group_grow(self, newSize, l, out));
  }

  /** Returns how many processes wait in {@link #join}. */
  public int waiting(Limits limits) {
    return (int) get(orDefaults(limits), (self, s, l, out) -> Raw.hr_group_waiting(self, l, out));
  }

  private Group next(Limits limits, Getting body) {
    return new Group(child("group", Raw::hr_group_release, orDefaults(limits), body), defaults);
  }

  private Limits orDefaults(Limits limits) {
    return limits == null ? defaults : limits;
  }

  /** Leaves this group and all that share its connections. Operations in flight are cancelled. */
  public void leave() {
    check((self, s) -> {
      Raw.hr_group_close(self);
      return 0;
    });
  }

  /** Ends the group on all ranks with {@link HeadraceException.Aborted} and the cause. */
  public void abort(String cause) {
    check((self, s) -> Raw.hr_group_abort(self, s.text(cause)));
  }

  // ---- What it is ----

  /** Returns the rank of this process. */
  public int rank() {
    return with((self, s) -> Raw.hr_group_rank(self));
  }

  /** Returns the number of ranks. */
  public int size() {
    return with((self, s) -> Raw.hr_group_size(self));
  }

  /** Returns the epoch. */
  public long epoch() {
    return with((self, s) -> Raw.hr_group_epoch(self));
  }

  /** Returns why the group has ended, the same on all ranks; null while it has not. */
  public HeadraceException failure() {
    return with((self, s) -> {
      long status = Raw.hr_group_status(self);
      return status == 0 ? null : Failures.take(status);
    });
  }

  /** Describes members, transports, algorithms and the cost model as JSON. */
  public String describe() {
    return describe(Raw::hr_group_describe);
  }

  /** Describes the last operations as JSON, the oldest first. */
  public String dump() {
    return describe(Raw::hr_group_dump);
  }

  // ---- Operations ----

  /** Waits until all ranks have called it. */
  public void barrier() {
    barrier(null);
  }

  /** As above within limits; here and below null means the group's timeout. */
  public void barrier(Limits limits) {
    check(orDefaults(limits), (self, s, l) -> Raw.hr_barrier(self, l));
  }

  /** Starts a barrier. */
  public Work startBarrier() {
    return start(new Uses(), (self, out) -> Raw.hr_barrier_start(self, out));
  }

  /** Sends a tensor to a rank. */
  public void send(Tensor data, int to, int tag) {
    send(data, to, tag, null);
  }

  /** As above, within limits. */
  public void send(Tensor data, int to, int tag, Limits limits) {
    perform(Shape.sent(data), limits, (self, at, l) -> Raw.hr_send(
        self, at.input(), at.count(), at.dtype(), to, tag, l));
  }

  /** Starts what {@link #send} does. */
  public Work startSend(Tensor data, int to, int tag) {
    return start(Shape.sent(data), (self, at, out) -> Raw.hr_send_start(
        self, at.input(), at.count(), at.dtype(), to, tag, out));
  }

  /** Receives into a tensor what a rank sends, of the same type and number of elements. */
  public void recv(Tensor data, int from, int tag) {
    recv(data, from, tag, null);
  }

  /** As above, within limits. */
  public void recv(Tensor data, int from, int tag, Limits limits) {
    perform(Shape.received(data), limits, (self, at, l) -> Raw.hr_recv(
        self, at.output(), at.count(), at.dtype(), from, tag, l));
  }

  /** Starts what {@link #recv} does. */
  public Work startRecv(Tensor data, int from, int tag) {
    return start(Shape.received(data), (self, at, out) -> Raw.hr_recv_start(
        self, at.output(), at.count(), at.dtype(), from, tag, out));
  }

  /** On every rank: output = the root's input; the input of other ranks may be null. */
  public void broadcast(Tensor input, Tensor output, int root) {
    broadcast(input, output, root, null);
  }

  /** As above, within limits. */
  public void broadcast(Tensor input, Tensor output, int root, Limits limits) {
    perform(Shape.same(input, output), limits, (self, at, l) -> Raw.hr_broadcast(
        self, at.input(), at.output(), at.count(), at.dtype(), root, l));
  }

  /** Starts what {@link #broadcast} does. */
  public Work startBroadcast(Tensor input, Tensor output, int root) {
    return start(Shape.same(input, output), (self, at, out) -> Raw.hr_broadcast_start(
        self, at.input(), at.output(), at.count(), at.dtype(), root, out));
  }

  /** On the root: output = the reduction of all inputs; the output of others may be null. */
  public void reduce(Tensor input, Tensor output, ReduceOp op, int root) {
    reduce(input, output, op, root, null);
  }

  /** As above, within limits. */
  public void reduce(Tensor input, Tensor output, ReduceOp op, int root, Limits limits) {
    perform(Shape.same(input, output), limits, (self, at, l) -> Raw.hr_reduce(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), root, l));
  }

  /** Starts what {@link #reduce} does. */
  public Work startReduce(Tensor input, Tensor output, ReduceOp op, int root) {
    return start(Shape.same(input, output), (self, at, out) -> Raw.hr_reduce_start(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), root, out));
  }

  /** On every rank: output = the reduction of all inputs. Both may be the same tensor. */
  public void allReduce(Tensor input, Tensor output, ReduceOp op) {
    allReduce(input, output, op, null);
  }

  /** As above, within limits. */
  public void allReduce(Tensor input, Tensor output, ReduceOp op, Limits limits) {
    perform(Shape.same(input, output), limits, (self, at, l) -> Raw.hr_all_reduce(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), l));
  }

  /** Starts what {@link #allReduce} does. */
  public Work startAllReduce(Tensor input, Tensor output, ReduceOp op) {
    return start(Shape.same(input, output), (self, at, out) -> Raw.hr_all_reduce_start(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), out));
  }

  /** On the root: output [size, …] = all inputs; the output of others may be null. */
  public void gather(Tensor input, Tensor output, int root) {
    gather(input, output, root, null);
  }

  /** As above, within limits. */
  public void gather(Tensor input, Tensor output, int root, Limits limits) {
    perform(Shape.gather(input, output, size()), limits, (self, at, l) -> Raw.hr_gather(
        self, at.input(), at.output(), at.count(), at.dtype(), root, l));
  }

  /** Starts what {@link #gather} does. */
  public Work startGather(Tensor input, Tensor output, int root) {
    return start(Shape.gather(input, output, size()), (self, at, out) -> Raw.hr_gather_start(
        self, at.input(), at.output(), at.count(), at.dtype(), root, out));
  }

  /** On every rank: output [size, …] = all inputs. */
  public void allGather(Tensor input, Tensor output) {
    allGather(input, output, null);
  }

  /** As above, within limits. */
  public void allGather(Tensor input, Tensor output, Limits limits) {
    perform(Shape.gather(input, output, size()), limits, (self, at, l) -> Raw.hr_all_gather(
        self, at.input(), at.output(), at.count(), at.dtype(), l));
  }

  /** Starts what {@link #allGather} does. */
  public Work startAllGather(Tensor input, Tensor output) {
    return start(Shape.gather(input, output, size()), (self, at, out) -> Raw.hr_all_gather_start(
        self, at.input(), at.output(), at.count(), at.dtype(), out));
  }

  /** On every rank: output = its block of the root's input [size, …]; others may give null. */
  public void scatter(Tensor input, Tensor output, int root) {
    scatter(input, output, root, null);
  }

  /** As above, within limits. */
  public void scatter(Tensor input, Tensor output, int root, Limits limits) {
    perform(Shape.scatter(input, output, size()), limits, (self, at, l) -> Raw.hr_scatter(
        self, at.input(), at.output(), at.count(), at.dtype(), root, l));
  }

  /** Starts what {@link #scatter} does. */
  public Work startScatter(Tensor input, Tensor output, int root) {
    return start(Shape.scatter(input, output, size()), (self, at, out) -> Raw.hr_scatter_start(
        self, at.input(), at.output(), at.count(), at.dtype(), root, out));
  }

  /** On every rank: output = its block of the reduction of all inputs [size, …]. */
  public void reduceScatter(Tensor input, Tensor output, ReduceOp op) {
    reduceScatter(input, output, op, null);
  }

  /** As above, within limits. */
  public void reduceScatter(Tensor input, Tensor output, ReduceOp op, Limits limits) {
    perform(Shape.scatter(input, output, size()), limits, (self, at, l) -> Raw.hr_reduce_scatter(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), l));
  }

  /** Starts what {@link #reduceScatter} does. */
  public Work startReduceScatter(Tensor input, Tensor output, ReduceOp op) {
    return start(Shape.scatter(input, output, size()), (self, at, out) -> Raw.hr_reduce_scatter_start(
        self, at.input(), at.output(), at.count(), at.dtype(), op.number(), out));
  }

  /** On every rank: block r of output [size, …] = its block of rank r's input [size, …]. */
  public void allToAll(Tensor input, Tensor output) {
    allToAll(input, output, null);
  }

  /** As above, within limits. */
  public void allToAll(Tensor input, Tensor output, Limits limits) {
    perform(Shape.blocks(input, output, size()), limits, (self, at, l) -> Raw.hr_all_to_all(
        self, at.input(), at.output(), at.count(), at.dtype(), l));
  }

  /** Starts what {@link #allToAll} does. */
  public Work startAllToAll(Tensor input, Tensor output) {
    return start(Shape.blocks(input, output, size()), (self, at, out) -> Raw.hr_all_to_all_start(
        self, at.input(), at.output(), at.count(), at.dtype(), out));
  }

  /** A function of C that performs or starts an operation; the last is its limits or its result. */
  @FunctionalInterface
  private interface Operating {
    long operate(long self, Shape.Buffers at, long last);
  }

  private void perform(Shape shape, Limits limits, Operating body) {
    try (Uses uses = new Uses()) {
      Shape.Buffers at = shape.use(uses);
      check(orDefaults(limits), (self, s, l) -> body.operate(self, at, l));
    }
  }

  private Work start(Shape shape, Operating body) {
    Uses uses = new Uses();
    try {
      Shape.Buffers at = shape.use(uses);
      return start(uses, (self, out) -> body.operate(self, at, out));
    } catch (Throwable e) {
      uses.close();
      throw e;
    }
  }

  /** A function of C that starts an operation. */
  @FunctionalInterface
  private interface Starting {
    long start(long self, long out);
  }

  /** The buffers are in use until the work has ended, or until it turns out that none is started. */
  private Work start(Uses buffers, Starting body) {
    Handle work;
    try {
      work = child("work", Raw::hr_work_release, Limits.NONE,
          (self, s, l, out) -> body.start(self, out));
    } catch (Throwable e) {
      buffers.close();
      throw e;
    }
    return new Work(work, defaults, buffers);
  }

  // ---- The general form ----

  /** Performs an operation that is described, such as a sum with factors. */
  public void run(Request request, Limits limits) {
    int ranks = size();
    try (Uses uses = new Uses()) {
      check(orDefaults(limits), (self, s, l) -> Raw.hr_group_run(self, request.in(s, uses, ranks), l));
    }
  }

  /** Starts an operation that is described. */
  public Work start(Request request) {
    int ranks = size();
    Uses uses = new Uses();
    return start(uses, (self, out) -> {
      try (Scratch s = Scratch.open()) {
        return Raw.hr_group_start(self, request.in(s, uses, ranks), out);
      }
    });
  }

  /** Describes as JSON how the group would perform an operation. Sends nothing. */
  public String explain(Request request) {
    int ranks = size();
    return describe((self, out) -> {
      try (Scratch s = Scratch.open(); Uses uses = new Uses()) {
        return Raw.hr_group_explain(self, request.in(s, uses, ranks), out);
      }
    });
  }
}
