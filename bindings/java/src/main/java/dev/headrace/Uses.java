package dev.headrace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Objects that a call uses: each is acquired once, and all are released at the end. */
final class Uses implements AutoCloseable {
  private final List<Handle> handles = new ArrayList<>();

  /** Returns the pointer of an object; 0 if it is null. */
  long of(Resource resource) {
    if (resource == null) return 0;
    long out = resource instanceof Tensor tensor ? tensor.use() : resource.handle.acquire();
    handles.add(resource.handle);
    return out;
  }

  long[] of(Collection<? extends Resource> resources) {
    return resources.stream().mapToLong(this::of).toArray();
  }

  @Override
  public void close() {
    handles.forEach(Handle::release);
    handles.clear();
  }
}
