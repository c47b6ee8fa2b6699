package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Objects that are opened, used and closed, or left to the collector, leave no memory behind. The
 * system property headrace.leaks sets another number of sessions.
 */
@Timeout(600)
class LeakTest {
  private static final int SESSIONS = Integer.getInteger("headrace.leaks", 20_000);
  /** What malloc may keep for itself. */
  private static final long SLACK_MIB = 8;

  /** What is resident, as which all of the heap counts (AlwaysPreTouch), and what is used of the heap. */
  private static long usedMib() throws IOException {
    Runtime heap = Runtime.getRuntime();
    return residentMib() + (heap.totalMemory() - heap.freeMemory()) / (1 << 20);
  }

  private static long residentMib() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("\\D", "")) / 1024;
    }
    throw new IOException("the system does not tell the resident memory");
  }

  private interface Round {
    void run(int number) throws Exception;
  }

  /** Runs {@code count} rounds and compares the memory after half of them with that at the end. */
  private static void flat(String what, int count, Round round) throws Exception {
    int objects = 0;
    long early = 0;
    for (int i = 0; i < count; ++i) {
      if (i % Math.max(1, count / 20) == 0) System.gc();
      if (i == count / 2) {
        early = settled();
        objects = Small.registered();
      }
      round.run(i);
    }
    int before = objects;
    Small.collectUntil(() -> Small.registered() <= before);
    long late = settled();
    System.out.println(what + ": " + early + " MiB after half of " + count + ", " + late + " MiB at the end");
    assertTrue(late - early <= SLACK_MIB, what + ": " + early + " MiB, then " + late);
  }

  private static long settled() throws Exception {
    for (int i = 0; i < 3; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    return usedMib();
  }

  private static void use(Env env, Model model, boolean close) {
    Session session = new Session(model);
    Call call = session.call("infer");
    Tensor x = Tensor.wrap(Small.floats(1, 2), 2);
    call.bind("x", x);
    call.run();
    Tensor y = call.result("y");
    y.buffer();
    if (!close) return;
    y.close();
    x.close();
    call.close();
    session.close();
  }

  @Test
  void sessionsThatAreClosed() throws Exception {
    try (Env env = new Env(new EnvOptions().threads(1)); Model model = Small.doubler(env)) {
      flat("sessions closed", SESSIONS, i -> use(env, model, true));
    }
  }

  @Test
  void sessionsThatAreLeftToTheCollector() throws Exception {
    try (Env env = new Env(new EnvOptions().threads(1)); Model model = Small.doubler(env)) {
      flat("sessions collected", SESSIONS, i -> use(env, model, false));
    }
  }

  @Test
  void envs() throws Exception {
    flat("envs", SESSIONS / 20, i -> {
      try (Env env = new Env(new EnvOptions().threads(2).log((level, text) -> {}));
          Model model = Small.doubler(env); Session session = new Session(model);
          Call call = session.call("infer"); Tensor x = Tensor.wrap(Small.floats(1), 1)) {
        call.bind("x", x);
        call.runAsync().join();
      }
    });
  }

  @Test
  void failuresAndCallbacks() throws Exception {
    try (Env env = new Env(new EnvOptions().threads(1)); Model model = Small.doubler(env);
        Session session = new Session(model)) {
      flat("failures", SESSIONS, i -> {
        try (Dataset data = Dataset.of(env, batch -> {
          throw new IOException("none");
        }, java.util.List.of(new DatasetSource.Field("x", DType.FLOAT32, 4)), new DatasetOptions());
            Call call = session.call("infer")) {
          call.bindDataset(data);
          call.run();
        } catch (HeadraceException expected) {
          // each is dropped
        }
      });
    }
  }
}
