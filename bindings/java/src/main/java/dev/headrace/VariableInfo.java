package dev.headrace;

import java.util.List;

/** What a graph knows of a variable. */
public record VariableInfo(String name, DType dtype, List<Long> dims, boolean trainable) {
  static VariableInfo read(long self, int id, Scratch s) {
    Structs.hr_variable_info out = new Structs.hr_variable_info(s);
    Failures.check(Raw.hr_graph_get_variable(self, id, out.address));
    return new VariableInfo(Native.text(out.name()), DType.of(out.dtype()),
        ValueInfo.boxed(Native.longs(out.dims(), Math.max(out.rank(), 0))), out.trainable() != 0);
  }
}
