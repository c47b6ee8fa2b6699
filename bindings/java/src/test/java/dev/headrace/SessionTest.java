package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class SessionTest {
  private Env env;
  private Model model;
  private Session session;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(2));
    model = Small.doubler(env);
    session = new Session(model, new SessionOptions().seed(1).maxPlans(4).maxSizes(4)
        .disableFusion(true).checkMemory(true).exactSums(true));
  }

  @AfterEach
  void close() {
    session.close();
    model.close();
    env.close();
  }

  private Tensor tensor(float... values) {
    return Tensor.copyOf(env, values, values.length);
  }

  /** A session whose run takes as long as its "waiter" wants; x is doubled. */
  private static Session slow(Env env, Waiter waiter) {
    env.addOperator(waiter);
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, 1);
      Graph.Value y = x;
      for (int i = 0; i < 400; ++i) y = graph.op("com.example.Wait", y);
      graph.signatureInput("infer", "x", x);
      graph.signatureOutput("infer", "y", y);
      try (Model slow = graph.toModel()) {
        return new Session(slow);
      }
    }
  }

  /** Copies, and takes 50 ms each time if it shall be slow. */
  private static final class Waiter extends Operator {
    volatile boolean slow = true;
    final CountDownLatch started = new CountDownLatch(1);

    Waiter() {
      super("com.example.Wait");
    }

    @Override
    protected void infer(OperatorContext.Types op) {
      op.outputLike(0, 0);
    }

    @Override
    protected void compute(OperatorContext.Kernel op) {
      started.countDown();
      long end = System.nanoTime() + 50_000_000;
      while (slow && System.nanoTime() < end) Thread.onSpinWait();
      op.output(0).data().put(op.input(0).data());
    }
  }

  @Test
  void runsFeedsAndFetches() {
    try (Tensor x = tensor(1, 2); Outputs out = session.run(Map.of("x", x), List.of("y", "x"))) {
      assertArrayEquals(new float[] {2, 4}, out.get("y").toFloats());
      assertEquals(List.of("y", "x"), new ArrayList<>(out.keySet()));
    }
    HeadraceException e = assertThrows(HeadraceException.class,
        () -> session.run(Map.of(), List.of("none")));
    assertTrue(e.getMessage().contains("none"), e.getMessage());
    assertTrue(session.describe().contains("plans"));
    session.trim();
  }

  @Test
  void preparedRunsSeeTheirMemory() {
    FloatBuffer memory = Small.floats(1, 2);
    try (Call call = session.call("infer")) {
      call.bind("x", Tensor.wrap(memory, 2));
      assertEquals(new Call.OutputType(DType.FLOAT32, List.of(2L)), call.outputType("y"));
      call.run();
      Tensor taken = call.takeResult("y");
      memory.put(0, 5);
      call.run(Limits.timeout(Duration.ofSeconds(5)));
      assertArrayEquals(new float[] {10, 4}, call.result("y").toFloats());
      assertArrayEquals(new float[] {2, 4}, taken.toFloats());
      assertTrue(call.describe().contains("steps"));
      assertTrue(call.profile(Limits.NONE).contains("nanoseconds"));
      assertArrayEquals(new float[] {10, 4}, call.result("y").toFloats());
      call.bind("x", (Tensor) null);
      HeadraceException e = assertThrows(HeadraceException.InvalidArgument.class, call::run);
      assertEquals(ErrorCode.INVALID_ARGUMENT, e.code());
    }
  }

  @Test
  void wrongTypesAndShapesAreErrors() {
    try (Call call = session.call("infer")) {
      Tensor longs = Tensor.copyOf(env, new long[] {1}, 1);
      assertThrows(HeadraceException.InvalidArgument.class, () -> {
        call.bind("x", longs);
        call.run();
      });
      assertThrows(HeadraceException.class, () -> call.bind("z", longs));
      call.bind("x", tensor(1, 2));
      call.output("y", Small.floats(0));
      assertThrows(HeadraceException.InvalidArgument.class, call::run);
      call.output("y", null);
      call.run();
      assertThrows(HeadraceException.class, () -> session.call("none"));
    }
  }

  @Test
  void futuresHaveTheResults() {
    try (Tensor x = tensor(3)) {
      assertArrayEquals(new float[] {6},
          session.runAsync(Map.of("x", x), List.of("y")).thenApply(out -> out.get("y").toFloats())
              .join());
      CompletionException e = assertThrows(CompletionException.class,
          () -> session.runAsync(Map.of(), List.of("y")).join());
      assertInstanceOf(HeadraceException.InvalidArgument.class, e.getCause());
    }
  }

  @Test
  void manyFuturesAtOnce() {
    List<CompletableFuture<Float>> all = new ArrayList<>();
    for (int i = 0; i < 200; ++i) {
      Tensor x = tensor(i);
      all.add(session.runAsync(Map.of("x", x), List.of("y")).thenApply(out -> {
        try (out) {
          return out.get("y").toFloats()[0];
        }
      }));
      x.close();
    }
    for (int i = 0; i < 200; ++i) assertEquals(2f * i, all.get(i).join());
  }

  @Test
  void aDependentMayWaitForAnotherRun() throws Exception {
    try (Tensor x = tensor(1)) {
      session.runAsync(Map.of("x", x), List.of("y"))
          .thenRun(() -> session.runAsync(Map.of("x", x), List.of("y")).join()).get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void runsInTheBackgroundOwnTheirCall() throws Exception {
    Waiter waiter = new Waiter();
    try (Env own = new Env(new EnvOptions().threads(1)); Session slow = slow(own, waiter);
        Call call = slow.call("infer"); Tensor x = Tensor.copyOf(own, new float[] {7}, 1);
        CompletionQueue queue = new CompletionQueue(own)) {
      call.bind("x", x);
      try (Run run = call.start(Limits.NONE)) {
        waiter.started.await();
        assertFalse(run.isDone());
        assertThrows(HeadraceException.FailedPrecondition.class, call::run);
        assertThrows(HeadraceException.DeadlineExceeded.class,
            () -> run.await(Limits.timeout(Duration.ofMillis(10))));
        assertNull(queue.poll());
        run.enqueue(queue, 42);
        AtomicReference<HeadraceException> told = new AtomicReference<>();
        CountDownLatch done = new CountDownLatch(1);
        run.onDone(failure -> {
          told.set(failure);
          done.countDown();
        });
        waiter.slow = false;
        run.await();
        assertTrue(run.isDone());
        assertEquals(new CompletionQueue.Completion(42, null), queue.take());
        assertTrue(queue.descriptor() > 0);
        done.await();
        assertNull(told.get());
        run.future().join();
        assertArrayEquals(new float[] {7}, call.result("y").toFloats());
      }
    }
  }

  @Test
  void cancellingEndsARun() throws Exception {
    Waiter waiter = new Waiter();
    try (Env own = new Env(new EnvOptions().threads(1)); Session slow = slow(own, waiter);
        Call call = slow.call("infer")) {
      CancelToken token = new CancelToken();
      call.bind("x", Tensor.copyOf(own, new float[] {7}, 1));
      Run run = call.start(Limits.cancelledBy(token));
      waiter.started.await();
      token.cancel();
      assertThrows(HeadraceException.Cancelled.class, run::await);
      CompletionException e = assertThrows(CompletionException.class, () -> run.future().join());
      assertInstanceOf(HeadraceException.Cancelled.class, e.getCause());
      CompletableFuture<Void> future = call.runAsync();
      assertTrue(future.cancel(true));
      assertTrue(future.isCancelled());
      assertThrows(HeadraceException.DeadlineExceeded.class, () -> {
        Small.await(() -> {
          try {
            call.bind("x", Tensor.copyOf(own, new float[] {7}, 1));
            return true;
          } catch (HeadraceException.FailedPrecondition busy) {
            return false;
          }
        });
        call.run(Limits.timeout(Duration.ofMillis(60)));
      });
      token.close();
      assertThrows(HeadraceException.FailedPrecondition.class,
          () -> call.run(Limits.cancelledBy(token)));
      waiter.slow = false;
      call.run();
    }
  }

  @Test
  void anInterruptEndsARunAndTheSessionStillWorks() throws Exception {
    Waiter waiter = new Waiter();
    try (Env own = new Env(new EnvOptions().threads(1)); Session slow = slow(own, waiter);
        Call call = slow.call("infer")) {
      call.bind("x", Tensor.copyOf(own, new float[] {7}, 1));
      Small.assertInterruptEnds(() -> {
        call.run();
        return null;
      });
      waiter.slow = false;
      call.run();
      assertArrayEquals(new float[] {7}, call.result("y").toFloats());
    }
  }

  @Test
  void closingDuringRunsIsSafe() throws Exception {
    for (int round = 0; round < 20; ++round) {
      Session shared = new Session(model);
      Tensor x = tensor(1);
      ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
      CountDownLatch running = new CountDownLatch(2);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 2; ++i) {
        Thread thread = new Thread(() -> {
          try (Call call = shared.call("infer")) {
            call.bind("x", x);
            running.countDown();
            for (;;) call.run();
          } catch (HeadraceException.FailedPrecondition expected) {
            // the session is closed
          } catch (Throwable e) {
            wrong.add(e);
          }
        });
        thread.start();
        threads.add(thread);
      }
      running.await();
      shared.close();
      x.close();
      for (Thread one : threads) one.join();
      assertTrue(wrong.isEmpty(), wrong.toString());
    }
  }

  @Test
  void closingTheCallDuringItsRunIsSafe() throws Exception {
    Waiter waiter = new Waiter();
    try (Env own = new Env(new EnvOptions().threads(1)); Session slow = slow(own, waiter)) {
      Call call = slow.call("infer");
      call.bind("x", Tensor.copyOf(own, new float[] {7}, 1));
      Thread thread = new Thread(call::run);
      thread.start();
      waiter.started.await();
      call.close();
      waiter.slow = false;
      thread.join();
      assertThrows(HeadraceException.FailedPrecondition.class, call::run);
    }
  }

  @Test
  void memoryIsKeptWhileARunUsesIt() throws Exception {
    Waiter waiter = new Waiter();
    try (Env own = new Env(new EnvOptions().threads(1)); Session slow = slow(own, waiter)) {
      CompletableFuture<Void> future;
      try (Call call = slow.call("infer"); Tensor x = Tensor.wrap(Small.floats(7), 1)) {
        call.bind("x", x);
        call.output("y", Small.floats(0));
        future = call.runAsync();
        waiter.started.await();
      }
      for (int i = 0; i < 5; ++i) System.gc();
      waiter.slow = false;
      future.join();
    }
  }

  @Test
  void everythingMayBeClosedInAnyOrder() {
    Env own = new Env();
    Model made = Small.doubler(own);
    own.close();
    own.close();
    assertThrows(HeadraceException.FailedPrecondition.class, own::describe);
    assertThrows(HeadraceException.FailedPrecondition.class, () -> new Graph(own));
    Session left = new Session(made);
    made.close();
    Call call = left.call("infer");
    Tensor x = Tensor.wrap(Small.floats(1), 1);
    call.bind("x", x);
    x.close();
    call.runAsync().join();
    left.close();
    assertThrows(HeadraceException.FailedPrecondition.class, call::run);
    assertThrows(HeadraceException.FailedPrecondition.class, () -> left.call("infer"));
    Tensor y = call.result("y");
    call.close();
    call.close();
    assertArrayEquals(new float[] {2}, y.toFloats());
  }

  @Test
  void aThreadThatDiesLeavesNothingBroken() throws Exception {
    Tensor x = tensor(1);
    Call[] left = new Call[1];
    Thread thread = new Thread(() -> {
      left[0] = session.call("infer");
      left[0].bind("x", x);
      left[0].run();
      throw new IllegalStateException("dies");
    });
    thread.setUncaughtExceptionHandler((t, e) -> {});
    thread.start();
    thread.join();
    left[0].run();
    assertArrayEquals(new float[] {2}, left[0].result("y").toFloats());
  }

  @Test
  void trainsSavesAndRestores(@TempDir Path folder) {
    try (Model trainable = Small.trainable(env); Session first = new Session(trainable);
        Call step = first.call("train")) {
      step.bind("x", Tensor.copyOf(env, new float[] {1, 2, 3, 4}, 2, 2));
      step.bind("t", Tensor.copyOf(env, new float[] {1, 2}, 2, 1));
      step.bind("rate", 0.01);
      for (int i = 0; i < 3; ++i) step.run();
      assertEquals(3, first.step());
      first.save(folder.resolve("c").toString(), new CheckpointOptions().keep(2), Limits.NONE);
      assertTrue(Headrace.describeCheckpoint(folder.resolve("c").toString()).contains("step"));
      String file = folder.resolve("serve.hrg").toString();
      first.export(file, List.of("infer"));
      try (Session second = new Session(trainable, new SessionOptions().seed(9))) {
        assertTrue(second.restore(folder.resolve("c").toString()).contains("\"step\""));
        assertEquals(3, second.step());
        assertArrayEquals(first.variable("fc/weight").toFloats(),
            second.variable("fc/weight").toFloats());
        assertThrows(HeadraceException.class,
            () -> second.setVariable("fc/weight", tensor(1)));
        assertThrows(HeadraceException.NotFound.class, () -> second.variable("none"));
        assertThrows(HeadraceException.NotFound.class,
            () -> second.restore(folder.resolve("none").toString()));
      }
      try (Model serve = Model.load(env, file); Session serving = new Session(serve);
          Call infer = serving.call("infer")) {
        infer.bind("x", Tensor.copyOf(env, new float[] {1, 2}, 1, 2));
        infer.run();
        assertEquals(1, infer.result("y").elements());
      }
    }
  }
}
