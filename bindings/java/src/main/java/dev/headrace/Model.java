package dev.headrace;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** A loaded and verified graph. Immutable and thread-safe. */
public final class Model extends Resource {
  Model(Handle handle) {
    super(handle);
  }

  /** Maps a .hrg file and verifies its structure, without reading the weights. */
  public static Model load(Env env, String path) {
    return load(env, path, new LoadOptions());
  }

  /** Loads a .hrg file. */
  public static Model load(Env env, String path, LoadOptions options) {
    return new Model(env.child("model", Raw::hr_model_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_model_load(self, s.text(path), options.in(s), out)));
  }

  /**
   * Loads a .hrg file from what remains of a direct buffer, in place. The contents must not change
   * any more; the buffer is kept as long as anything uses them.
   */
  public static Model load(Env env, Buffer file, LoadOptions options) {
    Memory memory = Memory.of(file);
    return loaded(env, memory.owner(), (self, s, context, out) -> Raw.hr_model_load_memory(self,
        memory.address(), memory.bytes(), Bridge.function(Callbacks.RELEASE), context, options.in(s),
        out));
  }

  /** Loads a copy of a .hrg file. */
  public static Model load(Env env, byte[] file, LoadOptions options) {
    return load(env, ByteBuffer.allocateDirect(file.length).put(file).flip(), options);
  }

  /** Loads a .hrg file that the program reads. */
  public static Model load(Env env, ModelReader reader, LoadOptions options) {
    return loaded(env, new Reading(reader), (self, s, context, out) -> {
      Structs.hr_reader struct = new Structs.hr_reader(s);
      struct.context(context);
      struct.total_bytes(size(reader));
      struct.use_read();
      struct.use_release();
      return Raw.hr_model_load_callback(self, struct.address, options.in(s), out);
    });
  }

  private static long size(ModelReader reader) {
    try {
      return reader.size();
    } catch (Exception e) {
      throw new HeadraceException.Unavailable("the model's size is unknown: " + e, e);
    }
  }

  private record Reading(ModelReader reader) implements Callbacks.hr_reader_read {
    @Override
    public void hr_reader_read(long offset, long out, long bytes) throws Exception {
      for (long done = 0; done < bytes; done += Integer.MAX_VALUE) {
        long part = Math.min(bytes - done, Integer.MAX_VALUE);
        reader.read(offset + done, Native.view(out + done, part));
      }
    }
  }

  private interface Loading {
    long load(long self, Scratch s, long context, long out);
  }

  /** Loads with an object that the library refers to, and forgets that if the load fails. */
  private static Model loaded(Env env, Object object, Loading body) {
    long context = Registry.add(object);
    try {
      return new Model(env.child("model", Raw::hr_model_release, Limits.NONE,
          (self, s, l, out) -> body.load(self, s, context, out)));
    } catch (Throwable e) {
      Registry.remove(context);
      throw e;
    }
  }

  /** Makes a graph that goes on from the model, with all that the model has. */
  public Graph toGraph() {
    return new Graph(child("graph", Raw::hr_graph_release, Limits.NONE,
        (self, s, l, out) -> Raw.hr_graph_from_model(self, out)));
  }

  /**
   * Converts a model of another format, such as an ".onnx" file, to a .hrg file. Weights become
   * variables, or constants if {@code constants} says so. Returns a report as JSON.
   */
  public static String convert(Env env, String from, String to, boolean constants, Limits limits) {
    return convert(env, from, to, constants, false, limits);
  }

  /**
   * The same; if {@code simplify} says so, constants are computed, and copies and what no output
   * needs go.
   */
  public static String convert(Env env, String from, String to, boolean constants,
      boolean simplify, Limits limits) {
    return Native.take(env.get(limits, (self, s, l, out) -> {
      Structs.hr_convert_options options = new Structs.hr_convert_options(s);
      options.constants(Graph.flag(constants));
      options.simplify(Graph.flag(simplify));
      return Raw.hr_model_convert(self, s.text(from), s.text(to), options.address, l, out);
    }));
  }

  /**
   * Writes a signature of a .hrg file (null: "infer", or the only one) as a model of another format,
   * such as an ".onnx" file, with its tensors in a file beside it if {@code externalData} says so.
   * Returns a report as JSON.
   */
  public static String export(Env env, String from, String to, String signature,
      boolean externalData, Limits limits) {
    return Native.take(env.get(limits, (self, s, l, out) -> {
      Structs.hr_export_options options = new Structs.hr_export_options(s);
      options.external_data(Graph.flag(externalData));
      options.signature(s.text(signature));
      return Raw.hr_model_export(self, s.text(from), s.text(to), options.address, l, out);
    }));
  }

  /** Describes signatures, variables, graphs, operators and metadata as JSON. */
  public String describe() {
    return describe(Raw::hr_model_describe);
  }

  /** Writes the whole main graph as "json" or as "dot", for Graphviz. */
  public String view(String format) {
    return describe((self, out) -> {
      try (Scratch s = Scratch.open()) {
        return Raw.hr_model_graph_text(self, s.text(format), out);
      }
    });
  }

  /**
   * Writes a graph as "json" or as "dot": what a signature needs of the main graph (null: all of it),
   * or another graph by its number in {@link #describe()}.
   */
  public String view(String format, String signature, int graph) {
    return describe((self, out) -> {
      try (Scratch s = Scratch.open()) {
        Structs.hr_graph_view view = new Structs.hr_graph_view(s);
        view.signature(s.text(signature));
        view.graph(graph);
        return Raw.hr_model_view(self, s.text(format), view.address, out);
      }
    });
  }
}
