package dev.headrace;

/** The library itself, and what needs no object of it. */
public final class Headrace {
  private Headrace() {}

  /** Returns the library's version and what the build contains, such as "0.1.0 +onednn". */
  public static String version() {
    Library.load();
    return Native.text(Raw.hr_version_text());
  }

  /** Returns the version of the library's interface: 10000 * major + 100 * minor. */
  public static int apiVersion() {
    Library.load();
    return Raw.hr_api_version();
  }

  /** Returns the path from which the library was loaded. */
  public static String libraryPath() {
    return Library.location();
  }

  /** Returns the name that the library has for a code, such as "INVALID_ARGUMENT". */
  public static String nameOf(ErrorCode code) {
    Library.load();
    return Native.text(Raw.hr_code_name(code.number()));
  }

  /** Describes the parts of a .hrg file as JSON: format version, sizes, segments, checksums. */
  public static String describeFile(String path) {
    return describe(path, Raw::hr_model_file_describe);
  }

  /** Verifies a checkpoint, or all checkpoints of a folder, and describes them as JSON. */
  public static String describeCheckpoint(String path) {
    return describe(path, Raw::hr_checkpoint_describe);
  }

  /** Lists the tensors of a .safetensors or .npz file as JSON. */
  public static String describeWeights(String path) {
    return describe(path, Raw::hr_weights_describe);
  }

  /**
   * Describes the last operations of a group of another process as JSON, from its .flight file
   * ({@link GroupOptions#dumpFolder}).
   */
  public static String readDump(String path) {
    return describe(path, Raw::hr_dump_read);
  }

  private static String describe(String path, Describer of) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(of.describe(s.text(path), out));
      return Native.take(s.get(out));
    }
  }

  /** A function of C that writes a hr_text. */
  @FunctionalInterface
  interface Describer {
    long describe(long of, long out);
  }
}
