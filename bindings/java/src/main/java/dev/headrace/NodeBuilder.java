package dev.headrace;

import dev.headrace.Graph.Node;
import dev.headrace.Graph.Value;
import java.util.List;

/**
 * The description of a node, for everything that {@link Graph#op} cannot express. Used by one thread
 * at a time. It can be added more than once.
 */
public final class NodeBuilder extends Resource {
  private final Graph graph;

  NodeBuilder(Graph graph, String op) {
    super(new Handle("node builder", create(op), Raw::hr_node_spec_release, null));
    this.graph = graph;
  }

  private static long create(String op) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_node_spec_create(s.text(op), out));
      return s.get(out);
    }
  }

  /** A function of C that adds to the description. */
  @FunctionalInterface
  private interface Adding {
    void add(long self, Scratch s);
  }

  private NodeBuilder add(Adding body) {
    with((self, s) -> {
      body.add(self, s);
      return null;
    });
    return this;
  }

  /** Sets the name. */
  public NodeBuilder name(String name) {
    return add((self, s) -> Raw.hr_node_spec_name(self, s.text(name)));
  }

  /** Sets the device. */
  public NodeBuilder device(String device) {
    return add((self, s) -> Raw.hr_node_spec_device(self, s.text(device)));
  }

  /** Adds the next input; null for an optional one that is omitted. */
  public NodeBuilder input(Value value) {
    int id = graph.ids(value)[0];
    return add((self, s) -> Raw.hr_node_spec_input(self, id));
  }

  /** Makes the node run after another one. */
  public NodeBuilder after(Node node) {
    int id = graph.id(node);
    return add((self, s) -> Raw.hr_node_spec_control(self, id));
  }

  /** Sets an attribute to an integer. */
  public NodeBuilder attribute(String name, long value) {
    return add((self, s) -> Raw.hr_node_spec_int(self, s.text(name), value));
  }

  /** Sets an attribute to a number. */
  public NodeBuilder attribute(String name, double value) {
    return add((self, s) -> Raw.hr_node_spec_float(self, s.text(name), value));
  }

  /** Sets an attribute to a text. */
  public NodeBuilder attribute(String name, String value) {
    return add((self, s) -> Raw.hr_node_spec_string(self, s.text(name), s.text(value)));
  }

  /** Sets an attribute to a list of integers. */
  public NodeBuilder attribute(String name, long[] values) {
    return add((self, s) -> Raw.hr_node_spec_ints(self, s.text(name), values.length, s.longs(values)));
  }

  /** Sets an attribute to a list of numbers. */
  public NodeBuilder attribute(String name, double[] values) {
    return add((self, s) -> Raw.hr_node_spec_floats(
        self, s.text(name), values.length, s.doubles(values)));
  }

  /** Sets an attribute to a list of texts. */
  public NodeBuilder attribute(String name, List<String> values) {
    return add((self, s) -> Raw.hr_node_spec_strings(
        self, s.text(name), values.size(), s.texts(values)));
  }

  /** Sets an attribute to a tensor, whose contents must not change any more. */
  public NodeBuilder attribute(String name, Tensor value) {
    long pointer = value.use();
    try {
      return add((self, s) -> Raw.hr_node_spec_tensor(self, s.text(name), pointer));
    } finally {
      value.handle.release();
    }
  }

  /** Sets an attribute to a body. */
  public NodeBuilder attribute(String name, Graph.Body value) {
    int id = graph.id(value);
    return add((self, s) -> Raw.hr_node_spec_body(self, s.text(name), id));
  }

  /** A node that was added, and its outputs. */
  public record Added(Node node, List<Value> outputs) {}

  /** Adds the node to the graph. */
  public Added add(int outputs) {
    Graph.requireCount(outputs);
    return with((self, s) -> {
      long values = s.bytes(4L * outputs);
      int node = graph.number((to, unused, out) -> Raw.hr_graph_add(to, self, outputs, values, out));
      return new Added(new Node(graph, node), graph.values(Native.ints(values, outputs)));
    });
  }

  /** Adds the node to the graph, closes this object, and returns the node's one output. */
  public Value done() {
    try (this) {
      return add(1).outputs().get(0);
    }
  }
}
