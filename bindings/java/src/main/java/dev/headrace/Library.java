package dev.headrace;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds and opens libheadrace, once for a process: in the folder that the system property
 * {@code headrace.library.path} names; else the one in the jar; else where the system's loader
 * looks.
 */
final class Library {
  static final String PATH_PROPERTY = "headrace.library.path";
  private static final String NAME = "libheadrace.so";
  private static final String ABI = ".0";

  private static volatile boolean loaded;
  private static String location;

  private Library() {}

  /** Opens the library if that has not happened. Every call of the interface comes by here. */
  static void load() {
    if (!loaded) loadNow();
  }

  /** Returns the path of the library. */
  static synchronized String location() {
    load();
    return location;
  }

  private static synchronized void loadNow() {
    if (loaded) return;
    Natives natives = Natives.ofThisJar();
    loadBridge(natives);
    List<String> failures = new ArrayList<>();
    for (String candidate : candidates(natives)) {
      String failure = open(candidate);
      if (failure == null) {
        location = candidate;
        loaded = true;
        return;
      }
      failures.add(failure);
    }
    throw new HeadraceException.Unavailable(
        "libheadrace cannot be opened: " + String.join("; ", failures) + ". Use a jar with natives"
            + " for this machine, or set the system property " + PATH_PROPERTY
            + " to the folder of libheadrace.so");
  }

  private static void loadBridge(Natives natives) {
    try {
      System.load(natives.extract("libheadrace_jni.so").toString());
    } catch (IOException | UnsatisfiedLinkError e) {
      throw new HeadraceException.Unavailable(
          "the natives of the jar cannot be loaded: " + e.getMessage(), e);
    }
  }

  private static List<String> candidates(Natives natives) {
    String folder = System.getProperty(PATH_PROPERTY);
    if (folder != null) return List.of(inFolder(Path.of(folder)));
    List<String> out = new ArrayList<>();
    if (natives.has(NAME + ABI)) {
      try {
        natives.extractAll();
        out.add(natives.extract(NAME + ABI).toString());
      } catch (IOException e) {
        throw new HeadraceException.Unavailable("the natives of the jar cannot be extracted: " + e.getMessage(), e);
      }
    }
    out.add(NAME + ABI);
    return out;
  }

  private static String inFolder(Path folder) {
    Path versioned = folder.resolve(NAME + ABI);
    return (Files.exists(versioned) ? versioned : folder.resolve(NAME)).toAbsolutePath().toString();
  }

  /** Returns null, or why the library cannot be used. */
  private static String open(String path) {
    byte[] bytes = Native.utf8(path);
    long address = Bridge.allocate(bytes.length);
    try {
      Bridge.write(address, bytes, 0, bytes.length);
      byte[] failure = Bridge.open(address);
      if (failure != null) return text(failure);
      String wrong = wrongVersion(path, Bridge.version(address));
      if (wrong != null) return wrong;
      byte[] missing = Bridge.missing(address);
      return missing == null ? null
          : path + " is older than this binding: it lacks " + text(missing);
    } finally {
      Bridge.free(address);
    }
  }

  /** A library may be newer within a major version, which is the number's ten thousands. */
  static String wrongVersion(String path, int version) {
    int wanted = Constants.HR_API_VERSION;
    if (version < 0) return path + " is no libheadrace";
    if (version / 10000 == wanted / 10000 && version >= wanted) return null;
    return path + " has version " + version + " of the interface, and this binding needs " + wanted
        + " or a newer one of the same major version";
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
