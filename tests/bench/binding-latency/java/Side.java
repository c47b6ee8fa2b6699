import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The Java side of the benchmark. Usage: Side ENGINE */
public final class Side {
  private static final double SECONDS = 0.2;
  private static final double WARM_UP_SECONDS = 3; // a virtual machine takes long

  private final Engine engine;
  private final FloatBuffer y;
  private final int count;

  private Side(String which, String name) throws Exception {
    String folder = System.getenv("HEADRACE_BENCH_SCRATCH");
    int threads = Integer.parseInt(System.getenv("HEADRACE_BENCH_THREADS"));
    y = Engine.output(name);
    engine = which.equals("headrace")
        ? new OfHeadrace(folder, name, y, threads) : new OfOnnxRuntime(folder, name, y, threads);
    double spent = 0;
    double each = time(1);
    while (spent < WARM_UP_SECONDS) {
      int some = (int) Math.max(1, 0.1 / each);
      each = time(some);
      spent += some * each;
    }
    count = (int) Math.max(1, SECONDS / each);
  }

  /** How many seconds one of {@code count} runs takes. */
  private double time(int count) throws Exception {
    long begin = System.nanoTime();
    for (int i = 0; i < count; ++i) engine.run();
    return 1e-9 * (System.nanoTime() - begin) / count;
  }

  private String measure(int repeats) throws Exception {
    List<Double> values = new ArrayList<>();
    for (int i = 0; i < repeats; ++i) values.add(1e6 * time(count));
    List<Float> result = new ArrayList<>();
    for (int i = 0; i < y.capacity(); ++i) result.add(y.get(i));
    return "{\"values\": " + values + ", \"version\": \"" + engine.version() + "\", \"result\": "
        + result + "}";
  }

  /** Answers lines "CASE REPEATS" until the input ends. */
  public static void main(String[] arguments) throws Exception {
    Map<String, Side> sides = new HashMap<>();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      if (!sides.containsKey(words[0])) sides.put(words[0], new Side(arguments[0], words[0]));
      System.out.println(sides.get(words[0]).measure(Integer.parseInt(words[1])));
    }
  }
}
