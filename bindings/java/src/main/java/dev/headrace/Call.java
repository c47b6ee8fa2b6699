package dev.headrace;

import java.nio.Buffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongConsumer;

/**
 * A prepared run, the fast path: names are resolved once and memory is bound once, and a run with
 * the shapes of the run before allocates nothing. Used by one thread at a time: a call that another
 * thread is using, or whose run is in flight, throws {@link HeadraceException.FailedPrecondition}.
 * Several calls of one session may run at the same time.
 */
public final class Call extends Resource {
  /**
   * A handle with the memory of the program that runs use, which lives as long as the handle. Whoever
   * binds memory has the object's lock, so that the memory that is remembered is the memory that is used.
   */
  private static final class Bound extends Handle {
    final Map<String, Object> outputs = new ConcurrentHashMap<>();
    final Map<String, Object> segments = new ConcurrentHashMap<>();

    Bound(Handle made, LongConsumer releaser) {
      super(made, releaser);
    }
  }

  private final Bound bound;

  Call(Session session, Getting create) {
    this(new Bound(session.child("call", null, Limits.NONE, create), Raw::hr_call_release));
  }

  private Call(Bound bound) {
    super(bound);
    this.bound = bound;
  }

  // ---- Binding ----

  /**
   * Binds a tensor to an input for all runs from now on, in place: a run sees what its memory
   * contains at that time. The tensor may be closed. null: nothing is bound any more.
   */
  public void bind(String input, Tensor tensor) {
    try (Uses uses = new Uses()) {
      long pointer = uses.of(tensor);
      synchronized (bound) {
        check((self, s) -> Raw.hr_call_bind(self, s.text(input), pointer));
        remember(input, tensor);
      }
    }
  }

  /** Binds a single number, such as a learning rate, which is converted to the input's type. */
  public void bind(String input, double value) {
    check((self, s) -> Raw.hr_call_bind_scalar(self, s.text(input), value));
  }

  /** Makes each run take the next batch of a data set, field by field; null: not any more. */
  public void bindDataset(Dataset data) {
    try (Uses uses = new Uses()) {
      long pointer = uses.of(data);
      check((self, s) -> Raw.hr_call_bind_dataset(self, pointer));
    }
  }

  /**
   * Makes runs write an output into what remains of a direct buffer, which must have exactly the
   * bytes of the output; null: into memory of the call.
   */
  public void output(String output, Buffer buffer) {
    Memory memory = buffer == null ? new Memory(0, 0, false, null) : Memory.of(buffer);
    if (memory.readOnly()) {
      throw new HeadraceException.InvalidArgument("the buffer for an output must not be read-only");
    }
    synchronized (bound) {
      check((self, s) -> Raw.hr_call_output(self, s.text(output), memory.address(), memory.bytes()));
      put(bound.outputs, output, memory.owner());
    }
  }

  /**
   * Makes runs write an output into a tensor of its type and shape, in place; null: into memory of
   * the call. The tensor may be closed.
   */
  public void bindOutput(String output, Tensor tensor) {
    try (Uses uses = new Uses()) {
      long pointer = uses.of(tensor);
      synchronized (bound) {
        check((self, s) -> Raw.hr_call_bind_output(self, s.text(output), pointer));
        bound.outputs.remove(output);
        remember("=" + output, tensor);
      }
    }
  }

  private void remember(String name, Tensor tensor) {
    put(bound.segments, name, tensor == null ? null : tensor.segmentOwner());
  }

  private static void put(Map<String, Object> map, String name, Object value) {
    if (value == null) map.remove(name);
    else map.put(name, value);
  }

  /** The type and shape of an output. */
  public record OutputType(DType dtype, List<Long> dims) {}

  /** Returns the type and shape of an output for the inputs that are bound now. */
  public OutputType outputType(String output) {
    return with((self, s) -> {
      long dtype = s.out();
      long rank = s.out();
      long dims = s.out();
      Failures.check(Raw.hr_call_output_type(self, s.text(output), dtype, rank, dims));
      return new OutputType(DType.of(s.getInt(dtype)),
          ValueInfo.boxed(Native.longs(s.get(dims), s.get(rank))));
    });
  }

  // ---- Running ----

  /**
   * Runs the call and waits for the end. {@link HeadraceException.OutOfRange}: a bound data set has
   * no more data, and nothing has run.
   */
  public void run() {
    run(Limits.NONE);
  }

  /** Runs the call and waits for the end within the limits. */
  public void run(Limits limits) {
    if (!bound.segments.isEmpty()) bound.segments.values().forEach(Segments::requireAlive);
    long self = bound.acquire();
    try {
      runWith(self, limits);
    } finally {
      bound.release();
    }
  }

  private static void runWith(long self, Limits limits) {
    long address = limits.begin();
    long status;
    try {
      status = Raw.hr_call_run(self, address);
    } finally {
      limits.end();
    }
    if (status != 0) throw Failures.take(status);
  }

  /** Starts a run and returns at once. The limits count from now; an interrupt does not end it. */
  public Run start(Limits limits) {
    if (!bound.segments.isEmpty()) bound.segments.values().forEach(Segments::requireAlive);
    bound.acquire(); // until the run has ended, because the memory of outputs is in use
    Handle run;
    try {
      run = child("run", Raw::hr_run_release, limits,
          (self, s, l, out) -> Raw.hr_call_start(self, l, out));
    } catch (Throwable e) {
      bound.release();
      throw e;
    }
    return new Run(run, bound);
  }

  /** Starts a run and returns its future. */
  public CompletableFuture<Void> runAsync() {
    return start(Limits.NONE).future();
  }

  // ---- Results ----

  /** Returns an output of the last run. The next run overwrites its memory. */
  public Tensor result(String output) {
    return new Tensor(get(Limits.NONE, (self, s, l, out) -> Raw.hr_call_result(
        self, s.text(output), out)));
  }

  /** Returns an output of the last run and gives its memory away: the next run takes other. */
  public Tensor takeResult(String output) {
    return new Tensor(take(output));
  }

  private long take(String output) {
    return get(Limits.NONE,
        (self, s, l, out) -> Raw.hr_call_take_result(self, s.text(output), out));
  }

  Outputs takeAll(List<String> outputs) {
    List<String> each = outputs.stream().distinct().toList();
    return new Outputs(each, each.stream().mapToLong(this::take).toArray());
  }

  /** Describes the plan for the shapes that are bound now as JSON. */
  public String describe() {
    return describe(Raw::hr_call_describe);
  }

  /** Runs the call within the limits, and describes what the run did, step by step, as JSON. */
  public String profile(Limits limits) {
    if (!bound.segments.isEmpty()) bound.segments.values().forEach(Segments::requireAlive);
    bound.acquire();
    try {
      return Native.take(get(limits, (self, s, l, out) -> Raw.hr_call_profile(self, l, out)));
    } finally {
      bound.release();
    }
  }
}
