package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** {@code MemorySegment}, by reflection, because the tests run on Java 17, too. */
class SegmentTest {
  private static Object arena(String kind) throws Exception {
    return Class.forName("java.lang.foreign.Arena").getMethod(kind).invoke(null);
  }

  private static Object call(Object on, String type, String name, Object... arguments)
      throws Exception {
    for (Method one : Class.forName("java.lang.foreign." + type).getMethods()) {
      if (one.getName().equals(name) && one.getParameterCount() == arguments.length) {
        try {
          return one.invoke(on, arguments);
        } catch (IllegalArgumentException e) {
          continue; // another overload
        }
      }
    }
    throw new NoSuchMethodException(name);
  }

  private static Object allocate(Object arena, long bytes) throws Exception {
    return call(arena, "Arena", "allocate", bytes, 8L);
  }

  @Test
  void isUsedInPlace() throws Exception {
    assumeTrue(Segments.supported());
    Object segment = allocate(arena("ofAuto"), 8);
    ByteBuffer bytes = ((ByteBuffer) call(segment, "MemorySegment", "asByteBuffer"))
        .order(java.nio.ByteOrder.nativeOrder());
    bytes.putFloat(0, 1).putFloat(4, 2);
    try (Tensor tensor = Tensor.wrapSegment(segment, DType.FLOAT32, 2)) {
      assertEquals(call(segment, "MemorySegment", "address"), tensor.address());
      assertArrayEquals(new float[] {1, 2}, tensor.toFloats());
      Object view = tensor.segment();
      assertEquals(tensor.address(), call(view, "MemorySegment", "address"));
      assertEquals(8L, call(view, "MemorySegment", "byteSize"));
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> Tensor.wrapSegment(segment, DType.FLOAT32, 3));
    }
  }

  @Test
  void aClosedArenaIsNoticed() throws Exception {
    assumeTrue(Segments.supported());
    Object arena = arena("ofShared");
    Object segment = allocate(arena, 4);
    try (Env env = new Env(); Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Tensor x = Tensor.wrapSegment(segment, DType.FLOAT32, 1)) {
      call.bind("x", x);
      call.run();
      call(arena, "Arena", "close");
      assertThrows(HeadraceException.FailedPrecondition.class, call::run);
      assertThrows(HeadraceException.FailedPrecondition.class, () -> call.start(Limits.NONE));
      assertThrows(HeadraceException.FailedPrecondition.class, () -> call.bind("x", x));
      assertThrows(HeadraceException.FailedPrecondition.class,
          () -> Tensor.wrapSegment(segment, DType.FLOAT32, 1));
    }
  }

  @Test
  void mustBeASegmentOffTheHeap() throws Exception {
    if (!Segments.supported()) {
      assertThrows(HeadraceException.Unimplemented.class,
          () -> Tensor.wrapSegment("text", DType.FLOAT32, 1));
      return;
    }
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrapSegment("text", DType.FLOAT32, 1));
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrapSegment(null, DType.FLOAT32, 1));
    Object heap = Class.forName("java.lang.foreign.MemorySegment")
        .getMethod("ofArray", float[].class).invoke(null, (Object) new float[1]);
    assertThrows(HeadraceException.InvalidArgument.class,
        () -> Tensor.wrapSegment(heap, DType.FLOAT32, 1));
  }
}
