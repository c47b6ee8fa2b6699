package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.headrace.Operator.AttributeKind;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OperatorTest {
  /** y = scale * x * x, with everything that an operator can have, and faults on request. */
  private static final class Square extends Operator {
    RuntimeException inInfer;
    Throwable inCompute;
    RuntimeException inGradient;
    Runnable duringCompute = () -> {};
    OperatorContext.Kernel kept;
    boolean released;

    Square() {
      super("com.example.Square");
      version(2);
      inputs(1, 2);
      outputs(1, 1);
      attribute("scale", AttributeKind.FLOAT, false);
      attribute("label", AttributeKind.STRING, false);
      attribute("count", AttributeKind.INT, false);
      attribute("ints", AttributeKind.INTS, false);
      attribute("floats", AttributeKind.FLOATS, false);
    }

    @Override
    protected void infer(OperatorContext.Types op) {
      if (inInfer != null) throw inInfer;
      OperatorContext.Type x = op.input(0);
      if (x.dtype() != DType.FLOAT32) throw new IllegalArgumentException("Square takes float32");
      if (x.dims() == null) op.output(0, x.dtype(), (long[]) null);
      else if (op.inputCount() == 1) op.outputLike(0, 0);
      else op.output(0, x.dtype(), x.dims());
    }

    @Override
    protected void compute(OperatorContext.Kernel op) throws Exception {
      kept = op;
      duringCompute.run();
      if (inCompute instanceof Error e) throw e;
      if (inCompute != null) throw (Exception) inCompute;
      assertEquals("β\uD83D\uDE80", op.attribute("label", "β\uD83D\uDE80"));
      assertEquals(3, op.attribute("count", 3));
      assertEquals(1, op.outputCount());
      assertArrayEquals(new long[] {1, 2}, op.ints("ints"));
      assertArrayEquals(new double[] {0.5}, op.floats("floats"));
      assertNull(op.input(1));
      assertNull(op.input(9));
      float scale = (float) op.attribute("scale", 1.0);
      FloatBuffer x = op.input(0).floats();
      FloatBuffer y = op.output(0).floats();
      assertTrue(x.isReadOnly());
      op.parallelFor(x.capacity(), i -> y.put(i, scale * x.get(i) * x.get(i)));
    }

    @Override
    protected boolean hasGradient() {
      return true;
    }

    @Override
    protected void gradient(OperatorContext.Gradient op) {
      if (inGradient != null) throw inGradient;
      if (!op.wants(0)) return;
      OperatorContext.GradientValue two = op.scalar(2 * op.attribute("scale", 1.0), op.input(0));
      OperatorContext.GradientValue slope = op.add("Mul", null, two, op.input(0));
      assertNull(op.input(7));
      op.output(0);
      op.set(0, op.add("Mul", null, op.outputGradient(0), slope));
    }

    @Override
    protected void released() {
      released = true;
    }
  }

  private final Square square = new Square();
  private Env env;
  private Model model;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(1));
    env.addOperator(square);
    model = build();
  }

  private Model build() {
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, -1);
      Graph.Value y = graph.node("com.example.Square").name("square").attribute("scale", 3.0)
          .attribute("ints", new long[] {1, 2}).attribute("floats", new double[] {0.5}).input(x).done();
      graph.nameValue(y, "y");
      graph.nameValue(graph.gradients(y, List.of(x)).get(0), "dx");
      return graph.toModel();
    }
  }

  @AfterEach
  void close() {
    model.close();
    env.close();
  }

  private float[] run(String fetch) {
    try (Session session = new Session(model); Tensor x = Tensor.copyOf(env, new float[] {1, 2}, 2);
        Outputs out = session.run(Map.of("x", x), List.of(fetch))) {
      return out.get(fetch).toFloats();
    }
  }

  @Test
  void computesAndHasAGradient() throws Exception {
    assertArrayEquals(new float[] {3, 12}, run("y"));
    assertArrayEquals(new float[] {6, 12}, run("dx"));
    model.close();
    env.close();
    Small.await(() -> square.released);
  }

  @Test
  void seesTheMemoryOfTheProgram() {
    FloatBuffer in = Small.floats(1, 2);
    FloatBuffer out = Small.floats(0, 0);
    long[] seen = new long[2];
    square.duringCompute = () -> {
      seen[0] = Bridge.address(square.kept.input(0).data());
      seen[1] = Bridge.address(square.kept.output(0).data());
    };
    try (Session session = new Session(model);
        Call call = session.call(List.of("x"), List.of("y"), List.of())) {
      call.bind("x", Tensor.wrap(in, 2));
      call.output("y", out);
      call.run();
      assertArrayEquals(new long[] {Bridge.address(in), Bridge.address(out)}, seen);
      assertEquals(12, out.get(1));
    }
  }

  @Test
  void cannotBeUsedAfterTheCall() {
    run("y");
    assertThrows(HeadraceException.FailedPrecondition.class, () -> square.kept.input(0));
    assertThrows(HeadraceException.FailedPrecondition.class, () -> square.kept.inputCount());
  }

  @Test
  void cannotBeUsedByAnotherThread() {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    square.duringCompute = () -> {
      Thread other = new Thread(() -> {
        try {
          square.kept.input(0);
        } catch (Throwable e) {
          thrown.set(e);
        }
      });
      other.start();
      try {
        other.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    };
    run("y");
    assertInstanceOf(HeadraceException.FailedPrecondition.class, thrown.get());
  }

  @Test
  void whatComputeThrowsIsTheCause() {
    for (Throwable one : new Throwable[] {new java.io.IOException("disk \uD83D\uDE80"),
        new AssertionError("no"), new StackOverflowError(), new ThreadDeathLike()}) {
      square.inCompute = one;
      HeadraceException e = assertThrows(HeadraceException.class, () -> run("y"));
      assertSame(one, e.getCause());
      assertEquals("square", e.node());
      assertEquals(ErrorCode.UNKNOWN, e.code());
      assertTrue(e.toString().contains("square"), e.toString());
    }
    square.inCompute = new HeadraceException.DataLoss("the table is damaged");
    HeadraceException e = assertThrows(HeadraceException.DataLoss.class, () -> run("y"));
    assertTrue(e.getMessage().contains("the table is damaged"));
    square.inCompute = null;
    run("y");
  }

  private static final class ThreadDeathLike extends Error {
    private static final long serialVersionUID = 1;
  }

  @Test
  void realRecursionWithoutEndIsAnError() {
    square.duringCompute = new Runnable() {
      @Override
      public void run() {
        run();
      }
    };
    HeadraceException e = assertThrows(HeadraceException.class, () -> run("y"));
    assertInstanceOf(StackOverflowError.class, e.getCause());
  }

  @Test
  void whatATaskThrowsIsTheCause() {
    Operator tasks = new Operator("com.example.Tasks") {
      @Override
      protected void infer(OperatorContext.Types op) {
        op.outputLike(0, 0);
      }

      @Override
      protected void compute(OperatorContext.Kernel op) {
        op.parallelFor(100, i -> {
          if (i == 57) throw new IllegalStateException("task 57");
        });
      }
    };
    try (Env own = new Env(new EnvOptions().threads(2))) {
      own.addOperator(tasks);
      try (Graph graph = new Graph(own)) {
        Graph.Value x = graph.input("x", DType.FLOAT32, 1);
        graph.nameValue(graph.op("com.example.Tasks", x), "y");
        try (Model made = graph.toModel(); Session session = new Session(made);
            Tensor in = Tensor.copyOf(own, new float[] {1}, 1)) {
          HeadraceException e = assertThrows(HeadraceException.FailedPrecondition.class,
              () -> session.run(Map.of("x", in), List.of("y")));
          assertEquals("task 57", e.getCause().getMessage());
        }
      }
    }
  }

  @Test
  void whatTypeRulesAndGradientsThrowIsTheCause() {
    square.inInfer = new IllegalArgumentException("no such shape");
    HeadraceException e = assertThrows(HeadraceException.InvalidArgument.class, this::build);
    assertSame(square.inInfer, e.getCause());
    square.inInfer = null;
    square.inGradient = new UnsupportedOperationException("not differentiable");
    e = assertThrows(HeadraceException.Unimplemented.class, this::build);
    assertSame(square.inGradient, e.getCause());
  }

  @Test
  void comesBackThroughFutures() throws Exception {
    square.inCompute = new java.io.IOException("disk");
    try (Session session = new Session(model); Tensor x = Tensor.copyOf(env, new float[] {1, 2}, 2)) {
      Throwable thrown = assertThrows(java.util.concurrent.ExecutionException.class,
          () -> session.runAsync(Map.of("x", x), List.of("y")).get()).getCause();
      assertSame(square.inCompute, thrown.getCause());
    }
  }

  @Test
  void mayCallTheLibraryButNotItsOwnCall() {
    try (Session session = new Session(model); Call call = session.call(List.of("x"), List.of("y"),
        List.of()); Tensor x = Tensor.copyOf(env, new float[] {1, 2}, 2)) {
      call.bind("x", x);
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      square.duringCompute = () -> {
        try {
          call.run();
        } catch (Throwable e) {
          thrown.set(e);
        }
        try (Env free = new Env(); Model of = Small.doubler(free); Model own = Small.doubler(env)) {
          for (Model other : List.of(of, own)) {
            try (Session nested = new Session(other);
                Outputs out = nested.run(Map.of("x", x), List.of("y"))) {
              assertEquals(4, out.get("y").toFloats()[1]);
            }
          }
        }
      };
      call.run();
      assertInstanceOf(HeadraceException.FailedPrecondition.class, thrown.get());
      assertArrayEquals(new float[] {3, 12}, call.result("y").toFloats());
    }
  }

  @Test
  void mayCloseWhatRunsIt() {
    Session session = new Session(model);
    Call call = session.call(List.of("x"), List.of("y"), List.of());
    call.bind("x", Tensor.copyOf(env, new float[] {1, 2}, 2));
    square.duringCompute = () -> {
      call.close();
      session.close();
      model.close();
      env.close();
    };
    call.run();
    assertThrows(HeadraceException.FailedPrecondition.class, call::run);
  }

  @Test
  void aThreadMayDieInAnOperator() throws Exception {
    CountDownLatch dead = new CountDownLatch(1);
    square.inCompute = new Error("the thread dies");
    Thread thread = new Thread(() -> run("y"));
    thread.setUncaughtExceptionHandler((t, e) -> dead.countDown());
    thread.start();
    dead.await();
    thread.join();
    square.inCompute = null;
    assertArrayEquals(new float[] {3, 12}, run("y"));
  }

  @Test
  void mustBeAddedInTime() {
    int before = Small.registered();
    assertThrows(HeadraceException.FailedPrecondition.class, () -> env.addOperator(new Square()));
    try (Env own = new Env()) {
      assertThrows(HeadraceException.InvalidArgument.class, () -> own.addOperator(new Operator("") {
        @Override
        protected void infer(OperatorContext.Types op) {}

        @Override
        protected void compute(OperatorContext.Kernel op) {}
      }));
    }
    // What a test before has left may be collected meanwhile.
    assertTrue(Small.registered() <= before);
  }
}
