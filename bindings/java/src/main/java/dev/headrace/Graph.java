package dev.headrace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A graph under construction. Types are inferred and checked when a node is added; a call that fails
 * leaves the graph as it was. Used by one thread at a time: a second one gets
 * {@link HeadraceException.FailedPrecondition}.
 */
public final class Graph extends Resource {
  /** Makes an empty graph. */
  public Graph(Env env) {
    this(env.child("graph", Raw::hr_graph_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_graph_create(self, out)));
  }

  Graph(Handle handle) {
    super(handle);
  }

  /** A value of a graph, valid until {@link Graph#prune}. */
  public record Value(Graph graph, int id) {}

  /** A node of a graph, valid until {@link Graph#prune}. */
  public record Node(Graph graph, int id) {}

  /** A variable of a graph, valid until {@link Graph#prune}. */
  public record Variable(Graph graph, int id) {}

  // ---- Inputs, constants, variables ----

  /** Adds an input. A dimension of -1 is unknown until a run. */
  public Value input(String name, DType dtype, long... dims) {
    return input(name, dtype, dims, null);
  }

  /**
   * Adds an input. {@code symbols} has the name of each unknown dimension, or null; dimensions with
   * equal names have equal sizes.
   */
  public Value input(String name, DType dtype, long[] dims, String[] symbols) {
    if (symbols != null && symbols.length != dims.length) {
      throw new HeadraceException.InvalidArgument("there must be a symbol, or null, for each of the "
          + dims.length + " dimensions, not " + symbols.length);
    }
    return value((self, s, out) -> Raw.hr_graph_input(self, s.text(name), dtype.number(), dims.length,
        s.longs(dims), symbols == null ? 0 : s.texts(Arrays.asList(symbols)), out));
  }

  /**
   * Sets the bounds and buckets of a dimension that an input has named. max -1: no upper bound. The
   * buckets ascend; sizes of one bucket share a plan.
   */
  public void bound(String symbol, long min, long max, long... buckets) {
    check((self, s) -> Raw.hr_graph_bound(self, s.text(symbol), min, max, buckets.length,
        s.longs(buckets)));
  }

  /** Adds a constant, which shares the tensor's memory: its contents must not change any more. */
  public Value constant(Tensor tensor) {
    return constant(null, tensor);
  }

  /** Adds a constant with a name, as {@link #constant(Tensor)} does. */
  public Value constant(String name, Tensor tensor) {
    long pointer = tensor.use();
    try {
      return value((self, s, out) -> Raw.hr_graph_constant(self, s.text(name), pointer, out));
    } finally {
      tensor.handle.release();
    }
  }

  /** Adds a variable, which shares the memory of its initial value: that must not change any more. */
  public Variable variable(String name, Tensor initial, boolean trainable) {
    long pointer = initial.use();
    try {
      return new Variable(this, number((self, s, out) -> Raw.hr_graph_variable(
          self, s.text(name), pointer, flag(trainable), out)));
    } finally {
      initial.handle.release();
    }
  }

  /**
   * Adds a variable whose initial value is the output of an operator, such as "RandomUniform" with
   * the attributes "low=-0.1 high=0.1".
   */
  public Variable variable(String name, DType dtype, long[] dims, boolean trainable, String op,
      String attributes) {
    return new Variable(this, number((self, s, out) -> Raw.hr_graph_variable_init(self, s.text(name),
        dtype.number(), dims.length, s.longs(dims), flag(trainable), s.text(op), s.text(attributes),
        out)));
  }

  /** Adds a read of a variable: its value at this place in program order. */
  public Value read(Variable variable) {
    int id = id(variable);
    return value((self, s, out) -> Raw.hr_graph_read(self, id, out));
  }

  /** Adds an assignment, which happens in runs that need its node. */
  public Node assign(Variable variable, Value value) {
    int target = id(variable);
    int source = id(value);
    return node((self, s, out) -> Raw.hr_graph_assign(self, target, source, out));
  }

  /** Adds an addition to a variable, which happens in runs that need its node. */
  public Node assignAdd(Variable variable, Value value) {
    int target = id(variable);
    int source = id(value);
    return node((self, s, out) -> Raw.hr_graph_assign_add(self, target, source, out));
  }

  /** Freezes a variable or makes it trainable, for the calls that follow. */
  public void setTrainable(Variable variable, boolean trainable) {
    int id = id(variable);
    check((self, s) -> Raw.hr_graph_set_trainable(self, id, flag(trainable)));
  }

  // ---- Nodes ----

  /** Adds a node with one output. {@code op} is an ONNX operator, or one after its domain. */
  public Value op(String op, Value... inputs) {
    return op(op, null, inputs);
  }

  /**
   * Adds a node with one output and attributes such as "kernel_shape=5,5 auto_pad=SAME_UPPER". A
   * null among the inputs is an optional one that is omitted.
   */
  public Value op(String op, String attributes, Value... inputs) {
    return op(1, op, attributes, inputs).get(0);
  }

  /** Adds a node with a number of outputs. */
  public List<Value> op(int outputs, String op, String attributes, Value... inputs) {
    int[] ids = ids(inputs);
    return values(outputs, (self, s, out) -> Raw.hr_graph_op(
        self, s.text(op), s.text(attributes), ids.length, s.ints(ids), outputs, out));
  }

  /** Begins a node with all that {@link #op} cannot express: name, device, tensors, control inputs. */
  public NodeBuilder node(String op) {
    return new NodeBuilder(this, op);
  }

  /** Sets the device of nodes that are added from now on; null: the session chooses. */
  public void device(String device) {
    check((self, s) -> Raw.hr_graph_device(self, s.text(device)));
  }

  /** Gives a value a name. */
  public void nameValue(Value value, String name) {
    int id = id(value);
    check((self, s) -> Raw.hr_graph_name_value(self, id, s.text(name)));
  }

  // ---- Control flow ----

  /** A graph within a graph: what a branch, an iteration or a call computes. */
  public record Body(Graph graph, int id) {}

  /** Adds a copy of what a signature of another graph computes; it sees nothing but its inputs. */
  public Body body(Graph other, String signature) {
    try (Uses uses = new Uses()) {
      long from = uses.of(other);
      return new Body(this,
          number((self, s, out) -> Raw.hr_graph_body(self, from, s.text(signature), out)));
    }
  }

  /** Adds an input that is a sequence of tensors, for bodies whose states are sequences. */
  public Value inputSequence(String name, DType dtype) {
    return value((self, s, out) -> Raw.hr_graph_input_sequence(
        self, s.text(name), dtype.number(), out));
  }

  /** Adds a branch by a bool. Both bodies take the captured values and give as many outputs. */
  public List<Value> branch(Value condition, Body then, Body otherwise, List<Value> captured,
      int outputs) {
    int which = id(condition);
    int[] values = ids(captured);
    return values(outputs, (self, s, out) -> Raw.hr_graph_if(self, which, id(then), id(otherwise),
        values.length, s.ints(values), outputs, out));
  }

  /**
   * Adds a loop. The body is (iteration, condition, states, captured) to (condition, states, scans).
   * No trip count (null): no limit; no condition: true. The outputs are the states and the scans.
   */
  public List<Value> loop(Value tripCount, Value condition, Body body, List<Value> states,
      List<Value> captured, int outputs) {
    int[] limits = ids(tripCount, condition);
    int[] first = ids(states);
    int[] values = ids(captured);
    return values(outputs, (self, s, out) -> Raw.hr_graph_loop(self, limits[0], limits[1], id(body),
        first.length, s.ints(first), values.length, s.ints(values), outputs, out));
  }

  /**
   * Adds a loop over slices. The body is (states, slices, captured) to (states, scans). The
   * attributes, which may be null, are those of ONNX's Scan.
   */
  public List<Value> scan(Body body, String attributes, List<Value> states, List<Value> scanned,
      List<Value> captured, int outputs) {
    int[] first = ids(states);
    int[] sliced = ids(scanned);
    int[] values = ids(captured);
    return values(outputs, (self, s, out) -> Raw.hr_graph_scan(self, id(body), s.text(attributes),
        first.length, s.ints(first), sliced.length, s.ints(sliced), values.length, s.ints(values),
        outputs, out));
  }

  /** Adds what a body computes of its inputs. */
  public List<Value> call(Body body, List<Value> inputs, int outputs) {
    int[] values = ids(inputs);
    return values(outputs, (self, s, out) -> Raw.hr_graph_call(
        self, id(body), values.length, s.ints(values), outputs, out));
  }

  // ---- Layers ----

  /** Adds a fully connected layer with the variables NAME/weight and NAME/bias. */
  public Value dense(String name, Value x, long units) {
    int id = id(x);
    return value((self, s, out) -> Raw.hr_graph_dense(self, s.text(name), id, units, out));
  }

  /** Adds a convolution with NAME/weight and NAME/bias. x: [N, C, H, W]. */
  public Value conv2d(String name, Value x, long channels, long kernel, String attributes) {
    int id = id(x);
    return value((self, s, out) -> Raw.hr_graph_conv2d(
        self, s.text(name), id, channels, kernel, s.text(attributes), out));
  }

  /** The output of a batch normalization and, in training, the update of its running statistics. */
  public record BatchNorm(Value out, Node update) {}

  /**
   * Adds a batch normalization over all dimensions but dimension 1. In training, make the update a
   * target of the signature; otherwise it is null.
   */
  public BatchNorm batchNorm(String name, Value x, boolean training, String attributes) {
    int id = id(x);
    return with((self, s) -> {
      long out = s.out();
      long update = s.out();
      Failures.check(Raw.hr_graph_batch_norm(
          self, s.text(name), id, flag(training), s.text(attributes), out, update));
      return new BatchNorm(new Value(this, s.getInt(out)),
          training ? new Node(this, s.getInt(update)) : null);
    });
  }

  // ---- Training ----

  /** Adds gradients of the sum of y with respect to each x; null where y does not depend on it. */
  public List<Value> gradients(Value y, List<Value> xs) {
    int loss = id(y);
    int[] ids = ids(xs);
    return values(ids.length, (self, s, out) -> Raw.hr_graph_add_gradients(
        self, loss, ids.length, s.ints(ids), out));
  }

  /** Adds gradients of a scalar with respect to variables; null where it does not depend on one. */
  public List<Value> variableGradients(Value loss, List<Variable> variables) {
    int id = id(loss);
    int[] ids = variableIds(variables);
    return values(ids.length, (self, s, out) -> Raw.hr_graph_variable_gradients(
        self, id, ids.length, s.ints(ids), out));
  }

  /**
   * Adds updates of variables by their gradients to a signature. {@code optimizer} is a name with
   * settings, such as "sgd momentum=0.9". A variable whose gradient is null is left alone.
   */
  public void applyGradients(String signature, String optimizer, Value learningRate,
      List<Variable> variables, List<Value> gradients) {
    if (variables.size() != gradients.size()) {
      throw new HeadraceException.InvalidArgument("there must be a gradient, or null, for each of the "
          + variables.size() + " variables, not " + gradients.size());
    }
    int rate = id(learningRate);
    int[] targets = variableIds(variables);
    int[] values = ids(gradients);
    check((self, s) -> Raw.hr_graph_apply_gradients(self, s.text(signature), s.text(optimizer), rate,
        targets.length, s.ints(targets), s.ints(values)));
  }

  /** Adds gradients and updates for all trainable variables to a signature. */
  public void minimize(String signature, Value loss, String optimizer, Value learningRate) {
    int value = id(loss);
    int rate = id(learningRate);
    check((self, s) -> Raw.hr_graph_minimize(self, s.text(signature), value, s.text(optimizer), rate));
  }

  /** Variables with an optimizer and a learning rate of their own, by patterns of their names. */
  public record ParameterGroup(String patterns, String optimizer, Value learningRate) {}

  /**
   * Adds gradients and updates as {@link #minimize(String, Value, String, Value)} does, with each
   * trainable variable in the first group that has a pattern for it, such as "encoder.*,embedding".
   */
  public void minimize(String signature, Value loss, List<ParameterGroup> groups) {
    int value = id(loss);
    int[] rates = groups.stream().mapToInt(one -> id(one.learningRate)).toArray();
    check((self, s) -> {
      long array = s.bytes((long) Structs.hr_parameter_group.BYTES * rates.length);
      for (int i = 0; i < rates.length; ++i) {
        Structs.hr_parameter_group to = new Structs.hr_parameter_group(
            array + (long) i * Structs.hr_parameter_group.BYTES);
        to.struct_size(Structs.hr_parameter_group.BYTES);
        to.patterns(s.text(groups.get(i).patterns));
        to.optimizer(s.text(groups.get(i).optimizer));
        to.learning_rate(rates[i]);
      }
      return Raw.hr_graph_minimize_groups(self, s.text(signature), value, rates.length, array);
    });
  }

  /**
   * Adds a learning rate that changes from step to step of a signature, such as
   * "cosine base=0.1 warmup=500 steps=10000".
   */
  public Value schedule(String signature, String description) {
    return value((self, s, out) -> Raw.hr_graph_schedule(
        self, s.text(signature), s.text(description), out));
  }

  /** Gradients that are clipped, and their global norm before it was bounded, a scalar. */
  public record Clipped(List<Value> gradients, Value norm) {}

  /** Clips gradients, of which some may be null, by bounds such as "value=0.5 global_norm=1". */
  public Clipped clipGradients(String bounds, List<Value> gradients) {
    int[] ids = ids(gradients);
    return with((self, s) -> {
      long values = s.ints(ids);
      long norm = s.out();
      Failures.check(Raw.hr_graph_clip_gradients(self, s.text(bounds), ids.length, values, norm));
      return new Clipped(values(Native.ints(values, ids.length)), new Value(this, s.getInt(norm)));
    });
  }

  /** Freezes the variables whose names fit patterns, or makes them trainable. Returns how many. */
  public long setTrainable(String patterns, boolean trainable) {
    return get(Limits.NONE, (self, s, l, out) -> Raw.hr_graph_set_trainable_matching(
        self, s.text(patterns), flag(trainable), out));
  }

  /**
   * Adds a metric as an output of a signature, such as "accuracy" of scores and labels, over all
   * batches since the signature SIGNATURE/reset was run.
   */
  public void metric(String signature, String name, String description, Value... inputs) {
    int[] values = ids(inputs);
    check((self, s) -> Raw.hr_graph_metric(self, s.text(signature), s.text(name),
        s.text(description), values.length, s.ints(values)));
  }

  /**
   * Adds low-rank adapters wherever a name fits the patterns, and freezes all other variables.
   * {@code settings}, such as "rank=8 alpha=16", and the signature {@code training} may be null.
   * Returns the number of nodes.
   */
  public long addLora(String patterns, String settings, String training) {
    return get(Limits.NONE, (self, s, l, out) -> Raw.hr_graph_add_lora(
        self, s.text(patterns), s.text(settings), s.text(training), out));
  }

  /** Adds the adapters of a file of {@link Session#saveAdapters}. Returns the number of nodes. */
  public long loadAdapters(String path) {
    return get(Limits.NONE, (self, s, l, out) -> Raw.hr_graph_load_adapters(self, s.text(path), out));
  }

  /**
   * Makes the numbers of one signature smaller: "weights", "dynamic", "static", "float16" or
   * "bfloat16", with options behind. Only what the signature needs stays, so values have other
   * numbers. The patterns choose nodes and may be null; the data, for static alone and null
   * otherwise, is drawn from. Returns the report as JSON; headrace/train.h has all of it.
   */
  public String quantize(
      String signature, String settings, String patterns, Dataset data, Limits limits) {
    try (Uses uses = new Uses()) {
      long set = data == null ? 0 : uses.of(data);
      return Native.take(get(limits, (self, s, l, out) -> Raw.hr_graph_quantize(
          self, s.text(signature), s.text(settings), s.text(patterns), set, l, out)));
    }
  }

  /** Adds a signature that does what another one does, but with the averages of the variables. */
  public void averageSignature(String from, String to) {
    check((self, s) -> Raw.hr_graph_average_signature(self, s.text(from), s.text(to)));
  }

  /** Adds a signature whose run swaps the variables that have an average with that. */
  public void swapAverages(String signature) {
    check((self, s) -> Raw.hr_graph_swap_averages(self, s.text(signature)));
  }

  /**
   * Rewrites a signature that trains so that all ranks of a group train one model: their gradients
   * are averaged while the backward pass goes on. The strategy is "mirrored", with settings such as
   * "mirrored bucket=4194304 bf16=1". Call it after minimize, and {@link Session#bindGroup} later.
   */
  public void distribute(String signature, String group, String strategy) {
    check((self, s) -> Raw.hr_graph_distribute(
        self, s.text(signature), s.text(group), s.text(strategy)));
  }

  // ---- Signatures and files ----

  /** Adds a signature with copies of the nodes that another one needs. */
  public void copySignature(String from, String to) {
    check((self, s) -> Raw.hr_graph_copy_signature(self, s.text(from), s.text(to)));
  }

  /** Lets all that uses a value use another one instead, such as a new head. */
  public void replace(Value from, Value to) {
    int old = id(from);
    int other = id(to);
    check((self, s) -> Raw.hr_graph_replace(self, old, other));
  }

  /** Adds an input to a signature, which the first entry creates. */
  public void signatureInput(String signature, String name, Value value) {
    int id = id(value);
    check((self, s) -> Raw.hr_graph_signature_input(self, s.text(signature), s.text(name), id));
  }

  /** Adds an output to a signature, which the first entry creates. */
  public void signatureOutput(String signature, String name, Value value) {
    int id = id(value);
    check((self, s) -> Raw.hr_graph_signature_output(self, s.text(signature), s.text(name), id));
  }

  /** Adds a node that runs of the signature need. */
  public void signatureTarget(String signature, Node node) {
    int id = id(node);
    check((self, s) -> Raw.hr_graph_signature_target(self, s.text(signature), id));
  }

  /** Removes a signature. What only it needed stays until {@link #prune}. */
  public void removeSignature(String signature) {
    check((self, s) -> Raw.hr_graph_remove_signature(self, s.text(signature)));
  }

  /** Removes all that no signature needs. Values, nodes and variables get new numbers. */
  public void prune() {
    check((self, s) -> Raw.hr_graph_prune(self));
  }

  /** Sets an entry of the metadata. */
  public void setMetadata(String key, String value) {
    check((self, s) -> Raw.hr_graph_set_metadata(self, s.text(key), s.text(value)));
  }

  /** Makes a model of the graph as it is now. */
  public Model toModel() {
    return new Model(child("model", Raw::hr_model_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_model_from_graph(self, out)));
  }

  /** Writes the graph as it is now to a .hrg file. */
  public void save(String path) {
    save(path, new SaveOptions());
  }

  /** Writes the graph as it is now to a .hrg file. */
  public void save(String path, SaveOptions options) {
    check((self, s) -> Raw.hr_graph_save(self, s.text(path), options.in(s)));
  }

  // ---- Reading ----

  /** Returns the numbers of what the graph has. */
  public GraphInfo info() {
    return with((self, s) -> GraphInfo.read(this, self, s));
  }

  /** Returns what the graph knows of a value. */
  public ValueInfo info(Value value) {
    int id = id(value);
    return with((self, s) -> ValueInfo.read(this, self, id, s));
  }

  /** Returns what the graph knows of a node. */
  public NodeInfo info(Node node) {
    int id = id(node);
    return with((self, s) -> NodeInfo.read(this, self, id, s));
  }

  /** Returns what the graph knows of a variable. */
  public VariableInfo info(Variable variable) {
    int id = id(variable);
    return with((self, s) -> VariableInfo.read(self, id, s));
  }

  /** Returns a signature by its number. */
  public SignatureInfo signature(int index) {
    return with((self, s) -> SignatureInfo.read(this, self, index, s));
  }

  /** Returns a signature by its name. */
  public SignatureInfo signature(String name) {
    return with((self, s) -> {
      long out = s.out();
      Failures.check(Raw.hr_graph_find_signature(self, s.text(name), out));
      return SignatureInfo.read(this, self, s.get(out), s);
    });
  }

  /** Returns the attributes of a node by their names: see {@link NodeInfo#attributes}. */
  public Map<String, Object> attributes(Node node) {
    int id = id(node);
    return with((self, s) -> Attributes.read(this, self, id, s));
  }

  /** Returns the value of a number, from 0 to the number of values - 1. */
  public Value value(int number) {
    return new Value(this, number);
  }

  /** Returns the node of a number, from 0 to the number of nodes - 1. */
  public Node node(int number) {
    return new Node(this, number);
  }

  /** Returns the variable of a number, from 0 to the number of variables - 1. */
  public Variable variable(int number) {
    return new Variable(this, number);
  }

  /** Returns the value of a name. */
  public Value findValue(String name) {
    return value((self, s, out) -> Raw.hr_graph_find_value(self, s.text(name), out));
  }

  /** Returns the node of a name. */
  public Node findNode(String name) {
    return node((self, s, out) -> Raw.hr_graph_find_node(self, s.text(name), out));
  }

  /** Returns the variable of a name. */
  public Variable findVariable(String name) {
    return new Variable(this,
        number((self, s, out) -> Raw.hr_graph_find_variable(self, s.text(name), out)));
  }

  /** Returns the contents of a constant, in the graph's memory; null if the value is none. */
  public Tensor tensor(Value value) {
    int id = id(value);
    return Tensor.orNull(get(Limits.NONE, (self, s, l, out) -> Raw.hr_graph_value_tensor(self, id, out)));
  }

  /** Returns a variable's initial value, in the graph's memory; null if an operator makes it. */
  public Tensor tensor(Variable variable) {
    int id = id(variable);
    return Tensor.orNull(
        get(Limits.NONE, (self, s, l, out) -> Raw.hr_graph_variable_tensor(self, id, out)));
  }

  /** Returns the type of a value as text, such as "float32[batch, 10]". */
  public String typeOf(Value value) {
    int id = id(value);
    return describe((self, out) -> Raw.hr_graph_type_of(self, id, out));
  }

  // ---- Numbers ----

  /** A function of C that adds something and writes its number. */
  @FunctionalInterface
  interface Adding {
    long add(long self, Scratch s, long out);
  }

  int number(Adding body) {
    return with((self, s) -> {
      long out = s.out();
      Failures.check(body.add(self, s, out));
      return s.getInt(out);
    });
  }

  private Value value(Adding body) {
    return new Value(this, number(body));
  }

  private Node node(Adding body) {
    return new Node(this, number(body));
  }

  private List<Value> values(int count, Adding body) {
    requireCount(count);
    return with((self, s) -> {
      long out = s.bytes(4L * count);
      Failures.check(body.add(self, s, out));
      return values(Native.ints(out, count));
    });
  }

  static void requireCount(int outputs) {
    if (outputs >= 0) return;
    throw new HeadraceException.InvalidArgument(
        "the number of outputs must not be negative, but it is " + outputs);
  }

  /** Returns the values of numbers; null for those that do not exist. */
  List<Value> values(int[] ids) {
    List<Value> out = new ArrayList<>();
    for (int id : ids) out.add(id == Constants.HR_NONE ? null : new Value(this, id));
    return Collections.unmodifiableList(out);
  }

  int id(Value value) {
    require(value.graph);
    return value.id;
  }

  int id(Node node) {
    require(node.graph);
    return node.id;
  }

  int id(Variable variable) {
    require(variable.graph);
    return variable.id;
  }

  int id(Body body) {
    require(body.graph);
    return body.id;
  }

  private int[] ids(List<Value> values) {
    return ids(values.toArray(new Value[0]));
  }

  int[] ids(Value... values) {
    int[] out = new int[values.length];
    for (int i = 0; i < out.length; ++i) out[i] = values[i] == null ? Constants.HR_NONE : id(values[i]);
    return out;
  }

  private int[] variableIds(List<Variable> variables) {
    return variables.stream().mapToInt(this::id).toArray();
  }

  private void require(Graph graph) {
    if (graph == this) return;
    throw new HeadraceException.InvalidArgument("the value, node, variable or body is of another graph");
  }

  static int flag(boolean value) {
    return value ? 1 : 0;
  }

  /** Tells the graphs of a program apart; values, nodes and variables show it. */
  @Override
  public String toString() {
    return "Graph@" + Integer.toHexString(System.identityHashCode(this));
  }
}
