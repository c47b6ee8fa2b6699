package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SmokeTest {
  @Test
  void runsAGraph() {
    try (Env env = new Env(new EnvOptions().threads(1)); Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, -1);
      Graph.Value y = graph.op("Add", x, x);
      graph.nameValue(y, "y");
      graph.signatureInput("infer", "x", x);
      graph.signatureOutput("infer", "y", y);
      try (Model model = graph.toModel(); Session session = new Session(model);
          Tensor in = Tensor.copyOf(env, new float[] {1, 2}, 2);
          Outputs out = session.run(Map.of("x", in), List.of("y"))) {
        assertArrayEquals(new float[] {2, 4}, out.get("y").toFloats());
      }
    }
    System.out.println(Headrace.version() + " " + Headrace.libraryPath());
  }
}
