package dev.headrace;

import dev.headrace.Graph.Node;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * What a graph knows of a value. {@code dims} is null if the rank is unknown; a dimension of -1 is
 * unknown until a run, and {@code symbols} may have its name, else null. {@code producer} is null
 * for inputs and constants.
 */
public record ValueInfo(String name, DType dtype, List<Long> dims, List<String> symbols, Node producer,
    boolean isConstant) {
  static ValueInfo read(Graph graph, long self, int id, Scratch s) {
    Structs.hr_value_info out = new Structs.hr_value_info(s);
    Failures.check(Raw.hr_graph_get_value(self, id, out.address));
    int rank = out.rank();
    return new ValueInfo(Native.text(out.name()), DType.of(out.dtype()),
        rank < 0 ? null : boxed(Native.longs(out.dims(), rank)),
        rank < 0 ? null : listed(Native.texts(out.symbols(), rank)),
        out.producer() == Constants.HR_NONE ? null : new Node(graph, out.producer()),
        out.is_constant() != 0);
  }

  static List<Long> boxed(long[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  static List<String> listed(String[] texts) {
    return Collections.unmodifiableList(Arrays.asList(texts));
  }
}
