package dev.headrace;

import dev.headrace.Graph.Node;
import dev.headrace.Graph.Value;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A signature of a graph: named inputs and outputs, in their order, and targets. */
public record SignatureInfo(String name, Map<String, Value> inputs, Map<String, Value> outputs,
    List<Node> targets) {
  static SignatureInfo read(Graph graph, long self, long index, Scratch s) {
    Structs.hr_signature_info out = new Structs.hr_signature_info(s);
    Failures.check(Raw.hr_graph_get_signature(self, index, out.address));
    return new SignatureInfo(Native.text(out.name()),
        named(graph, out.input_names(), out.inputs(), out.input_count()),
        named(graph, out.output_names(), out.outputs(), out.output_count()),
        NodeInfo.nodes(graph, Native.ints(out.targets(), out.target_count())));
  }

  private static Map<String, Value> named(Graph graph, long names, long values, long count) {
    String[] texts = Native.texts(names, count);
    List<Value> all = graph.values(Native.ints(values, count));
    Map<String, Value> out = new LinkedHashMap<>();
    for (int i = 0; i < texts.length; ++i) out.put(texts[i], all.get(i));
    return Collections.unmodifiableMap(out);
  }
}
