package dev.headrace;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads the attributes of a node. */
final class Attributes {
  private final long graph;
  private final int node;
  private final Scratch s;

  private Attributes(long graph, int node, Scratch s) {
    this.graph = graph;
    this.node = node;
    this.s = s;
  }

  static Map<String, Object> read(Graph graph, long self, int node, Scratch s) {
    Structs.hr_node_info info = new Structs.hr_node_info(s);
    Failures.check(Raw.hr_graph_get_node(self, node, info.address));
    Attributes from = new Attributes(self, node, s);
    Map<String, Object> out = new LinkedHashMap<>();
    for (long i = 0; i < info.attribute_count(); ++i) {
      Structs.hr_attribute_info one = new Structs.hr_attribute_info(s);
      Failures.check(Raw.hr_graph_get_attribute(self, node, i, one.address));
      out.put(Native.text(one.name()), from.value(one.name(), one.kind()));
    }
    return Collections.unmodifiableMap(out);
  }

  private Object value(long name, int kind) {
    return switch (kind) {
      case Constants.HR_ATTRIBUTE_INT -> integer(name);
      case Constants.HR_ATTRIBUTE_FLOAT -> number(name);
      case Constants.HR_ATTRIBUTE_STRING -> text(name);
      case Constants.HR_ATTRIBUTE_INTS -> list(name, Raw::hr_graph_node_ints, Native::longs);
      case Constants.HR_ATTRIBUTE_FLOATS -> list(name, Raw::hr_graph_node_floats, Native::doubles);
      case Constants.HR_ATTRIBUTE_STRINGS -> list(name, Raw::hr_graph_node_strings, Native::texts);
      case Constants.HR_ATTRIBUTE_TENSOR -> tensor(name);
      default -> null;
    };
  }

  private Object integer(long name) {
    long out = s.out();
    Failures.check(Raw.hr_graph_node_int(graph, node, name, 0, out));
    return s.get(out);
  }

  private Object number(long name) {
    long out = s.out();
    Failures.check(Raw.hr_graph_node_float(graph, node, name, 0, out));
    return s.getDouble(out);
  }

  private Object text(long name) {
    long out = s.out();
    Failures.check(Raw.hr_graph_node_string(graph, node, name, 0, out));
    return Native.text(s.get(out));
  }

  private Object tensor(long name) {
    long out = s.out();
    Failures.check(Raw.hr_graph_node_tensor(graph, node, name, out));
    return Tensor.orNull(s.get(out));
  }

  private interface Getter {
    long get(long graph, int node, long name, long outCount, long outValues);
  }

  private interface Reader {
    Object read(long address, long count);
  }

  private Object list(long name, Getter getter, Reader reader) {
    long count = s.out();
    long values = s.out();
    Failures.check(getter.get(graph, node, name, count, values));
    return reader.read(s.get(values), s.get(count));
  }
}
