import dev.headrace.Call;
import dev.headrace.Dataset;
import dev.headrace.Env;
import dev.headrace.EnvOptions;
import dev.headrace.Group;
import dev.headrace.HeadraceException;
import dev.headrace.Model;
import dev.headrace.ReduceOp;
import dev.headrace.Session;
import dev.headrace.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/** A rank in Java: ../README.md says what it does. Usage: Rank MODEL DATA STEPS */
public final class Rank {
  private Rank() {}

  private static List<Tensor> values(Session session) {
    List<Tensor> out = new ArrayList<>();
    for (String name : session.variables()) out.add(session.variable(name));
    return out;
  }

  /**
   * Binds the gradients of all variables, one after the other, and the loss as the last number:
   * "gradients" writes to these numbers, and "apply" reads them.
   */
  private static FloatBuffer bind(Session session, Call compute, Call apply) {
    List<Tensor> values = values(session);
    long count = values.stream().mapToLong(Tensor::elements).sum() + 1;
    FloatBuffer numbers = ByteBuffer.allocateDirect(Math.toIntExact(4 * count))
        .order(ByteOrder.nativeOrder()).asFloatBuffer();
    int at = 0;
    for (int i = 0; i < values.size(); ++i) {
      String name = session.variables().get(i);
      int elements = (int) values.get(i).elements();
      FloatBuffer part = numbers.slice(at, elements);
      compute.output(name, part);
      try (Tensor value = values.get(i); Tensor average = Tensor.wrap(part, value.dims())) {
        apply.bind(name, average);
      }
      at += elements;
    }
    compute.output("loss", numbers.slice(at, 1));
    return numbers;
  }

  private static void bindShard(Env env, Group group, String data, Call compute) {
    String uri = data + "?batch=16&shuffle=1&seed=5&repeat=forever&shard=" + group.rank() + "/"
        + group.size();
    try (Dataset shard = new Dataset(env, uri)) {
      compute.bindDataset(shard);
    }
  }

  private static void train(Env env, Group group, String[] arguments) {
    try (Model model = Model.load(env, arguments[0]); Session session = new Session(model);
        Call compute = session.call("gradients"); Call apply = session.call("apply")) {
      FloatBuffer numbers = bind(session, compute, apply);
      bindShard(env, group, arguments[1], compute);
      int last = numbers.capacity() - 1;
      try (Tensor all = Tensor.wrap(numbers, numbers.capacity())) {
        for (long step = 0, steps = Long.parseLong(arguments[2]); step < steps; ++step) {
          compute.run();
          group.allReduce(all, all, ReduceOp.AVERAGE);
          apply.run();
          System.out.printf("loss: %08x%n", Float.floatToRawIntBits(numbers.get(last)));
        }
      }
      printWeights(session);
    }
  }

  /** Prints the checksum of all variables. */
  private static void printWeights(Session session) {
    CRC32 crc = new CRC32();
    for (Tensor value : values(session)) crc.update(value.buffer());
    System.out.printf("weights: %08x%n", crc.getValue());
  }

  /** Runs the rank. */
  public static void main(String[] arguments) {
    if (arguments.length != 3) {
      System.err.println("usage: Rank MODEL DATA STEPS");
      System.exit(2);
    }
    try (Env env = new Env(new EnvOptions().threads(1)); Group group = Group.create(env)) {
      train(env, group, arguments);
    } catch (HeadraceException e) {
      System.out.println("failure: " + e.code() + " " + e.getMessage());
      System.exit(1);
    }
  }
}
