package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.headrace.Graph.Value;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The ranks are threads of this process. */
@Timeout(60)
class GroupTest {
  private Env env;
  private Store store;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(2));
    store = new Store(env, "memory:");
  }

  @AfterEach
  void close() {
    store.close();
    env.close();
  }

  private interface Body {
    void run(Group group) throws Exception;
  }

  private GroupOptions options(int rank, int size) {
    return new GroupOptions().rank(rank, size).store(store).transport("inproc")
        .timeout(Duration.ofSeconds(30)).silence(Duration.ofSeconds(2));
  }

  private void ranks(int size, Body body) throws Exception {
    ranks(size, rank -> options(rank, size), body);
  }

  private void ranks(int size, java.util.function.IntFunction<GroupOptions> options, Body body)
      throws Exception {
    List<Thread> threads = new ArrayList<>();
    AtomicReference<Throwable> wrong = new AtomicReference<>();
    for (int i = 0; i < size; ++i) {
      int rank = i;
      Thread thread = new Thread(() -> {
        try (Group group = Group.create(env, options.apply(rank), null)) {
          body.run(group);
        } catch (Throwable e) {
          wrong.compareAndSet(null, e);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread one : threads) one.join();
    if (wrong.get() != null) throw new AssertionError(wrong.get());
  }

  private static Tensor of(float... values) {
    return Tensor.wrap(Small.floats(values), values.length);
  }

  @Test
  void performsEachOperation() throws Exception {
    ranks(2, group -> {
      int r = group.rank();
      assertEquals(2, group.size());
      assertEquals(0, group.epoch());
      assertNull(group.failure());
      Tensor x = of(1 + r, 3);
      Tensor two = of(0, 0);
      Tensor four = of(0, 0, 0, 0);
      group.allReduce(x, two, ReduceOp.SUM);
      assertArrayEquals(new float[] {3, 6}, two.toFloats());
      group.allReduce(two, two, ReduceOp.MAX);
      group.reduce(x, r == 1 ? two : null, ReduceOp.PRODUCT, 1);
      if (r == 1) assertArrayEquals(new float[] {2, 9}, two.toFloats());
      group.broadcast(r == 0 ? x : null, two, 0);
      assertArrayEquals(new float[] {1, 3}, two.toFloats());
      group.allGather(x, four);
      assertArrayEquals(new float[] {1, 3, 2, 3}, four.toFloats());
      group.gather(x, r == 0 ? four : null, 0);
      group.scatter(r == 0 ? four : null, two, 0);
      assertArrayEquals(new float[] {1 + r, 3}, two.toFloats());
      group.reduceScatter(of(1, 2, 3, 4), two, ReduceOp.AVERAGE);
      assertArrayEquals(r == 0 ? new float[] {1, 2} : new float[] {3, 4}, two.toFloats());
      group.allToAll(of(r, r, r + 10, r + 10), four);
      assertArrayEquals(r == 0 ? new float[] {0, 0, 1, 1} : new float[] {10, 10, 11, 11},
          four.toFloats());
      if (r == 0) group.send(x, 1, 5);
      else group.recv(two, 0, 5);
      if (r == 1) assertArrayEquals(new float[] {1, 3}, two.toFloats());
      group.barrier();
      Request request = new Request(Request.Kind.ALL_REDUCE, DType.FLOAT32, 2).input(x).output(two)
          .op(ReduceOp.PRE_MULTIPLIED_SUM).factor(r == 0 ? 10 : 1).peer(0).tag(0);
      group.run(request, Limits.timeout(Duration.ofSeconds(10)));
      assertArrayEquals(new float[] {12, 33}, two.toFloats());
      group.start(request).await();
      assertTrue(group.explain(request).contains("algorithm"));
      assertTrue(group.describe().contains("inproc"));
      assertTrue(group.dump().contains("all_reduce"));
      group.barrier();
    });
  }

  @Test
  void startsEachOperation() throws Exception {
    ranks(2, group -> {
      int r = group.rank();
      Tensor x = of(1 + r, 3);
      Tensor two = of(0, 0);
      Tensor four = of(0, 0, 0, 0);
      List<Work> all = new ArrayList<>();
      all.add(group.startAllReduce(x, of(0, 0), ReduceOp.SUM));
      all.add(group.startReduce(x, r == 0 ? of(0, 0) : null, ReduceOp.SUM, 0));
      all.add(group.startBroadcast(r == 0 ? x : null, of(0, 0), 0));
      all.add(group.startAllGather(x, four));
      all.add(group.startGather(x, r == 0 ? of(0, 0, 0, 0) : null, 0));
      all.add(group.startScatter(r == 0 ? of(1, 2, 3, 4) : null, of(0, 0), 0));
      all.add(group.startReduceScatter(of(1, 2, 3, 4), of(0, 0), ReduceOp.SUM));
      all.add(group.startAllToAll(of(1, 2, 3, 4), of(0, 0, 0, 0)));
      all.add(group.startBarrier());
      all.add(r == 0 ? group.startSend(x, 1, 9) : group.startRecv(two, 0, 9));
      for (Work one : all) one.await();
      for (Work one : all) assertTrue(one.isDone());
      for (Work one : all) one.future().join();
      if (r == 1) assertArrayEquals(new float[] {1, 3}, two.toFloats());
      assertArrayEquals(new float[] {1, 3, 2, 3}, four.toFloats());
      group.barrier();
    });
  }

  @Test
  void futuresKeepTheirTensors() throws Exception {
    ranks(2, group -> {
      float[][] seen = new float[1][];
      try (Tensor out = of(0); Tensor in = of(group.rank() + 1); Tensor view = out.share()) {
        Work work = group.startAllReduce(in, out, ReduceOp.SUM);
        in.close();
        out.close();
        System.gc();
        work.future().thenRun(() -> {}).join();
        seen[0] = view.toFloats();
      }
      assertArrayEquals(new float[] {3}, seen[0]);
      try (CompletionQueue queue = new CompletionQueue(env)) {
        CountDownLatch done = new CountDownLatch(1);
        Work work = group.startBarrier();
        work.enqueue(queue, 7);
        work.onDone(failure -> done.countDown());
        assertEquals(new CompletionQueue.Completion(7, null),
            queue.take(Limits.timeout(Duration.ofSeconds(10))));
        done.await();
      }
      group.barrier();
    });
  }

  @Test
  void anInterruptEndsABlockedReceiveAndTheGroupStillWorks() throws Exception {
    CountDownLatch tried = new CountDownLatch(1);
    ranks(2, group -> {
      Tensor x = of(group.rank());
      if (group.rank() == 0) {
        Small.assertInterruptEnds(() -> {
          group.recv(x, 1, 3);
          return null;
        });
        tried.countDown();
        group.recv(x, 1, 3);
        assertArrayEquals(new float[] {1}, x.toFloats());
      } else {
        tried.await();
        group.send(x, 0, 3);
      }
      group.barrier();
    });
  }

  @Test
  void closingEndsWhatWaits() throws Exception {
    ranks(2, group -> {
      Group other = group.split(0, 0);
      if (group.rank() == 1) {
        group.barrier();
        other.close();
        return;
      }
      Small.Interrupted ended = Small.end(() -> {
        other.recv(of(1), 1, 3);
        return null;
      }, thread -> other.close());
      assertInstanceOf(HeadraceException.Cancelled.class, ended.thrown());
      assertTrue(ended.millis() <= 200, ended.millis() + " ms");
      CompletionQueue queue = new CompletionQueue(env);
      ended = Small.end(queue::take, thread -> queue.close());
      assertInstanceOf(HeadraceException.Cancelled.class, ended.thrown());
      group.barrier();
    });
  }

  @Test
  void cancellingAReceiveHasNoOtherEffect() throws Exception {
    ranks(2, group -> {
      Tensor x = of(group.rank());
      if (group.rank() == 0) {
        Work work = group.startRecv(x, 1, 3);
        assertThrows(HeadraceException.DeadlineExceeded.class,
            () -> work.await(Limits.timeout(Duration.ofMillis(5))));
        work.cancel();
        assertThrows(HeadraceException.Cancelled.class, work::await);
        assertTrue(group.startRecv(x, 1, 4).future().cancel(true));
      }
      group.barrier();
    });
  }

  @Test
  void endsForAllWithOneCause() throws Exception {
    CountDownLatch made = new CountDownLatch(3);
    ranks(3, group -> {
      made.countDown();
      made.await();
      if (group.rank() == 2) group.abort("enough \uD83D\uDE80");
      HeadraceException e =
          assertThrows(HeadraceException.Aborted.class, () -> {
            for (;;) group.barrier();
          });
      assertTrue(e.getMessage().contains("enough \uD83D\uDE80"), e.getMessage());
      assertInstanceOf(HeadraceException.Aborted.class, group.failure());
    });
  }

  @Test
  void goesOnWithoutARankThatLeft() throws Exception {
    ranks(3, group -> {
      group.barrier();
      if (group.rank() == 1) {
        group.leave();
        return;
      }
      assertThrows(HeadraceException.class, () -> {
        for (;;) group.barrier();
      });
      try (Group next = group.shrink(Limits.timeout(Duration.ofSeconds(20)))) {
        assertEquals(2, next.size());
        assertTrue(next.epoch() > group.epoch());
        next.barrier();
      }
    });
  }

  @Test
  void growsByARankThatJoins() throws Exception {
    Thread[] joining = new Thread[1];
    AtomicReference<Throwable> wrong = new AtomicReference<>();
    ranks(1, group -> {
      joining[0] = new Thread(() -> {
        try (Group joined = Group.join(env, options(0, 0), Limits.timeout(Duration.ofSeconds(20)))) {
          assertEquals(1, joined.rank());
          joined.barrier();
        } catch (Throwable e) {
          wrong.set(e);
        }
      });
      joining[0].start();
      try (Group bigger = group.grow(2, Limits.timeout(Duration.ofSeconds(20)))) {
        assertEquals(2, bigger.size());
        bigger.barrier();
        joining[0].join();
      }
    });
    assertNull(wrong.get());
  }

  @Test
  void splits() throws Exception {
    ranks(3, group -> {
      try (Group half = group.split(group.rank() == 2 ? -1 : 0, -group.rank())) {
        if (group.rank() == 2) {
          assertNull(half);
        } else {
          assertEquals(1 - group.rank(), half.rank());
          half.barrier();
        }
      }
      group.barrier();
    });
  }

  @Test
  void wrongTensorsAreErrors() throws Exception {
    ranks(1, group -> {
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> group.allReduce(of(1, 2), of(1), ReduceOp.SUM));
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> group.allReduce(of(1), Tensor.copyOf(env, new long[] {1}, 1), ReduceOp.SUM));
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> group.allReduce(null, null, ReduceOp.SUM));
      Tensor readOnly = Tensor.wrap(Small.floats(1).asReadOnlyBuffer(), DType.FLOAT32, 1);
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> group.allReduce(of(1), readOnly, ReduceOp.SUM));
      Tensor apart = Tensor.wrapStrided(Small.floats(1, 2, 3), DType.FLOAT32, new long[] {2},
          new long[] {2});
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> group.allReduce(apart, of(1, 2), ReduceOp.SUM));
      assertThrows(HeadraceException.InvalidArgument.class, () -> group.send(of(1), 5, 0));
      Tensor closed = of(1);
      closed.close();
      assertThrows(HeadraceException.FailedPrecondition.class,
          () -> group.startAllReduce(closed, closed, ReduceOp.SUM));
      group.barrier();
      group.close();
      assertThrows(HeadraceException.FailedPrecondition.class, group::barrier);
    });
  }

  /** A store of the program, which fails on request. */
  private static final class Keys implements HostStore {
    final Map<String, byte[]> values = new ConcurrentHashMap<>();
    volatile Exception thrown;
    volatile boolean released;

    @Override
    public byte[] get(String key) throws Exception {
      if (thrown != null) throw thrown;
      return values.get(key);
    }

    @Override
    public synchronized boolean compareAndSwap(String key, byte[] expected, byte[] desired) {
      if (!Arrays.equals(values.get(key), expected)) return false;
      values.put(key, desired);
      return true;
    }

    @Override
    public void remove(String key) {
      values.remove(key);
    }

    @Override
    public void released() {
      released = true;
    }
  }

  @Test
  void meetsInAStoreOfTheProgram() throws Exception {
    Keys keys = new Keys();
    try (Store own = new Store(keys)) {
      assertEquals("", own.url());
      ranks(2, rank -> options(rank, 2).store(own), Group::barrier);
    }
    Small.await(() -> keys.released);
  }

  @Test
  void whatAStoreThrowsIsTheCause() {
    Keys keys = new Keys();
    keys.thrown = new java.io.IOException("no connection");
    try (Store own = new Store(keys)) {
      HeadraceException e = assertThrows(HeadraceException.class,
          () -> Group.create(env, options(0, 2).store(own), Limits.timeout(Duration.ofSeconds(5))));
      assertSame(keys.thrown, e.getCause());
    }
  }

  @Test
  void waitsForRanksAsLongAsItIsTold() throws Exception {
    assertThrows(HeadraceException.DeadlineExceeded.class,
        () -> Group.create(env, options(0, 2), Limits.timeout(Duration.ofMillis(100))));
    AtomicInteger tries = new AtomicInteger();
    Small.assertInterruptEnds(
        () -> Group.create(env, options(0, 2).name("other" + tries.incrementAndGet()), null));
  }

  @Test
  void storesAndLaunches(@TempDir Path folder) {
    try (Store files = new Store(env, "file:" + folder, new StoreOptions().serve(false))) {
      assertTrue(files.url().startsWith("file:"));
    }
    assertThrows(HeadraceException.class, () -> new Store(env, "none:"));
    try (Launch launch = new Launch()) {
      assertEquals(0, launch.rank());
      assertEquals(1, launch.size());
      assertEquals(-1, launch.localRank());
      assertEquals(0, launch.localSize());
      assertEquals(0, launch.epoch());
      assertEquals("memory:", launch.store());
      assertNotNull(launch.describe());
    }
    assertThrows(HeadraceException.class, () -> Headrace.readDump(folder + "/none.flight"));
  }

  @Test
  void sessionsTrainOneModel() throws Exception {
    ranks(2, group -> {
      // A run keeps the threads of its env while it waits for other ranks.
      try (Env own = new Env(new EnvOptions().threads(1)); Graph graph = new Graph(own)) {
        Value x = graph.input("x", DType.FLOAT32, -1, 1);
        Value y = graph.dense("dense", x, 1);
        Value loss = graph.op("ReduceMean", "keepdims=0", y);
        graph.signatureInput("train", "x", x);
        graph.signatureOutput("train", "loss", loss);
        graph.minimize("train", loss, "sgd", graph.schedule("train", "constant base=0.5"));
        graph.distribute("train", "workers", "mirrored");
        try (Model model = graph.toModel(); Session session = new Session(model);
            Call step = session.call("train")) {
          assertThrows(HeadraceException.NotFound.class,
              () -> session.bindGroup("others", group, Limits.NONE));
          session.bindGroup("workers", group, Limits.NONE);
          session.setVariable("dense/weight", Tensor.copyOf(own, new float[] {1}, 1, 1));
          session.setVariable("dense/bias", Tensor.copyOf(own, new float[] {0}, 1));
          session.broadcast("workers", 0, Limits.NONE);
          step.bind("x", Tensor.copyOf(own, new float[] {2 + 4 * group.rank()}, 1, 1));
          step.run();
          assertArrayEquals(new float[] {4}, step.result("loss").toFloats());
          session.bindGroup("workers", null, Limits.NONE);
        }
      }
    });
  }
}
