package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TensorTest {
  private Env env;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(1));
  }

  @AfterEach
  void close() {
    env.close();
  }

  @Test
  void copiesArraysOfEachType() {
    assertArrayEquals(new float[] {1, 2}, Tensor.copyOf(env, new float[] {1, 2}, 2).toFloats());
    assertArrayEquals(new double[] {1, 2}, Tensor.copyOf(env, new double[] {1, 2}, 2).toDoubles());
    assertArrayEquals(new int[] {1, 2}, Tensor.copyOf(env, new int[] {1, 2}, 2).toInts());
    assertArrayEquals(new long[] {1, 2}, Tensor.copyOf(env, new long[] {1, 2}, 1, 2).toLongs());
    assertArrayEquals(new byte[] {1, 0},
        Tensor.copyOf(env, DType.BOOL, new byte[] {1, 0}, 2).toBytes());
    Tensor halves = Tensor.copyOf(env, DType.FLOAT16, new short[] {0x3c00}, 1);
    assertEquals(0x3c00, halves.shortBuffer().get(0));
    assertArrayEquals(new float[] {3}, Tensor.copyOf(env, new float[] {3}).toFloats());
    assertArrayEquals(new float[] {}, Tensor.copyOf(env, new float[] {}, 0, 4).toFloats());
    assertArrayEquals(new float[] {5, 6},
        Tensor.copyOf(env, DType.FLOAT32, Small.floats(5, 6), 2).toFloats());
  }

  @Test
  void saysWhatItIs() {
    Tensor tensor = Tensor.create(env, DType.INT64, 2, 3);
    assertEquals(DType.INT64, tensor.dtype());
    assertArrayEquals(new long[] {2, 3}, tensor.dims());
    assertEquals(2, tensor.rank());
    assertEquals(6, tensor.elements());
    assertEquals(48, tensor.bytes());
    assertEquals(1, tensor.device());
    assertEquals(0, tensor.deviceOrdinal());
    assertFalse(tensor.isReadOnly());
    assertNull(tensor.strides());
    assertEquals("int64[2, 3]", tensor.toString());
    assertEquals(8, DType.INT64.bytes());
  }

  @Test
  void usesDirectBuffersInPlace() {
    FloatBuffer memory = Small.floats(1, 2, 3, 4);
    Tensor tensor = Tensor.wrap(memory.slice(1, 3), 3);
    assertEquals(Bridge.address(memory) + 4, tensor.address());
    assertEquals(Bridge.address(memory) + 4, Bridge.address(tensor.buffer()));
    memory.put(1, 7);
    assertArrayEquals(new float[] {7, 3, 4}, tensor.toFloats());
    tensor.floatBuffer().put(0, 8);
    assertEquals(8, memory.get(1));
    memory.position(2);
    assertEquals(Bridge.address(memory) + 8, Tensor.wrap(memory, 2).address());
  }

  @Test
  void runsUseTheMemoryOfTheProgram() {
    FloatBuffer in = Small.floats(1, 2);
    FloatBuffer out = Small.floats(0, 0);
    FloatBuffer other = Small.floats(0, 0);
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Tensor x = Tensor.wrap(in, 2)) {
      call.bind("x", x);
      call.output("y", out);
      call.run();
      assertEquals(4, out.get(1));
      assertThrows(HeadraceException.FailedPrecondition.class, () -> call.result("y"));
      in.put(1, 5);
      call.bindOutput("y", Tensor.wrap(other, 2));
      call.run();
      assertEquals(10, other.get(1));
      assertEquals(4, out.get(1));
      assertEquals(Bridge.address(other), call.result("y").address());
    }
  }

  /** Of the outputs that threads set at one time, the one that the library has is kept. */
  @Test
  void keepsTheOutputThatRunsUse() throws InterruptedException {
    final int threads = 4;
    List<Call> calls = new ArrayList<>();
    List<FloatBuffer[]> outputs = new ArrayList<>();
    List<WeakReference<FloatBuffer>> used = new ArrayList<>();
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Tensor x = Tensor.copyOf(env, new float[] {1}, 1)) {
      for (int i = 0; i < 2000; ++i) {
        calls.add(session.call("infer"));
        outputs.add(new FloatBuffer[threads]);
        for (int k = 0; k < threads; ++k) outputs.get(i)[k] = Small.floats(0);
      }
      Thread[] setting = new Thread[threads];
      for (int k = 0; k < threads; ++k) {
        int which = k;
        setting[k] = new Thread(() -> {
          for (int i = 0; i < calls.size(); ++i) setOutput(calls.get(i), outputs.get(i)[which]);
        });
        setting[k].start();
      }
      for (Thread one : setting) one.join();
      for (int i = 0; i < calls.size(); ++i) {
        calls.get(i).bind("x", x);
        calls.get(i).run();
        for (FloatBuffer one : outputs.get(i)) if (one.get(0) == 2) used.add(new WeakReference<>(one));
      }
      outputs.clear();
      for (int i = 0; i < 3; ++i) System.gc();
      assertEquals(calls.size(), used.stream().filter(one -> one.get() != null).count());
      calls.forEach(Call::close);
    }
  }

  /** A buffer that was refused is not written to, so that it may go. */
  @Test
  void forgetsAnOutputThatDoesNotFit() {
    FloatBuffer good = Small.floats(0);
    FloatBuffer bad = Small.floats(0, 0);
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Tensor one = Tensor.copyOf(env, new float[] {1}, 1);
        Tensor two = Tensor.copyOf(env, new float[] {1, 1}, 2)) {
      call.bind("x", one);
      call.output("y", good);
      call.run();
      assertThrows(HeadraceException.InvalidArgument.class, () -> call.output("y", bad));
      call.run();
      call.bind("x", two);
      assertThrows(HeadraceException.InvalidArgument.class, call::run); // good has room for one
      assertArrayEquals(new float[] {2, 0, 0}, new float[] {good.get(0), bad.get(0), bad.get(1)});
    }
  }

  private static void setOutput(Call call, FloatBuffer to) {
    for (;;) {
      try {
        call.output("y", to);
        return;
      } catch (HeadraceException.FailedPrecondition anotherThreadUsesIt) {
        Thread.yield();
      }
    }
  }

  @Test
  void sharesMemory() {
    Tensor tensor = Tensor.copyOf(env, new float[] {1, 2}, 2);
    Tensor share = tensor.share();
    tensor.close();
    assertArrayEquals(new float[] {1, 2}, share.toFloats());
  }

  @Test
  void keepsStrides() {
    FloatBuffer memory = Small.floats(1, 2, 3, 4, 5, 6);
    Tensor columns = Tensor.wrapStrided(memory, DType.FLOAT32, new long[] {2, 2}, new long[] {1, 2});
    assertArrayEquals(new long[] {1, 2}, columns.strides());
    assertEquals(16, columns.buffer().capacity());
    assertThrows(HeadraceException.FailedPrecondition.class, columns::toFloats);
    try (Graph graph = new Graph(env)) {
      Graph.Value x = graph.input("x", DType.FLOAT32, 2, 2);
      Graph.Value y = graph.op("Identity", x);
      graph.nameValue(y, "y");
      try (Model model = graph.toModel(); Session session = new Session(model);
          Outputs out = session.run(java.util.Map.of("x", columns), List.of("y"))) {
        assertArrayEquals(new float[] {1, 3, 2, 4}, out.get("y").toFloats());
      }
    }
  }

  @Test
  void keepsReadOnlyBuffersReadOnly() throws InterruptedException {
    ByteBuffer memory = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
    memory.putFloat(4, 3);
    int before = Small.registered();
    Tensor tensor = Tensor.wrap(memory.asReadOnlyBuffer().order(ByteOrder.nativeOrder()),
        DType.FLOAT32, 2);
    assertTrue(tensor.isReadOnly());
    assertEquals(Bridge.address(memory), tensor.address());
    assertArrayEquals(new float[] {0, 3}, tensor.toFloats());
    assertThrows(ReadOnlyBufferException.class, () -> tensor.buffer().put(0, (byte) 1));
    try (Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer")) {
      call.bind("x", tensor);
      assertThrows(HeadraceException.InvalidArgument.class, () -> call.bindOutput("y", tensor));
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> call.output("y", memory.asReadOnlyBuffer()));
      call.run();
      assertArrayEquals(new float[] {0, 6}, call.result("y").toFloats());
    }
    tensor.close();
    Small.collectUntil(() -> Small.registered() <= before); // after the view
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrap(memory.asReadOnlyBuffer().order(ByteOrder.nativeOrder()), DType.FLOAT32, 3));
  }

  @Test
  void exchangesTensorsByDlpack() {
    FloatBuffer memory = Small.floats(1, 2, 3);
    int before = Small.registered();
    Tensor tensor = Tensor.wrap(memory, 3);
    Dlpack dlpack = tensor.toDlpack();
    Tensor taken = Tensor.fromDlpack(dlpack.take());
    assertThrows(HeadraceException.FailedPrecondition.class, dlpack::take);
    tensor.close();
    assertEquals(Bridge.address(memory), taken.address());
    taken.toDlpack().close();
    taken.close();
    assertEquals(before, Small.registered());
    assertThrows(HeadraceException.InvalidArgument.class, () -> Tensor.fromDlpack(0));
  }

  @Test
  void viewsOutliveTheTensor() throws InterruptedException {
    Tensor tensor = Tensor.copyOf(env, new float[1 << 18], 1 << 18);
    FloatBuffer view = tensor.floatBuffer();
    view.put(5, 9);
    tensor.close();
    env.close();
    System.gc();
    Thread.sleep(50);
    assertEquals(9, view.get(5));
    assertEquals(view.capacity(), 1 << 18);
  }

  @Test
  void keepsABufferThatOnlyTheLibraryUses() throws InterruptedException {
    FloatBuffer memory = Small.floats(1, 2);
    WeakReference<FloatBuffer> unused = new WeakReference<>(memory);
    Tensor tensor = Tensor.wrap(memory, 2);
    memory = null;
    for (int i = 0; i < 5; ++i) System.gc();
    assertArrayEquals(new float[] {1, 2}, tensor.toFloats());
    tensor.close();
    Small.collectUntil(() -> unused.get() == null);
  }

  @Test
  void aTensorThatNobodyClosesIsCollected() throws InterruptedException {
    int before = Small.registered();
    for (int i = 0; i < 100; ++i) Tensor.wrap(Small.floats(i), 1);
    Small.collectUntil(() -> Small.registered() <= before);
  }

  @Test
  void refusesWhatDoesNotFit() {
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.copyOf(env, new float[] {1}, 2));
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrap(FloatBuffer.allocate(2), 2));
    assertThrows(HeadraceException.InvalidArgument.class, () -> Tensor.wrap(Small.floats(1), 2));
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrap(Small.floats(1), DType.INT64, 1));
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrap(ByteBuffer.allocateDirect(4).asFloatBuffer(), 1)); // big-endian
    assertThrows(HeadraceException.InvalidArgument.class, () -> Tensor.create(env, DType.FLOAT32, -1));
    assertThrows(HeadraceException.class,
        () -> Tensor.create(env, DType.FLOAT32, Long.MAX_VALUE, Long.MAX_VALUE));
    assertThrows(HeadraceException.class, () -> Tensor.create(env, DType.UNDEFINED, 1));
    Tensor tensor = Tensor.copyOf(env, new float[] {1, 2}, 2);
    assertThrows(HeadraceException.InvalidArgument.class, tensor::toLongs);
    assertThrows(HeadraceException.InvalidArgument.class, tensor::longBuffer);
    assertThrows(HeadraceException.OutOfRange.class, () -> tensor.copyTo(new byte[8], 4, 8));
    byte[] part = new byte[4];
    tensor.copyTo(part, 4, 4);
    assertEquals(2f, ByteBuffer.wrap(part).order(ByteOrder.nativeOrder()).getFloat());
  }

  @Test
  void anAlignedAddressIsNeeded() {
    ByteBuffer memory = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
    memory.position(1).limit(5);
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrap(memory, DType.FLOAT32, 1));
  }

  @Test
  void aClosedTensorSaysSo() {
    Tensor tensor = Tensor.copyOf(env, new float[] {1}, 1);
    assertFalse(tensor.isClosed());
    tensor.close();
    tensor.close();
    assertTrue(tensor.isClosed());
    assertEquals(DType.FLOAT32, tensor.dtype());
    HeadraceException e =
        assertThrows(HeadraceException.FailedPrecondition.class, () -> tensor.elements());
    assertEquals("the tensor is closed", e.getMessage());
    assertThrows(HeadraceException.FailedPrecondition.class, tensor::buffer);
    assertThrows(HeadraceException.FailedPrecondition.class, tensor::share);
    assertNotEquals("", e.advice());
  }
}
