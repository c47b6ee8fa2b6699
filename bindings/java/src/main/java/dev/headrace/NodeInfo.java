package dev.headrace;

import dev.headrace.Graph.Node;
import dev.headrace.Graph.Value;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * What a graph knows of a node. An input that is omitted, and an output that is not computed, is
 * null. {@code controls} are the nodes that it runs after. Attributes are of the types Long, Double,
 * String, {@code long[]}, {@code double[]}, {@code String[]} and {@link Tensor}, which the caller may
 * close; a subgraph is null.
 */
public record NodeInfo(String name, String op, int version, String device, List<Value> inputs,
    List<Value> outputs, List<Node> controls, Map<String, Object> attributes) {
  static NodeInfo read(Graph graph, long self, int id, Scratch s) {
    Structs.hr_node_info out = new Structs.hr_node_info(s);
    Failures.check(Raw.hr_graph_get_node(self, id, out.address));
    return new NodeInfo(Native.text(out.name()), Native.text(out.op()), out.version(),
        Native.text(out.device()), graph.values(Native.ints(out.inputs(), out.input_count())),
        graph.values(Native.ints(out.outputs(), out.output_count())),
        nodes(graph, Native.ints(out.controls(), out.control_count())),
        Attributes.read(graph, self, id, s));
  }

  static List<Node> nodes(Graph graph, int[] ids) {
    return Arrays.stream(ids).mapToObj(one -> new Node(graph, one)).toList();
  }
}
