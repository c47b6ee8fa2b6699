import dev.headrace.Call;
import dev.headrace.DType;
import dev.headrace.Env;
import dev.headrace.EnvOptions;
import dev.headrace.Graph;
import dev.headrace.Session;
import dev.headrace.SessionOptions;
import dev.headrace.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The Java side of the benchmark: answers lines "CASE REPEATS" with nanoseconds of a run. */
public final class Side {
  private static final double SECONDS = 0.2;

  private Side() {}

  private static int number(String variable, int fallback) {
    String text = System.getenv(variable);
    return text == null ? fallback : Integer.parseInt(text);
  }

  private static FloatBuffer direct(float... values) {
    return ByteBuffer.allocateDirect(4 * values.length).order(ByteOrder.nativeOrder())
        .asFloatBuffer().put(values).flip();
  }

  /** y = x + x on four floats, bound. Fusion is off, as in C. */
  private static Call add() {
    Env env = new Env(new EnvOptions().threads(number("HEADRACE_BENCH_THREADS", 2)));
    Graph graph = new Graph(env);
    Graph.Value x = graph.input("x", DType.FLOAT32, 4);
    graph.signatureInput("infer", "x", x);
    graph.signatureOutput("infer", "y", graph.op("Add", x, x));
    Session session = new Session(graph.toModel(), new SessionOptions().disableFusion(true));
    Call call = session.call("infer");
    FloatBuffer y = direct(0, 0, 0, 0);
    call.bind("x", Tensor.wrap(direct(1, 2, 3, 4), 4));
    call.output("y", y);
    call.run();
    if (y.get(3) != 8) throw new IllegalStateException("the sum is wrong: " + y.get(3));
    return call;
  }

  /** How many nanoseconds one of {@code count} runs takes. */
  private static double time(Call call, int count) {
    long begin = System.nanoTime();
    for (int i = 0; i < count; ++i) call.run();
    return (double) (System.nanoTime() - begin) / count;
  }

  /** How many runs take about 0.2 s; warms up on the way, which takes a virtual machine longer. */
  private static int runs(Call call) {
    for (int i = 0; i < 20; ++i) time(call, 10_000);
    int fixed = number("HEADRACE_BENCH_CALLS", 0);
    return fixed > 0 ? fixed : (int) (1e9 * SECONDS / time(call, 100_000));
  }

  /** Serves until the input ends. */
  public static void main(String[] arguments) throws IOException {
    Call call = add();
    int count = runs(call);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      List<Double> values = new ArrayList<>();
      for (int left = Integer.parseInt(line.split(" ")[1]); left > 0; --left) {
        values.add(time(call, count));
      }
      System.out.println("{\"values\": " + values + ", \"calls\": " + count + "}");
    }
  }
}
