package dev.headrace;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A source of batches, each with a tensor for every named field. Used by one thread at a time: a
 * second one gets {@link HeadraceException.FailedPrecondition}. An epoch gives every example once; a
 * pass has as many epochs as the options say.
 */
public final class Dataset extends Resource {
  /**
   * Opens a data set of files, such as
   * "idx:fashion-mnist/train?batch=64&amp;shuffle=1&amp;seed=7".
   */
  public Dataset(Env env, String uri) {
    this(env.child("data set", Raw::hr_dataset_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_dataset_open(self, s.text(uri), out)));
  }

  private Dataset(Handle handle) {
    super(handle);
  }

  /** Makes a data set of tensors, in place: their first dimension counts the examples. */
  public static Dataset of(Env env, Map<String, Tensor> fields, DatasetOptions options) {
    List<String> names = new ArrayList<>(fields.keySet());
    try (Uses uses = new Uses()) {
      long[] tensors = uses.of(fields.values());
      return new Dataset(env.child("data set", Raw::hr_dataset_release, Limits.NONE,
          (self, s, l, out) -> Raw.hr_dataset_from_tensors(self, names.size(), s.texts(names),
              s.longs(tensors), options.in(s), out)));
    }
  }

  /** Makes a data set of the program's own. */
  public static Dataset of(Env env, DatasetSource source, List<DatasetSource.Field> fields,
      DatasetOptions options) {
    long context = Registry.add(new HostDataset(source));
    try {
      return new Dataset(env.child("data set", Raw::hr_dataset_release, Limits.NONE,
          (self, s, l, out) -> Raw.hr_dataset_from_callbacks(self, callbacks(source, context, s),
              fields.size(), fields(fields, s), options.in(s), out)));
    } catch (Throwable e) {
      Registry.remove(context);
      throw e;
    }
  }

  private static long callbacks(DatasetSource source, long context, Scratch s) {
    Structs.hr_dataset_callbacks out = new Structs.hr_dataset_callbacks(s);
    out.context(context);
    out.examples(source.examples());
    out.use_next();
    out.use_release();
    if (source.canSeek()) out.use_seek();
    return out.address;
  }

  private static long fields(List<DatasetSource.Field> fields, Scratch s) {
    long out = s.bytes((long) Structs.hr_dataset_field.BYTES * fields.size());
    for (int i = 0; i < fields.size(); ++i) {
      DatasetSource.Field from = fields.get(i);
      Structs.hr_dataset_field to =
          new Structs.hr_dataset_field(out + (long) i * Structs.hr_dataset_field.BYTES);
      to.struct_size(Structs.hr_dataset_field.BYTES);
      to.name(s.text(from.name()));
      to.dtype(from.dtype().number());
      to.rank(from.dims().length);
      to.dims(s.longs(from.dims()));
    }
    return out;
  }

  /** A function of C that makes a data set of this one through a signature of a session. */
  @FunctionalInterface
  private interface Through {
    long make(long self, long session, long signature, long limits, long out);
  }

  private Dataset through(Session session, String signature, Limits limits, Through function) {
    try (Uses uses = new Uses()) {
      long by = uses.of(session);
      return new Dataset(child("data set", Raw::hr_dataset_release, limits,
          (self, s, l, out) -> function.make(self, by, s.text(signature), l, out)));
    }
  }

  /**
   * Makes a data set of what a signature makes of the examples of this one. Its inputs are fields;
   * the new data set has its outputs, and the fields that are no inputs.
   */
  public Dataset map(Session session, String signature, Limits limits) {
    return through(session, signature, limits, Raw::hr_dataset_map);
  }

  /** Makes a data set of the examples for which a signature gives true. Reads all of them once. */
  public Dataset filter(Session session, String signature, Limits limits) {
    return through(session, signature, limits, Raw::hr_dataset_filter);
  }

  /**
   * Reads all examples once and makes a data set of what it has kept: in memory, or in the file
   * {@code path}, which later processes use, too. {@code key} says what the examples depend on
   * beside files. Any of the three may be null: {@code options} means drawn as this one is, then.
   */
  public Dataset cache(String path, String key, DatasetOptions options, Limits limits) {
    return new Dataset(child("data set", Raw::hr_dataset_release, limits, (self, s, l, out) -> {
      Structs.hr_cache_options struct = new Structs.hr_cache_options(s);
      struct.path(s.text(path));
      struct.key(s.text(key));
      struct.options(options == null ? 0 : options.in(s));
      return Raw.hr_dataset_cache(self, struct.address, l, out);
    }));
  }

  /** Returns whether the pass is over; waits for the next batch if that tells. */
  public boolean isDone() {
    return isDone(Limits.NONE);
  }

  /** Returns whether the pass is over; false, too, if the limits end the wait: the next read fails. */
  public boolean isDone(Limits limits) {
    boolean[] out = new boolean[1];
    check(limits, (self, s, l) -> {
      out[0] = Raw.hr_dataset_done(self, l) != 0;
      return 0;
    });
    return out[0];
  }

  /** Returns the number of batches in an epoch; -1 if it is unknown. */
  public long batches() {
    return with((self, s) -> Raw.hr_dataset_batches(self));
  }

  /** Begins another pass. */
  public void rewind() {
    rewind(Limits.NONE);
  }

  /** Begins another pass, waiting for a batch that is being read. */
  public void rewind(Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_dataset_rewind(self, l));
  }

  /** Returns the names of the fields. */
  public List<String> fields() {
    return with((self, s) -> {
      List<String> out = new ArrayList<>();
      long count = Raw.hr_dataset_field_count(self);
      for (long i = 0; i < count; ++i) out.add(Native.text(Raw.hr_dataset_field_name(self, i)));
      return out;
    });
  }

  /** Reads the next batch. {@link HeadraceException.OutOfRange}: the pass is over. */
  public Map<String, Tensor> next() {
    return next(Limits.NONE);
  }

  /** Reads the next batch, waiting for it within the limits. The caller closes the tensors. */
  public Map<String, Tensor> next(Limits limits) {
    List<String> names = fields();
    Map<String, Tensor> batch = new LinkedHashMap<>();
    check(limits, (self, s, l) -> {
      long out = s.bytes(8L * names.size());
      long status = Raw.hr_dataset_next(self, l, out);
      if (status != 0) return status;
      long[] tensors = Native.longs(out, names.size());
      for (int i = 0; i < tensors.length; ++i) batch.put(names.get(i), new Tensor(tensors[i]));
      return status;
    });
    return batch;
  }

  /** Renames a field, so that it is fed to the input of that name. */
  public void rename(String field, String name) {
    check((self, s) -> Raw.hr_dataset_rename(self, s.text(field), s.text(name)));
  }

  /** Describes fields, batches and position as JSON. */
  public String describe() {
    return describe(Raw::hr_dataset_describe);
  }

  /** Returns the position as JSON. */
  public String position() {
    return describe(Raw::hr_dataset_position);
  }

  /** Goes to a position that {@link #position} has returned. */
  public void seek(String position, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_dataset_seek(self, s.text(position), l));
  }

  /** Goes on, from the present position, as shard {@code index} of {@code count}. */
  public void reshard(long index, long count, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_dataset_reshard(self, index, count, l));
  }
}
