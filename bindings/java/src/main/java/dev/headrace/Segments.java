package dev.headrace;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * {@code java.lang.foreign.MemorySegment}, which the class files of Java 17 cannot name: Java 22 and
 * newer have it.
 */
final class Segments {
  private static final Methods METHODS = find();

  private record Methods(Class<?> type, MethodHandle address, MethodHandle byteSize,
      MethodHandle isNative, MethodHandle isReadOnly, MethodHandle isAlive, MethodHandle ofBuffer) {}

  private Segments() {}

  private static Methods find() {
    try {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Class<?> type = Class.forName("java.lang.foreign.MemorySegment");
      Class<?> scope = Class.forName("java.lang.foreign.MemorySegment$Scope");
      MethodHandle alive = lookup.findVirtual(scope, "isAlive", MethodType.methodType(boolean.class));
      MethodHandle of = lookup.findVirtual(type, "scope", MethodType.methodType(scope));
      return new Methods(type,
          lookup.findVirtual(type, "address", MethodType.methodType(long.class)),
          lookup.findVirtual(type, "byteSize", MethodType.methodType(long.class)),
          lookup.findVirtual(type, "isNative", MethodType.methodType(boolean.class)),
          lookup.findVirtual(type, "isReadOnly", MethodType.methodType(boolean.class)),
          MethodHandles.filterReturnValue(of, alive),
          lookup.findStatic(type, "ofBuffer", MethodType.methodType(type, Buffer.class)));
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  static boolean supported() {
    return METHODS != null;
  }

  /** Returns the memory of a segment, which must be off the heap and alive. */
  static Memory memory(Object segment) {
    Methods methods = methods();
    if (!methods.type.isInstance(segment)) {
      throw new HeadraceException.InvalidArgument("a MemorySegment is expected, not "
          + (segment == null ? "null" : segment.getClass().getName()));
    }
    try {
      if (!(boolean) methods.isNative.invoke(segment)) {
        throw new HeadraceException.InvalidArgument(
            "the segment is on the Java heap; allocate it in an Arena, or copy its array");
      }
      requireAlive(segment);
      return new Memory((long) methods.address.invoke(segment), (long) methods.byteSize.invoke(segment),
          (boolean) methods.isReadOnly.invoke(segment), segment);
    } catch (Throwable e) {
      throw rethrown(e);
    }
  }

  static boolean isSegment(Object owner) {
    return METHODS != null && METHODS.type.isInstance(owner);
  }

  /** Fails if the object is a segment whose arena has been closed. */
  static void requireAlive(Object owner) {
    if (!isSegment(owner)) return;
    try {
      if ((boolean) METHODS.isAlive.invoke(owner)) return;
    } catch (Throwable e) {
      throw rethrown(e);
    }
    throw new HeadraceException.FailedPrecondition("the arena of the tensor's memory is closed");
  }

  /** Returns a segment of the same memory, which keeps the buffer reachable. */
  static Object of(ByteBuffer buffer) {
    try {
      return methods().ofBuffer.invoke((Buffer) buffer.order(ByteOrder.nativeOrder()));
    } catch (Throwable e) {
      throw rethrown(e);
    }
  }

  private static Methods methods() {
    if (METHODS != null) return METHODS;
    throw new HeadraceException.Unimplemented(
        "MemorySegment needs Java 22 or newer; use direct buffers");
  }

  private static RuntimeException rethrown(Throwable e) {
    if (e instanceof RuntimeException known) return known;
    if (e instanceof Error error) throw error;
    return new IllegalStateException(e);
  }
}
