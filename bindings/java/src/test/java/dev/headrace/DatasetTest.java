package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DatasetTest {
  private Env env;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(1));
  }

  @AfterEach
  void close() {
    env.close();
  }

  /** The numbers from 0 to 9, each an example of one field. */
  private static class Numbers implements DatasetSource {
    int at;
    Exception thrown;
    CountDownLatch gate = new CountDownLatch(0);
    boolean released;

    @Override
    public boolean next(Batch batch) throws Exception {
      gate.await();
      if (thrown != null) throw thrown;
      if (at >= 10) return false;
      long count = Math.min(batch.examples(), 10 - at);
      if (count == batch.examples()) fill(batch.tensor(0));
      else batch.set(0, smaller(count));
      return true;
    }

    private void fill(Tensor tensor) {
      FloatBuffer out = tensor.floatBuffer();
      while (out.hasRemaining()) out.put(at++);
    }

    private Tensor smaller(long count) {
      Tensor out = Tensor.wrap(Small.floats(new float[(int) count]), count);
      fill(out);
      return out;
    }

    @Override
    public boolean canSeek() {
      return true;
    }

    @Override
    public void seek(long epoch, long example) {
      at = (int) example;
    }

    @Override
    public long examples() {
      return 10;
    }

    @Override
    public void released() {
      released = true;
    }
  }

  private Dataset fours(Numbers source, long prefetch) {
    return Dataset.of(env, source, List.of(new DatasetSource.Field("x", DType.FLOAT32, 4)),
        new DatasetOptions().prefetch(prefetch).repeat(2));
  }

  private static float[] next(Dataset data) {
    try (Tensor x = data.next().get("x")) {
      return x.toFloats();
    }
  }

  @Test
  void givesTensorsInBatches() {
    try (Tensor x = Tensor.wrap(Small.floats(1, 2, 3), 3);
        Dataset data = Dataset.of(env, Map.of("x", x), new DatasetOptions().batch(2))) {
      assertEquals(List.of("x"), data.fields());
      assertEquals(2, data.batches());
      assertArrayEquals(new float[] {1, 2}, next(data));
      String position = data.position();
      assertArrayEquals(new float[] {3}, next(data));
      assertTrue(data.isDone());
      assertThrows(HeadraceException.OutOfRange.class, data::next);
      data.seek(position, Limits.NONE);
      assertArrayEquals(new float[] {3}, next(data));
      data.rewind();
      assertFalse(data.isDone());
      data.rename("x", "z");
      assertTrue(data.describe().contains("\"z\""));
      try (Dataset shard = Dataset.of(env, Map.of("x", x),
          new DatasetOptions().batch(1).shard(1, 2).dropRemainder(true).shuffle(true).seed(1))) {
        assertEquals(1, shard.batches());
      }
    }
    assertThrows(HeadraceException.class, () -> new Dataset(env, "idx:/none/train"));
  }

  @Test
  void givesWhatTheProgramMakes() throws Exception {
    for (long prefetch : new long[] {0, 2}) {
      Numbers source = new Numbers();
      try (Dataset data = fours(source, prefetch)) {
        for (int epoch = 0; epoch < 2; ++epoch) {
          assertArrayEquals(new float[] {0, 1, 2, 3}, next(data));
          assertArrayEquals(new float[] {4, 5, 6, 7}, next(data));
          assertArrayEquals(new float[] {8, 9}, next(data));
        }
        assertTrue(data.isDone());
      }
      Small.await(() -> source.released);
    }
  }

  /** "double" doubles x, "large" says which x are above 1. */
  private Session signatures() {
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, new long[] {-1}, new String[] {"n"});
      graph.signatureInput("double", "x", x);
      graph.signatureOutput("double", "twice", graph.op("Add", x, x));
      graph.signatureInput("large", "x", x);
      graph.signatureOutput("large", "keep",
          graph.op("Greater", x, graph.op("Constant", "value_float=1")));
      try (Model model = graph.toModel()) {
        return new Session(model);
      }
    }
  }

  @Test
  void isMappedFilteredAndCached(@org.junit.jupiter.api.io.TempDir java.nio.file.Path folder) {
    try (Session session = signatures(); Tensor x = Tensor.wrap(Small.floats(1, 2, 3), 3);
        Dataset data = Dataset.of(env, Map.of("x", x), new DatasetOptions().batch(2));
        Dataset twice = data.map(session, "double", Limits.NONE);
        Dataset large = data.filter(session, "large", Limits.NONE);
        Dataset kept = large.cache(null, null, null, Limits.NONE);
        Dataset filed = twice.cache(folder + "/c", "v1", new DatasetOptions().batch(3), Limits.NONE)) {
      assertArrayEquals(new float[] {2, 4}, twice.next().get("twice").toFloats());
      assertArrayEquals(new float[] {2, 3}, next(large));
      assertArrayEquals(new float[] {2, 3}, next(kept));
      assertArrayEquals(new float[] {2, 4, 6}, filed.next().get("twice").toFloats());
      assertThrows(HeadraceException.class, () -> data.map(session, "none", Limits.NONE));
    }
  }

  @Test
  void feedsCalls() {
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Dataset data = fours(new Numbers(), 1)) {
      call.bindDataset(data);
      call.run();
      call.run();
      assertArrayEquals(new float[] {8, 10, 12, 14}, call.result("y").toFloats());
      call.bindDataset(null);
    }
  }

  @Test
  void whatTheProgramThrowsIsTheCause() {
    for (long prefetch : new long[] {0, 2}) {
      Numbers source = new Numbers();
      source.thrown = new java.io.IOException("the disk is full of \uD83D\uDE80");
      try (Model model = Small.doubler(env); Session session = new Session(model);
          Call call = session.call("infer"); Dataset data = fours(source, prefetch)) {
        HeadraceException e = assertThrows(HeadraceException.Unknown.class, data::next);
        assertSame(source.thrown, e.getCause());
        assertTrue(e.getMessage().contains("\uD83D\uDE80"), e.getMessage());
        call.bindDataset(data);
        assertSame(source.thrown, assertThrows(HeadraceException.class, call::run).getCause());
        source.thrown = null;
        if (prefetch == 0) {
          call.run();
          assertEquals(0, call.result("y").toFloats()[0]);
        }
      }
    }
  }

  @Test
  void mustNotUseItself() {
    Dataset[] self = new Dataset[1];
    Throwable[] seen = new Throwable[1];
    Numbers source = new Numbers() {
      @Override
      public boolean next(Batch batch) throws Exception {
        seen[0] = assertThrows(HeadraceException.class, () -> self[0].next());
        return super.next(batch);
      }
    };
    try (Dataset data = fours(source, 0)) {
      self[0] = data;
      next(data);
      assertInstanceOf(HeadraceException.FailedPrecondition.class, seen[0]);
    }
  }

  @Test
  void mayCloseItself() throws Exception {
    Dataset[] self = new Dataset[1];
    Numbers source = new Numbers() {
      @Override
      public boolean next(Batch batch) throws Exception {
        self[0].close();
        return super.next(batch);
      }
    };
    self[0] = fours(source, 0);
    assertEquals(4, next(self[0]).length);
    assertThrows(HeadraceException.FailedPrecondition.class, () -> self[0].next());
    Small.await(() -> source.released);
  }

  @Test
  void wrongTensorsAreErrors() {
    DatasetSource source = batch -> {
      batch.set(0, Tensor.wrap(Small.floats(1), 1, 1));
      return true;
    };
    try (Dataset data = Dataset.of(env, source,
        List.of(new DatasetSource.Field("x", DType.FLOAT32, -1)), new DatasetOptions().batch(2))) {
      assertThrows(HeadraceException.class, data::next);
    }
    int before = Small.registered();
    assertThrows(HeadraceException.class,
        () -> Dataset.of(env, source, List.of(), new DatasetOptions()));
    assertEquals(before, Small.registered());
  }

  @Test
  void theBatchMayBeKeptSafely() {
    Tensor[] kept = new Tensor[1];
    FloatBuffer[] view = new FloatBuffer[1];
    Numbers source = new Numbers() {
      @Override
      public boolean next(Batch batch) throws Exception {
        kept[0] = batch.tensor(0);
        view[0] = kept[0].floatBuffer();
        return super.next(batch);
      }
    };
    try (Dataset data = fours(source, 0)) {
      next(data);
    }
    assertThrows(HeadraceException.FailedPrecondition.class, () -> kept[0].toFloats());
    System.gc();
    assertEquals(3, view[0].get(3));
  }

  @Test
  void anInterruptEndsTheWaitForAPrefetchedBatch() throws Exception {
    Numbers source = new Numbers();
    source.gate = new CountDownLatch(1);
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Dataset data = fours(source, 1)) {
      Small.assertInterruptEnds(data::next);
      call.bindDataset(data);
      Small.assertInterruptEnds(() -> {
        call.run();
        return null;
      });
      assertThrows(HeadraceException.DeadlineExceeded.class,
          () -> call.run(Limits.timeout(Duration.ofMillis(20))));
      source.gate.countDown();
      call.run();
      assertArrayEquals(new float[] {0, 2, 4, 6}, call.result("y").toFloats());
    }
  }

  @Test
  void closingEndsTheWaitForAPrefetchedBatch() throws Exception {
    Numbers source = new Numbers();
    source.gate = new CountDownLatch(1);
    Dataset data = fours(source, 1);
    Small.Interrupted ended = Small.end(data::next, thread -> {
      data.close();
      source.gate.countDown(); // the native data set waits for the batch that is being read
    });
    assertTrue(ended.thrown() == null || ended.thrown() instanceof HeadraceException.Cancelled);
    Small.await(() -> source.released);
  }

  @Test
  void anInterruptReachesTheProgramsOwnWait() throws Exception {
    Numbers source = new Numbers();
    source.gate = new CountDownLatch(1);
    try (Dataset data = fours(source, 0)) {
      Small.Interrupted ended = Small.interrupt(data::next);
      assertInstanceOf(HeadraceException.Cancelled.class, ended.thrown());
      assertInstanceOf(InterruptedException.class, ended.thrown().getCause());
    }
  }
}
