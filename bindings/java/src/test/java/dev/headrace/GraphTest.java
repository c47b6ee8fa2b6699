package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.headrace.Graph.Node;
import dev.headrace.Graph.Value;
import dev.headrace.Graph.Variable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GraphTest {
  private Env env;
  private Graph graph;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(1));
    graph = new Graph(env);
  }

  @AfterEach
  void close() {
    graph.close();
    env.close();
  }

  @Test
  void readsWhatItBuilt() {
    Value x = graph.input("x", DType.FLOAT32, new long[] {-1, 3}, new String[] {"batch", null});
    graph.bound("batch", 1, 8, 2, 8);
    Value c = graph.constant("c", Tensor.copyOf(env, new float[] {1, 2, 3}, 3));
    Value y = graph.op("Add", x, c);
    graph.nameValue(y, "y");
    assertEquals(new GraphInfo(3, 1, 0, 0, List.of(x)), graph.info());
    ValueInfo info = graph.info(x);
    assertEquals("x", info.name());
    assertEquals(List.of(-1L, 3L), info.dims());
    assertEquals("batch", info.symbols().get(0));
    assertNull(info.symbols().get(1));
    assertNull(info.producer());
    assertEquals("float32[batch, 3]", graph.typeOf(x));
    assertTrue(graph.info(c).isConstant());
    assertArrayEquals(new float[] {1, 2, 3}, graph.tensor(c).toFloats());
    assertNull(graph.tensor(y));
    NodeInfo node = graph.info(graph.info(y).producer());
    assertEquals("Add", node.op());
    assertEquals(List.of(x, c), node.inputs());
    assertEquals(List.of(y), node.outputs());
    assertEquals(y, graph.findValue("y"));
    assertEquals(y, graph.value(y.id()));
    assertThrows(HeadraceException.NotFound.class, () -> graph.findValue("z"));
    assertThrows(HeadraceException.NotFound.class, () -> graph.bound("z", 0, 1));
  }

  @Test
  void keepsAttributesOfEachKind() {
    Value x = graph.input("x", DType.FLOAT32, 1, 1, 4, 4);
    try (NodeBuilder pool = graph.node("MaxPool")) {
      NodeBuilder.Added added = pool.name("pool").input(x).attribute("kernel_shape", new long[] {2, 2})
          .attribute("auto_pad", "SAME_UPPER").attribute("ceil_mode", 0).device("CPU:0").add(1);
      NodeInfo info = graph.info(added.node());
      assertEquals("pool", info.name());
      assertArrayEquals(new long[] {2, 2}, (long[]) info.attributes().get("kernel_shape"));
      assertEquals("SAME_UPPER", info.attributes().get("auto_pad"));
      assertEquals(0L, graph.attributes(added.node()).get("ceil_mode"));
      assertEquals("CPU:0", info.device());
      assertEquals(added.node(), graph.findNode("pool"));
      Value y = graph.node("Elu").input(added.outputs().get(0)).after(added.node())
          .attribute("alpha", 0.5).done();
      NodeInfo elu = graph.info(graph.info(y).producer());
      assertEquals(0.5, elu.attributes().get("alpha"));
      assertEquals(List.of(added.node()), elu.controls());
    }
    Value constant = graph.node("Constant")
        .attribute("value", Tensor.copyOf(env, new long[] {7}, 1)).done();
    Object tensor = graph.attributes(graph.info(constant).producer()).get("value");
    assertArrayEquals(new long[] {7}, ((Tensor) tensor).toLongs());
    Value floats = graph.node("Constant").attribute("value_floats", new double[] {1, 2}).done();
    assertArrayEquals(new double[] {1, 2},
        (double[]) graph.attributes(graph.info(floats).producer()).get("value_floats"));
    assertThrows(HeadraceException.class,
        () -> graph.node("Constant").attribute("value_strings", List.of("a", "b")).done());
  }

  @Test
  void runsVariablesAndAssignments() {
    Variable count = graph.variable("count", Tensor.copyOf(env, new float[] {1}, 1), false);
    Variable noise = graph.variable("noise", DType.FLOAT32, new long[] {2}, true, "RandomUniform",
        "low=1 high=2");
    assertFalse(graph.info(count).trainable());
    graph.setTrainable(count, true);
    assertEquals(new VariableInfo("count", DType.FLOAT32, List.of(1L), true), graph.info(count));
    assertEquals(count, graph.findVariable("count"));
    assertNull(graph.tensor(noise));
    assertNotNull(graph.tensor(count));
    Value one = graph.op(1, "Constant", "value_floats=1").get(0);
    Node add = graph.assignAdd(count, one);
    Value after = graph.read(count);
    graph.signatureOutput("step", "count", after);
    graph.signatureTarget("step", add);
    Node set = graph.assign(noise, graph.op("Concat", "axis=0", one, one));
    graph.signatureTarget("set", set);
    graph.setMetadata("author", "A");
    assertEquals(List.of(add), graph.signature("step").targets());
    assertEquals(Map.of("count", after), graph.signature(0).outputs());
    try (Model model = graph.toModel(); Session session = new Session(model);
        Call step = session.call("step"); Call all = session.call("set")) {
      assertEquals(List.of("count", "noise"), session.variables());
      step.run();
      step.run();
      assertArrayEquals(new float[] {3}, step.result("count").toFloats());
      assertTrue(session.variable("noise").toFloats()[0] >= 1);
      all.run();
      assertArrayEquals(new float[] {1, 1}, session.variable("noise").toFloats());
      session.setVariable("count", Tensor.copyOf(env, new float[] {9}, 1));
      assertArrayEquals(new float[] {9}, session.variable("count").toFloats());
      assertEquals(3, session.step());
      assertTrue(model.describe().contains("author"));
    }
  }

  @Test
  void hasGradients() {
    Value x = graph.input("x", DType.FLOAT32, 2);
    Value other = graph.input("other", DType.FLOAT32, 2);
    Value y = graph.op("Mul", x, x);
    List<Value> gradients = graph.gradients(y, List.of(x, other));
    assertNull(gradients.get(1));
    graph.nameValue(gradients.get(0), "dx");
    Variable w = graph.variable("w", Tensor.copyOf(env, new float[] {3}, 1), true);
    Variable unused = graph.variable("unused", Tensor.copyOf(env, new float[] {3}, 1), true);
    Value read = graph.read(w);
    Value loss = graph.op("ReduceSum", "keepdims=0", graph.op("Mul", read, read));
    List<Value> dw = graph.variableGradients(loss, List.of(w, unused));
    assertNull(dw.get(1));
    Value rate = graph.op(1, "Constant", "value_float=0.5").get(0);
    graph.applyGradients("train", "sgd", rate, List.of(w, unused), dw);
    try (Model model = graph.toModel(); Session session = new Session(model);
        Call train = session.call("train")) {
      try (Tensor in = Tensor.copyOf(env, new float[] {1, 2}, 2);
          Outputs out = session.run(Map.of("x", in), List.of("dx"))) {
        assertArrayEquals(new float[] {2, 4}, out.get("dx").toFloats());
      }
      train.run();
      assertArrayEquals(new float[] {0}, session.variable("w").toFloats());
    }
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> graph.applyGradients("t", "sgd", rate, List.of(w), List.of()));
  }

  @Test
  void hasLayers() {
    Value x = graph.input("x", DType.FLOAT32, 1, 2, 4, 4);
    Value conv = graph.conv2d("conv", x, 3, 3, "strides=1,1");
    Graph.BatchNorm norm = graph.batchNorm("norm", conv, true, null);
    assertNotNull(norm.update());
    assertNull(graph.batchNorm("norm", conv, false, null).update());
    Value y = graph.dense("fc", norm.out(), 5);
    graph.signatureInput("infer", "x", x);
    graph.signatureOutput("infer", "y", y);
    graph.prune();
    assertEquals("float32[1, 5]", graph.typeOf(graph.signature("infer").outputs().get("y")));
    graph.removeSignature("infer");
    assertEquals(0, graph.info().signatures());
    List<Value> parts =
        graph.op(2, "Split", "num_outputs=2", graph.input("z", DType.FLOAT32, 4));
    assertEquals("float32[2]", graph.typeOf(parts.get(1)));
  }

  @Test
  void isSavedAndGoesOn(@TempDir Path folder) throws Exception {
    Value x = graph.input("x", DType.FLOAT32, 2);
    Value y = graph.op("Relu", x);
    graph.nameValue(y, "y");
    graph.signatureInput("infer", "x", x);
    graph.signatureOutput("infer", "y", y);
    String path = folder.resolve("m.hrg").toString();
    graph.save(path);
    graph.save(folder.resolve("n.hrg").toString(), new SaveOptions().stripNames(true));
    assertTrue(Headrace.describeFile(path).contains("\"format\""));
    try (Model model = Model.load(env, path, new LoadOptions().verifyChecksums(true));
        Graph more = model.toGraph()) {
      assertEquals("Relu", more.info(more.info(more.findValue("y")).producer()).op());
      assertTrue(model.view("json").contains("Relu"));
      assertTrue(model.view("dot", "infer", 0).contains("digraph"));
    }
    byte[] bytes = Files.readAllBytes(Path.of(path));
    try (Model copy = Model.load(env, bytes, new LoadOptions())) {
      assertTrue(copy.describe().contains("infer"));
    }
    bytes[9] ^= 0x55;
    assertThrows(HeadraceException.class, () -> Model.load(env, bytes, new LoadOptions()));
    assertThrows(HeadraceException.NotFound.class,
        () -> Model.load(env, folder.resolve("none").toString()));
  }

  @Test
  void refusesWhatIsWrong() {
    Value x = graph.input("x", DType.FLOAT32, 2);
    HeadraceException e = assertThrows(HeadraceException.InvalidArgument.class,
        () -> graph.op("Add", x, graph.input("i", DType.INT64, 2)));
    assertTrue(e.getMessage().contains("int64"), e.getMessage());
    assertThrows(HeadraceException.class, () -> graph.op("NoSuchOperator", x));
    assertThrows(HeadraceException.InvalidArgument.class, () -> graph.op(-1, "Relu", null, x));
    assertThrows(HeadraceException.class, () -> graph.op("Relu", (Value) null));
    try (Graph other = new Graph(env)) {
      assertThrows(HeadraceException.InvalidArgument.class, () -> other.op("Relu", x));
    }
    assertThrows(HeadraceException.InvalidArgument.class, () -> graph.info(graph.value(99)));
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> graph.input("y", DType.FLOAT32, new long[] {1}, new String[] {}));
    assertThrows(HeadraceException.NotFound.class, () -> graph.signature("none"));
    graph.close();
    assertThrows(HeadraceException.FailedPrecondition.class, () -> graph.op("Relu", x));
    assertThrows(HeadraceException.FailedPrecondition.class, graph::toModel);
  }

  @Test
  void aDeviceThatDoesNotExistIsAnError() {
    graph.device("NONE:0");
    Value x = graph.input("x", DType.FLOAT32, 2);
    graph.nameValue(graph.op("Relu", x), "y");
    graph.device(null);
    try (Model model = graph.toModel(); Tensor in = Tensor.copyOf(env, new float[2], 2)) {
      HeadraceException e = assertThrows(HeadraceException.class, () -> {
        try (Session session = new Session(model)) {
          session.run(Map.of("x", in), List.of("y"));
        }
      });
      assertTrue(e.getMessage().contains("NONE:0"), e.getMessage());
    }
  }

  @Test
  void hasSchedulesGroupsAndAverages() {
    Value x = graph.input("x", DType.FLOAT32, 1, 2);
    Value y = graph.dense("head", graph.dense("body", x, 3), 1);
    graph.nameValue(y, "y");
    graph.signatureInput("infer", "x", x);
    graph.signatureOutput("infer", "y", y);
    graph.copySignature("infer", "copy");
    Value loss = graph.op("ReduceSum", "keepdims=0", graph.op("Mul", y, y));
    graph.signatureInput("train", "x", x);
    assertEquals(2, graph.setTrainable("body/*", false));
    assertEquals(2, graph.setTrainable("body/*", true));
    assertThrows(HeadraceException.NotFound.class, () -> graph.setTrainable("none*", true));
    Variable w = graph.findVariable("head/weight");
    Graph.Clipped clipped =
        graph.clipGradients("global_norm=1", graph.variableGradients(loss, List.of(w)));
    assertEquals(1, clipped.gradients().size());
    assertEquals("float32[]", graph.typeOf(clipped.norm()));
    Value rate = graph.schedule("train", "cosine base=0.1 warmup=2 steps=10");
    graph.minimize("train", loss, List.of(
        new Graph.ParameterGroup("head/*", "sgd average=0.9", rate),
        new Graph.ParameterGroup("*", "adam", rate)));
    graph.averageSignature("infer", "smooth");
    graph.swapAverages("swap");
    graph.replace(x, graph.constant(Tensor.copyOf(env, new float[] {1, 2}, 1, 2)));
    try (Model model = graph.toModel(); Session session = new Session(model);
        Call train = session.call("train"); Call smooth = session.call("smooth")) {
      train.run();
      train.run();
      smooth.run();
      assertEquals(1, smooth.result("y").elements());
      session.call("swap").run();
    }
  }

  @Test
  void writesAndReadsOnnx(@TempDir Path folder) throws Exception {
    Value x = graph.input("x", DType.FLOAT32, 2);
    Value y = graph.op("Relu", x);
    graph.nameValue(y, "y");
    graph.signatureInput("infer", "x", x);
    graph.signatureOutput("infer", "y", y);
    graph.save(folder + "/m.hrg");
    String report =
        Model.export(env, folder + "/m.hrg", folder + "/m.onnx", null, false, Limits.NONE);
    assertTrue(report.contains("Relu"), report);
    report = Model.convert(env, folder + "/m.onnx", folder + "/n.hrg", true, Limits.NONE);
    assertTrue(report.contains("Relu"), report);
    report = Model.convert(env, folder + "/m.onnx", folder + "/n.hrg", true, true, Limits.NONE);
    assertTrue(report.contains("simplified"), report);
    Model.load(env, folder + "/n.hrg").close();
    // A TensorProto: dims 2, data_type FLOAT, name "t", raw_data.
    byte[] proto = {8, 2, 16, 1, 0x42, 1, 't', 0x4a, 8, 0, 0, (byte) 0x80, 0x3f, 0, 0, 0, 0x40};
    Files.write(folder.resolve("t.pb"), proto);
    Tensor.Named read = Tensor.load(env, folder + "/t.pb");
    assertEquals("t", read.name());
    assertArrayEquals(new float[] {1, 2}, read.tensor().toFloats());
    assertThrows(HeadraceException.class, () -> Tensor.load(env, folder + "/none.pb"));
  }

  /** A graph with the signature "f", built by the function. */
  private Graph function(java.util.function.Consumer<Graph> build) {
    Graph out = new Graph(env);
    build.accept(out);
    return out;
  }

  private static void io(Graph g, List<Value> inputs, List<Value> outputs) {
    for (int i = 0; i < inputs.size(); ++i) g.signatureInput("f", "i" + i, inputs.get(i));
    for (int i = 0; i < outputs.size(); ++i) g.signatureOutput("f", "o" + i, outputs.get(i));
  }

  @Test
  void hasControlFlow() {
    Graph.Body twice = graph.body(function(g -> {
      Value x = g.input("x", DType.FLOAT32, 2);
      io(g, List.of(x), List.of(g.op("Add", x, x)));
    }), "f");
    Graph.Body negated = graph.body(function(g -> {
      Value x = g.input("x", DType.FLOAT32, 2);
      io(g, List.of(x), List.of(g.op("Neg", x)));
    }), "f");
    Graph.Body step = graph.body(function(g -> {
      Value i = g.input("i", DType.INT64);
      Value go = g.input("go", DType.BOOL);
      Value x = g.input("x", DType.FLOAT32, 2);
      Value y = g.op("Add", x, x);
      io(g, List.of(i, go, x), List.of(g.op("Identity", go), y));
    }), "f");
    Graph.Body sum = graph.body(function(g -> {
      Value total = g.input("total", DType.FLOAT32);
      Value x = g.input("x", DType.FLOAT32);
      Value y = g.op("Add", total, x);
      io(g, List.of(total, x), List.of(y, g.op("Identity", y)));
    }), "f");
    Value x = graph.input("x", DType.FLOAT32, 2);
    Value which = graph.input("which", DType.BOOL);
    Value three = graph.op("Constant", "value_int=3");
    graph.nameValue(graph.branch(which, twice, negated, List.of(x), 1).get(0), "if");
    graph.nameValue(graph.loop(three, null, step, List.of(x), List.of(), 1).get(0), "loop");
    Value zero = graph.op("Constant", "value_float=0");
    graph.nameValue(graph.scan(sum, null, List.of(zero), List.of(x), List.of(), 2).get(1), "scan");
    graph.nameValue(graph.call(twice, List.of(x), 1).get(0), "call");
    try (Graph other = new Graph(env)) {
      assertThrows(HeadraceException.NotFound.class, () -> graph.body(other, "f"));
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> other.call(twice, List.of(), 1));
      other.inputSequence("s", DType.FLOAT32);
      assertThrows(HeadraceException.class,
          () -> other.node("SequenceMap").attribute("body", twice).done());
    }
    try (Model model = graph.toModel(); Session session = new Session(model);
        Tensor in = Tensor.copyOf(env, new float[] {1, 2}, 2);
        Tensor yes = Tensor.copyOf(env, DType.BOOL, new byte[] {1});
        Outputs out = session.run(Map.of("x", in, "which", yes), List.of("if", "loop", "scan", "call"))) {
      assertArrayEquals(new float[] {2, 4}, out.get("if").toFloats());
      assertArrayEquals(new float[] {8, 16}, out.get("loop").toFloats());
      assertArrayEquals(new float[] {1, 3}, out.get("scan").toFloats());
      assertArrayEquals(new float[] {2, 4}, out.get("call").toFloats());
    }
  }
}
