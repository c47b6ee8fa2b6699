package dev.headrace;

/**
 * A small key-value store through which the ranks of a group find each other and agree. Thread-safe.
 */
public final class Store extends Resource {
  /** Opens "tcp:HOST:PORT", "file:FOLDER" or "memory:". */
  public Store(Env env, String url) {
    super(env.child("store", Raw::hr_store_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_store_open(self, s.text(url), out)));
  }

  /** Opens a store with options. */
  public Store(Env env, String url, StoreOptions options) {
    super(env.child("store", Raw::hr_store_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_store_open_with(self, s.text(url), options.in(s), out)));
  }

  /** Makes a store of the program's functions. */
  public Store(HostStore functions) {
    super(new Handle("store", create(functions), Raw::hr_store_release, null));
  }

  private static long create(HostStore functions) {
    long context = Registry.add(new Adapter(functions));
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Structs.hr_store_callbacks callbacks = new Structs.hr_store_callbacks(s);
      callbacks.context(context);
      callbacks.use_get();
      callbacks.use_compare_and_swap();
      callbacks.use_remove();
      callbacks.use_release();
      Failures.check(Raw.hr_store_from_callbacks(callbacks.address, out));
      return s.get(out);
    } catch (Throwable e) {
      Registry.remove(context);
      throw e;
    }
  }

  private record Adapter(HostStore store) implements Callbacks.hr_store_callbacks_get,
      Callbacks.hr_store_callbacks_compare_and_swap, Callbacks.hr_store_callbacks_remove,
      Registry.Released {
    @Override
    public void hr_store_callbacks_get(long key, long value, long capacity, long size) throws Exception {
      byte[] found = store.get(Native.text(key));
      Native.view(size, 8).putLong(0, found == null ? -1 : found.length);
      if (found != null && capacity > 0) {
        Bridge.write(value, found, 0, Math.min(capacity, found.length));
      }
    }

    @Override
    public void hr_store_callbacks_compare_and_swap(long key, long expected, long expectedSize,
        long desired, long desiredSize, long swapped) throws Exception {
      byte[] old = expected == 0 ? null : bytes(expected, expectedSize);
      boolean set = store.compareAndSwap(Native.text(key), old, bytes(desired, desiredSize));
      Native.view(swapped, 4).putInt(0, Graph.flag(set));
    }

    @Override
    public void hr_store_callbacks_remove(long key) throws Exception {
      store.remove(Native.text(key));
    }

    @Override
    public void released() throws Exception {
      store.released();
    }

    private static byte[] bytes(long address, long size) {
      byte[] out = new byte[Math.toIntExact(size)];
      if (size > 0) Bridge.read(address, out, 0, size);
      return out;
    }
  }

  /** Returns the URL with which other processes open the store; "" if they cannot. */
  public String url() {
    return describe(Raw::hr_store_url);
  }
}
