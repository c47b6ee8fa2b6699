package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class EnvTest {
  private static float[] doubled(Env env, float... values) {
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Tensor x = Tensor.copyOf(env, values, values.length);
        Outputs out = session.run(Map.of("x", x), List.of("y"))) {
      return out.get("y").toFloats();
    }
  }

  /** What the handler for uncaught exceptions gets while the body runs. */
  private static ConcurrentLinkedQueue<Throwable> uncaught(Runnable body) {
    ConcurrentLinkedQueue<Throwable> out = new ConcurrentLinkedQueue<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> out.add(e));
    try {
      Thread thread = new Thread(body); // JUnit's threads have a group that handles by itself
      thread.start();
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    return out;
  }

  /** Makes the library log: a calibration that cannot be used. */
  private static void log(Env env, Path folder) {
    try (Store store = new Store(env, "memory:");
        Group group = Group.create(env, new GroupOptions().rank(0, 1).store(store)
            .calibration(folder.resolve("no-calibration").toString()), null)) {
      group.barrier();
    }
  }

  @Test
  void logsGoToTheProgram(@TempDir Path folder) throws Exception {
    ConcurrentLinkedQueue<String> messages = new ConcurrentLinkedQueue<>();
    try (Env env = new Env(new EnvOptions().log((level, text) -> messages.add(level + text)))) {
      log(env, folder);
      Small.await(() -> messages.stream().anyMatch(one -> one.contains("no-calibration")));
      assertTrue(messages.peek().startsWith("WARNING"), messages.toString());
    }
  }

  @Test
  void whatALogThrowsIsUncaught(@TempDir Path folder) {
    ConcurrentLinkedQueue<Throwable> thrown = uncaught(() -> {
      try (Env env = new Env(new EnvOptions().log((level, text) -> {
        throw new IllegalStateException("full");
      }))) {
        log(env, folder);
      }
    });
    assertInstanceOf(IllegalStateException.class, thrown.peek());
  }

  @Test
  void clocksSetDeadlines() {
    AtomicLong now = new AtomicLong(1);
    try (Env env = new Env(new EnvOptions().clock(() -> now.addAndGet(1_000_000_000L)));
        Model model = Small.doubler(env); Session session = new Session(model);
        Tensor x = Tensor.copyOf(env, new float[] {1}, 1)) {
      assertThrows(HeadraceException.DeadlineExceeded.class, () -> session.run(
          Map.of("x", x), List.of("y"), List.of(), Limits.timeout(Duration.ofMillis(500))));
    }
  }

  @Test
  void whatAClockThrowsIsUncaught() {
    ConcurrentLinkedQueue<Throwable> thrown = uncaught(() -> {
      try (Env env = new Env(new EnvOptions().clock(() -> {
        throw new IllegalStateException("stopped");
      })); Model model = Small.doubler(env); Session session = new Session(model);
          Tensor x = Tensor.copyOf(env, new float[] {1}, 1)) {
        session.run(Map.of("x", x), List.of("y"), List.of(), Limits.timeout(Duration.ofSeconds(5)))
            .close();
      }
    });
    assertTrue(thrown.size() > 0);
    assertEquals("stopped", thrown.peek().getMessage());
  }

  /** Memory of direct buffers, which fails on request. */
  private static final class Buffers implements EnvOptions.Allocator {
    final Map<Long, ByteBuffer> live = new ConcurrentHashMap<>();
    final AtomicInteger allocated = new AtomicInteger();
    volatile boolean full;

    @Override
    public long allocate(long bytes, long alignment) {
      if (full) throw new OutOfMemoryError("full");
      ByteBuffer block = ByteBuffer.allocateDirect((int) (bytes + alignment))
          .alignedSlice((int) alignment);
      allocated.incrementAndGet();
      live.put(Bridge.address(block), block);
      return Bridge.address(block);
    }

    @Override
    public void deallocate(long address, long bytes, long alignment) {
      if (live.remove(address) == null) throw new IllegalStateException("twice");
    }
  }

  @Test
  void memoryComesFromTheProgram() throws Exception {
    Buffers buffers = new Buffers();
    ConcurrentLinkedQueue<Throwable> thrown = uncaught(() -> {
      try (Env env = new Env(new EnvOptions().allocator(buffers))) {
        assertArrayEquals(new float[] {2, 4}, doubled(env, 1, 2));
        buffers.full = true;
        HeadraceException e = assertThrows(HeadraceException.ResourceExhausted.class,
            () -> Tensor.create(env, DType.FLOAT32, 8));
        assertEquals(ErrorCode.RESOURCE_EXHAUSTED, e.code());
        buffers.full = false;
        assertArrayEquals(new float[] {2}, doubled(env, 1));
      }
    });
    assertEquals(List.of("full"), thrown.stream().map(Throwable::getMessage).toList());
    assertTrue(buffers.allocated.get() > 0);
    Small.collectUntil(buffers.live::isEmpty);
  }

  @Test
  void computesOnThreadsOfTheProgram() {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    AtomicInteger tasks = new AtomicInteger();
    try (Env env = new Env(new EnvOptions().executor(task -> {
      tasks.incrementAndGet();
      pool.execute(task);
    }, 3))) {
      float[] values = new float[1 << 20];
      values[1 << 19] = 3;
      assertEquals(6, doubled(env, values)[1 << 19]);
      assertTrue(tasks.get() > 0);
    } finally {
      pool.shutdown();
    }
  }

  @Test
  void anExecutorThatRefusesDelaysNothing() {
    ConcurrentLinkedQueue<Throwable> thrown = uncaught(() -> {
      try (Env env = new Env(new EnvOptions().executor(task -> {
        throw new RejectedExecutionException("closed");
      }, 3))) {
        float[] values = new float[1 << 20];
        values[1 << 19] = 3;
        assertEquals(6, doubled(env, values)[1 << 19]);
      }
    });
    assertTrue(thrown.stream().allMatch(e -> e instanceof RejectedExecutionException), thrown.toString());
  }

  @Test
  void anExecutorThatLosesTasksDelaysNothing() {
    try (Env env = new Env(new EnvOptions().executor(task -> {}, 3))) {
      float[] values = new float[1 << 20];
      values[7] = 3;
      assertEquals(6, doubled(env, values)[7]);
    }
  }

  @Test
  void aTableOfCostsThatIsDamagedIsRefused(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("costs");
    EnvOptions options = new EnvOptions().costTable(file);
    assertThrows(HeadraceException.NotFound.class, () -> new Env(options));
    Files.writeString(file, "not a table\n");
    assertThrows(HeadraceException.DataLoss.class, () -> new Env(options));
  }

  @Test
  void servicesAreReleased() throws Exception {
    int before = Small.registered();
    Env env = new Env(new EnvOptions().log((level, text) -> {}).clock(System::nanoTime)
        .allocator(new Buffers()).executor(Runnable::run, 2));
    assertEquals(before + 4, Small.registered());
    env.close();
    Small.await(() -> Small.registered() == before);
  }

  @Test
  void missingPluginsAreErrors(@TempDir Path folder) {
    try (Env env = new Env()) {
      HeadraceException e = assertThrows(HeadraceException.Unavailable.class,
          () -> env.loadPlugin("none-such"));
      assertTrue(e.getMessage().contains("none-such"), e.getMessage());
      assertTrue(env.describe().contains("operators"));
      assertThrows(HeadraceException.class, () -> Model.convert(env, folder + "/no.onnx",
          folder + "/x.hrg", false, Limits.NONE));
    }
  }

  @Test
  void readersOfTheProgram(@TempDir Path folder) throws Exception {
    try (Env env = new Env(); Model model = Small.doubler(env); Graph graph = model.toGraph()) {
      graph.save(folder + "/m.hrg");
      byte[] file = java.nio.file.Files.readAllBytes(Path.of(folder + "/m.hrg"));
      ModelReader reader = new ModelReader() {
        @Override
        public long size() {
          return file.length;
        }

        @Override
        public void read(long offset, ByteBuffer out) {
          out.put(file, (int) offset, out.remaining());
        }
      };
      Model.load(env, reader, new LoadOptions().readWholeFile(true)).close();
      int before = Small.registered();
      ModelReader broken = new ModelReader() {
        @Override
        public long size() {
          return file.length;
        }

        @Override
        public void read(long offset, ByteBuffer out) throws Exception {
          throw new java.io.IOException("no tape");
        }
      };
      HeadraceException e = assertThrows(HeadraceException.class,
          () -> Model.load(env, broken, new LoadOptions().inspectOnly(true)));
      assertEquals("no tape", e.getCause().getMessage());
      assertEquals(before, Small.registered());
    }
  }
}
