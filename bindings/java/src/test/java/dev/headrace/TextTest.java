package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Texts are UTF-8 in C; what JNI calls UTF-8 is not, beyond the BMP and for NUL. */
class TextTest {
  private static final String WIDE = "γράφος-\uD83D\uDE80-\u0800";

  @Test
  void goesThroughUnchanged(@TempDir Path folder) {
    try (Env env = new Env(); Graph graph = new Graph(env)) {
      Graph.Value x = graph.input(WIDE, DType.FLOAT32, 1);
      assertEquals(WIDE, graph.info(x).name());
      assertEquals(x, graph.findValue(WIDE));
      graph.signatureOutput("infer", "y", graph.op("Relu", x));
      String path = folder.resolve(WIDE + ".hrg").toString();
      graph.save(path);
      Model.load(env, path).close();
      HeadraceException e = assertThrows(HeadraceException.NotFound.class,
          () -> Model.load(env, folder.resolve(WIDE + "-none").toString()));
      assertTrue(e.getMessage().contains(WIDE), e.getMessage());
    }
  }

  @Test
  void nulAndHalfPairsAreErrors() {
    try (Env env = new Env(); Graph graph = new Graph(env)) {
      HeadraceException e = assertThrows(HeadraceException.InvalidArgument.class,
          () -> graph.input("a\0b", DType.FLOAT32, 1));
      assertTrue(e.getMessage().contains("index 1"), e.getMessage());
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> graph.input("half \uD83D", DType.FLOAT32, 1));
      assertThrows(HeadraceException.InvalidArgument.class, () -> Model.load(env, "a\0b"));
      assertThrows(NullPointerException.class, () -> Native.utf8(null));
      assertThrows(HeadraceException.InvalidArgument.class, () -> graph.findValue(null));
    }
  }

  @Test
  void longTextsFit() {
    try (Env env = new Env(); Graph graph = new Graph(env)) {
      String name = "n".repeat(100_000);
      assertEquals(name, graph.info(graph.input(name, DType.FLOAT32, 1)).name());
    }
  }
}
