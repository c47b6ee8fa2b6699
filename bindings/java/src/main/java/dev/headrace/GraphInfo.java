package dev.headrace;

import dev.headrace.Graph.Value;
import java.util.List;

/** The numbers of what a graph has, and its inputs in the order in which they were added. */
public record GraphInfo(int values, int nodes, int variables, int signatures, List<Value> inputs) {
  static GraphInfo read(Graph graph, long self, Scratch s) {
    Structs.hr_graph_info out = new Structs.hr_graph_info(s);
    Failures.check(Raw.hr_graph_get(self, out.address));
    return new GraphInfo((int) out.value_count(), (int) out.node_count(), (int) out.variable_count(),
        (int) out.signature_count(), graph.values(Native.ints(out.inputs(), out.input_count())));
  }
}
