package dev.headrace;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Memory off the heap that belongs to the program, and the object that keeps it alive. */
record Memory(long address, long bytes, boolean readOnly, Object owner) {
  /** Returns what remains of a buffer, whose elements must have the size of the type's. */
  static Memory of(Buffer buffer, DType dtype) {
    int unit = unit(buffer);
    if (unit != 1 && unit != dtype.bytes()) {
      throw new HeadraceException.InvalidArgument("an element of " + dtype + " has " + dtype.bytes()
          + " bytes, and one of the buffer has " + unit);
    }
    return of(buffer, dtype.bytes() > 1);
  }

  /** Returns what remains of a buffer, whatever it contains. */
  static Memory of(Buffer buffer) {
    return of(buffer, unit(buffer) > 1);
  }

  /** The buffer must be direct and, if its bytes have an order, in that of the machine. */
  private static Memory of(Buffer buffer, boolean ordered) {
    if (!buffer.isDirect()) {
      throw new HeadraceException.InvalidArgument(
          "the buffer is on the Java heap; use a direct one, or copy its array with Tensor.copyOf");
    }
    if (ordered && order(buffer) != ByteOrder.nativeOrder()) {
      throw new HeadraceException.InvalidArgument("the buffer is in the byte order " + order(buffer)
          + "; call order(ByteOrder.nativeOrder()) first");
    }
    Library.load();
    int unit = unit(buffer);
    return new Memory(Bridge.address(buffer) + (long) unit * buffer.position(),
        (long) unit * buffer.remaining(), buffer.isReadOnly(), buffer);
  }

  private static int unit(Buffer buffer) {
    if (buffer instanceof ByteBuffer) return 1;
    if (buffer instanceof FloatBuffer || buffer instanceof IntBuffer) return 4;
    if (buffer instanceof DoubleBuffer || buffer instanceof LongBuffer) return 8;
    return 2;
  }

  private static ByteOrder order(Buffer buffer) {
    if (buffer instanceof ByteBuffer one) return one.order();
    if (buffer instanceof FloatBuffer one) return one.order();
    if (buffer instanceof IntBuffer one) return one.order();
    if (buffer instanceof DoubleBuffer one) return one.order();
    if (buffer instanceof LongBuffer one) return one.order();
    return buffer instanceof ShortBuffer one ? one.order() : ByteOrder.nativeOrder();
  }
}
