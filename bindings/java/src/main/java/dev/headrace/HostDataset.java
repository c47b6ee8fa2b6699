package dev.headrace;

import java.util.ArrayList;
import java.util.List;

/** A {@link DatasetSource} as the library calls it. */
record HostDataset(DatasetSource source) implements Callbacks.hr_dataset_callbacks_next,
    Callbacks.hr_dataset_callbacks_seek, Registry.Released {
  @Override
  public void hr_dataset_callbacks_next(long examples, long count, long out, long end) throws Throwable {
    try (Filling batch = new Filling(examples, Native.longs(out, count))) {
      if (!source.next(batch)) {
        Native.view(end, 4).putInt(0, 1);
        return;
      }
      batch.give(out);
    }
  }

  @Override
  public void hr_dataset_callbacks_seek(long epoch, long example) throws Throwable {
    source.seek(epoch, example);
  }

  @Override
  public void released() throws Exception {
    source.released();
  }

  /** The program sees other handles of the library's tensors, so that it may keep them. */
  private static final class Filling implements DatasetSource.Batch, AutoCloseable {
    private final long examples;
    private final long[] given;
    private final long[] own;
    private final List<Tensor> shown = new ArrayList<>();

    Filling(long examples, long[] given) {
      this.examples = examples;
      this.given = given;
      own = new long[given.length];
      for (long one : given) shown.add(one == 0 ? null : new Tensor(share(one)));
    }

    private static long share(long tensor) {
      try (Scratch s = Scratch.open()) {
        long out = s.out();
        Failures.check(Raw.hr_tensor_share(tensor, out));
        return s.get(out);
      }
    }

    @Override
    public long examples() {
      return examples;
    }

    @Override
    public Tensor tensor(int field) {
      return shown.get(field);
    }

    @Override
    public void set(int field, Tensor tensor) {
      long pointer = tensor.use();
      try {
        long shared = share(pointer);
        Raw.hr_tensor_release(own[field]);
        own[field] = shared;
      } finally {
        tensor.handle.release();
      }
    }

    /** Puts the program's tensors into the array of the library. */
    void give(long out) {
      for (int i = 0; i < own.length; ++i) {
        if (own[i] == 0) continue;
        Raw.hr_tensor_release(given[i]);
        Native.view(out + 8L * i, 8).putLong(0, own[i]);
        own[i] = 0;
      }
    }

    @Override
    public void close() {
      for (long one : own) Raw.hr_tensor_release(one);
      for (Tensor one : shown) {
        if (one != null) one.close();
      }
    }
  }
}
