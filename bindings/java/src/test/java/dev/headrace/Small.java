package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

/** Small models and helpers that many tests use. */
final class Small {
  private Small() {}

  static FloatBuffer floats(float... values) {
    FloatBuffer out = ByteBuffer.allocateDirect(4 * values.length).order(ByteOrder.nativeOrder())
        .asFloatBuffer();
    return out.put(values).flip();
  }

  /** How many objects the library refers to, besides the one that asks for interrupts. */
  static int registered() {
    Limits.NONE.begin();
    return Registry.size();
  }

  /** y = x + x, with the signature "infer". */
  static Model doubler(Env env) {
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, new long[] {-1}, new String[] {"n"});
      Graph.Value y = graph.op("Add", x, x);
      graph.nameValue(y, "y");
      graph.signatureInput("infer", "x", x);
      graph.signatureOutput("infer", "y", y);
      return graph.toModel();
    }
  }

  /** A linear model with "train" (x, t, rate; loss), "eval" (x, t; loss) and "infer" (x; y). */
  static Model trainable(Env env) {
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, new long[] {-1, 2}, new String[] {"n", null});
      Graph.Value t = graph.input("t", DType.FLOAT32, new long[] {-1, 1}, new String[] {"n", null});
      Graph.Value rate = graph.input("rate", DType.FLOAT32);
      Graph.Value y = graph.dense("fc", x, 1);
      Graph.Value e = graph.op("Sub", y, t);
      Graph.Value loss = graph.op("ReduceMean", "keepdims=0", graph.op("Mul", e, e));
      graph.nameValue(y, "y");
      for (String name : new String[] {"train", "eval"}) {
        graph.signatureInput(name, "x", x);
        graph.signatureInput(name, "t", t);
        graph.signatureOutput(name, "loss", loss);
      }
      graph.signatureInput("train", "rate", rate);
      graph.signatureInput("infer", "x", x);
      graph.signatureOutput("infer", "y", y);
      graph.minimize("train", loss, "sgd", rate);
      return graph.toModel();
    }
  }

  /** Waits until the condition holds. */
  static void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + 20_000_000_000L;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) throw new AssertionError("it did not come true in 20 s");
      Thread.sleep(1);
    }
  }

  /** Collects garbage until the condition holds. */
  static void collectUntil(BooleanSupplier condition) throws InterruptedException {
    await(() -> {
      System.gc();
      return condition.getAsBoolean();
    });
  }

  /** What a thread that was interrupted has thrown, and after how long. */
  record Interrupted(Throwable thrown, long millis, boolean flag) {}

  /** Runs a body on a thread that is interrupted 300 ms later, while it waits. */
  static Interrupted interrupt(Callable<?> body) throws InterruptedException {
    return end(body, Thread::interrupt);
  }

  /**
   * Fails unless an interrupt ends a body with Cancelled within 0.2 s; in one of three tries, because a
   * machine may be busy.
   */
  static void assertInterruptEnds(Callable<?> body) throws InterruptedException {
    Interrupted ended = interrupt(body);
    for (int i = 0; i < 2 && ended.millis() > 200; ++i) ended = interrupt(body);
    assertInstanceOf(HeadraceException.Cancelled.class, ended.thrown());
    assertTrue(ended.flag());
    assertTrue(ended.millis() <= 200, ended.millis() + " ms");
  }

  /** Runs a body on a thread for which something is done 300 ms later, while it waits. */
  static Interrupted end(Callable<?> body, java.util.function.Consumer<Thread> how)
      throws InterruptedException {
    Throwable[] thrown = new Throwable[1];
    boolean[] flag = new boolean[1];
    Thread thread = new Thread(() -> {
      try {
        body.call();
      } catch (Throwable e) {
        thrown[0] = e;
      }
      flag[0] = Thread.currentThread().isInterrupted();
    });
    thread.start();
    Thread.sleep(300);
    long start = System.nanoTime();
    how.accept(thread);
    thread.join(20_000);
    if (thread.isAlive()) throw new AssertionError("the wait did not end");
    return new Interrupted(thrown[0], (System.nanoTime() - start) / 1_000_000, flag[0]);
  }
}
