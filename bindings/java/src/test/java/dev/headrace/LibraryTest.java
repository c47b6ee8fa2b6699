package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Finding the library: each case is a process of its own. */
class LibraryTest {
  @TempDir
  Path folder;

  /** What such a process runs: the library's path and version, or what went wrong. */
  public static final class Program {
    private Program() {}

    /** Tries twice, because the second attempt must say the same. */
    public static void main(String[] arguments) {
      for (int i = 0; i < 2; ++i) {
        try {
          new Env().close();
          System.out.println("opened " + Headrace.libraryPath());
        } catch (HeadraceException e) {
          System.out.println(e);
        }
      }
    }
  }

  /** What another process runs: it ends while an operator of it, and a log of it, are running. */
  public static final class Ending {
    private Ending() {}

    /** Ends the virtual machine from an operator, on a thread of the library. */
    public static void main(String[] arguments) throws Exception {
      Env env = new Env(new EnvOptions().threads(2));
      env.addOperator(new Operator("com.example.Exit") {
        @Override
        protected void infer(OperatorContext.Types op) {
          op.outputLike(0, 0);
        }

        @Override
        protected void compute(OperatorContext.Kernel op) throws Exception {
          if (arguments[0].equals("inside")) System.exit(0);
          System.out.println("ends");
          Thread.sleep(60_000);
        }
      });
      try (Graph graph = new Graph(env)) {
        Graph.Value x = graph.input("x", DType.FLOAT32, 1);
        graph.nameValue(graph.op("com.example.Exit", x), "y");
        Session session = new Session(graph.toModel());
        session.runAsync(java.util.Map.of("x", Tensor.copyOf(env, new float[1], 1)), List.of("y"));
        if (arguments[0].equals("inside")) Thread.sleep(60_000);
        Thread.sleep(300);
      }
    }
  }

  @Test
  void aProgramMayEndWhileItRuns() throws Exception {
    for (String where : List.of("inside", "outside")) {
      long start = System.nanoTime();
      Process process = new ProcessBuilder(
          Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xcheck:jni", "-cp",
          System.getProperty("java.class.path"), Ending.class.getName(), where)
          .redirectErrorStream(true).redirectOutput(folder.resolve("errors").toFile()).start();
      assertEquals(0, process.waitFor(), this::errors);
      assertTrue(System.nanoTime() - start < 30_000_000_000L, where);
    }
  }

  /** Returns the two lines that the program prints. */
  private String program(String... properties) throws Exception {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xcheck:jni", "-cp",
        System.getProperty("java.class.path")));
    for (String one : properties) command.add("-D" + one);
    command.add(Program.class.getName());
    Process process = new ProcessBuilder(command)
        .redirectError(folder.resolve("errors").toFile()).start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), () -> out + errors());
    String[] lines = out.split("\n");
    assertEquals(2, lines.length, out);
    assertEquals(lines[0], lines[1]);
    return lines[0];
  }

  private String errors() {
    try {
      return Files.readString(folder.resolve("errors"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Makes a libheadrace.so of a text in C. */
  private Path library(String source) throws Exception {
    Path out = Files.createDirectory(folder.resolve("library"));
    Files.writeString(out.resolve("a.c"), source);
    int status = new ProcessBuilder("cc", "-shared", "-fPIC", "-o",
        out.resolve("libheadrace.so").toString(), out.resolve("a.c").toString()).inheritIO().start()
        .waitFor();
    assertEquals(0, status);
    return out;
  }

  private static void assertContains(String part, String whole) {
    assertTrue(whole.contains(part), whole);
  }

  @Test
  void comesFromTheJar() throws Exception {
    String line = program(Natives.EXTRACT_PROPERTY + "=" + folder);
    assertContains("opened " + folder, line);
    try (Stream<Path> files = Files.walk(folder)) {
      assertTrue(files.noneMatch(one -> one.toString().endsWith(".part")));
    }
    assertContains("opened " + folder, program(Natives.EXTRACT_PROPERTY + "=" + folder));
  }

  @Test
  void comesFromAFolder() throws Exception {
    String prefix = System.getProperty("headrace.prefix");
    if (prefix == null) return;
    assertContains("opened " + prefix + "/lib", program(
        Library.PATH_PROPERTY + "=" + prefix + "/lib", Natives.EXTRACT_PROPERTY + "=" + folder));
  }

  @Test
  void aMissingLibraryIsAnError() throws Exception {
    String line = program(Library.PATH_PROPERTY + "=" + folder);
    assertContains("HeadraceException$Unavailable", line);
    assertContains(folder + "/libheadrace.so", line);
  }

  @Test
  void anOlderLibraryIsAnError() throws Exception {
    Path older = library("unsigned hr_api_version(void) { return 99; }");
    String line = program(Library.PATH_PROPERTY + "=" + older);
    assertContains("has version 99 of the interface, and this binding needs 100", line);
  }

  @Test
  void aLibraryWithoutAFunctionIsAnError() throws Exception {
    Path older = library("unsigned hr_api_version(void) { return 100; }");
    assertContains("is older than this binding: it lacks hr_version_text",
        program(Library.PATH_PROPERTY + "=" + older));
  }

  @Test
  void anotherMajorVersionIsAnError() throws Exception {
    Path newer = library("unsigned hr_api_version(void) { return 10000; }");
    assertContains("has version 10000", program(Library.PATH_PROPERTY + "=" + newer));
    assertNull(Library.wrongVersion("x", Constants.HR_API_VERSION + 100));
  }

  @Test
  void anotherLibraryIsAnError() throws Exception {
    Path other = library("int x;");
    assertContains("is no libheadrace", program(Library.PATH_PROPERTY + "=" + other));
  }

  @Test
  void aFolderOfOthersIsAnError() throws Exception {
    Path open = Files.createDirectory(folder.resolve("headrace-" + System.getProperty("user.name")));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertContains("must be a folder of this user alone",
        program(Natives.EXTRACT_PROPERTY + "=" + folder));
  }
}
