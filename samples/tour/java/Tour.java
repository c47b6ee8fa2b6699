import dev.headrace.Call;
import dev.headrace.DType;
import dev.headrace.Dataset;
import dev.headrace.DatasetOptions;
import dev.headrace.Env;
import dev.headrace.EnvOptions;
import dev.headrace.Graph;
import dev.headrace.Graph.Value;
import dev.headrace.HeadraceException;
import dev.headrace.Model;
import dev.headrace.Session;
import dev.headrace.SessionOptions;
import dev.headrace.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The tour in Java: ../README.md says what it does. Usage: Tour MODEL OUT */
public final class Tour {
  private static final int EXAMPLES = 12;
  private static final int FEATURES = 8;
  private static final int CLASSES = 3;

  private Tour() {}

  /** Prints a line: a name, and the bits of each element. */
  private static void show(String name, float... values) {
    StringBuilder line = new StringBuilder(name).append(':');
    for (float one : values) line.append(String.format(" %08x", Float.floatToRawIntBits(one)));
    System.out.println(line);
  }

  /** The data, in memory that tensors use in place: all numbers are exact in float32. */
  private static final FloatBuffer X = direct(4 * EXAMPLES * FEATURES).asFloatBuffer();

  private static final LongBuffer LABELS = direct(8 * EXAMPLES).asLongBuffer();

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private static void makeData() {
    for (int i = 0; i < EXAMPLES; ++i) {
      LABELS.put(i, i % CLASSES);
      for (int j = 0; j < FEATURES; ++j) {
        float extra = j % CLASSES == i % CLASSES ? 1 : 0;
        X.put(i * FEATURES + j, ((i * 7 + j * 5) % 17 - 8) / 16f + extra);
      }
    }
  }

  /** Runs the signature "infer" on two examples and prints "p". */
  private static void infer(Session session, String name) {
    try (Call call = session.call("infer");
        Tensor input = Tensor.wrap(X.slice(0, 2 * FEATURES), 2, FEATURES)) {
      call.bind("x", input);
      call.run();
      try (Tensor p = call.result("p")) {
        show(name, p.toFloats());
      }
    }
  }

  /** 1. Load a file and run it. */
  private static Model load(Env env, String path, String name) {
    Model model = Model.load(env, path);
    try (Session session = new Session(model)) {
      infer(session, name);
    }
    return model;
  }

  /** 2. Go on building: a new head on the frozen features of the model. */
  private static Model extend(Model base) {
    try (Graph graph = base.toGraph()) {
      for (int i = 0; i < graph.info().variables(); ++i) graph.setTrainable(graph.variable(i), false);
      graph.removeSignature("infer");
      Value x = graph.findValue("x");
      Value features = graph.findValue("features");
      Value labels =
          graph.input("labels", DType.INT64, new long[] {-1}, new String[] {"batch"});
      Value rate = graph.input("rate", DType.FLOAT32);
      Value scores = graph.dense("head", features, CLASSES);
      Value loss = graph.op("SoftmaxCrossEntropyLoss", scores, labels);
      Value p = graph.op("Softmax", "axis=1", scores);
      graph.signatureInput("infer", "x", x);
      graph.signatureOutput("infer", "p", p);
      graph.signatureInput("train", "x", x);
      graph.signatureInput("train", "labels", labels);
      graph.signatureInput("train", "rate", rate);
      graph.signatureOutput("train", "loss", loss);
      graph.minimize("train", loss, "sgd momentum=0.9", rate);
      graph.prune();
      System.out.println("variables: " + graph.info().variables());
      return graph.toModel();
    }
  }

  private static Dataset openData(Env env) {
    try (Tensor x = Tensor.wrap(X, EXAMPLES, FEATURES); Tensor labels = Tensor.wrap(LABELS, EXAMPLES)) {
      Map<String, Tensor> fields = new LinkedHashMap<>();
      fields.put("x", x);
      fields.put("labels", labels);
      return Dataset.of(env, fields,
          new DatasetOptions().batch(4).repeat(5).shuffle(true).seed(3));
    }
  }

  /** 3. Fine-tune: the head learns from the data. */
  private static void tune(Env env, Session session) {
    FloatBuffer loss = direct(4).asFloatBuffer();
    try (Dataset data = openData(env); Call step = session.call("train")) {
      step.bindDataset(data);
      step.bind("rate", 0.125);
      step.output("loss", loss);
      while (!data.isDone()) {
        step.run();
        show("loss", loss.get(0));
      }
    }
  }

  /** 4. Save a checkpoint to go on from, and a file to serve. */
  private static void save(Session session, String checkpoints, String file) {
    session.save(checkpoints);
    session.export(file, List.of("infer"));
  }

  /** 5. Reload both. */
  private static void reload(Env env, Model model, String checkpoints, String file) {
    try (Session session = new Session(model)) {
      session.restore(checkpoints);
      System.out.println("step: " + session.step());
      infer(session, "restored");
    }
    load(env, file, "served").close();
  }

  /** 6. What goes wrong says so. */
  private static void fail(Model model) {
    try (Session session = new Session(model); Call call = session.call("infer")) {
      call.run(); // "x" is not bound
    } catch (HeadraceException e) {
      System.out.println("failure: " + e.code());
    }
  }

  /** Runs the tour. */
  public static void main(String[] arguments) {
    if (arguments.length != 2) {
      System.err.println("usage: Tour MODEL OUT");
      System.exit(2);
    }
    String checkpoints = arguments[1] + "/checkpoints";
    String file = arguments[1] + "/tuned.hrg";
    makeData();
    try (Env env = new Env(new EnvOptions().threads(1));
        Model base = load(env, arguments[0], "loaded");
        Model model = extend(base);
        Session session = new Session(model, new SessionOptions().seed(7))) {
      infer(session, "untrained");
      tune(env, session);
      infer(session, "trained");
      save(session, checkpoints, file);
      reload(env, model, checkpoints, file);
      fail(model);
    }
  }
}
