package dev.headrace;

import java.util.AbstractMap;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The results of a run by their names, in the order of the fetches. Closing it closes all. */
public final class Outputs extends AbstractMap<String, Tensor> implements AutoCloseable {
  private final Map<String, Tensor> tensors = new LinkedHashMap<>();

  Outputs(List<String> names, long[] pointers) {
    for (int i = 0; i < pointers.length; ++i) {
      Tensor old = tensors.put(names.get(i), new Tensor(pointers[i]));
      if (old != null) old.close();
    }
  }

  /** Returns the names and tensors. */
  @Override
  public Set<Entry<String, Tensor>> entrySet() {
    return Collections.unmodifiableMap(tensors).entrySet();
  }

  /** Closes the tensors. */
  @Override
  public void close() {
    tensors.values().forEach(Tensor::close);
  }
}
