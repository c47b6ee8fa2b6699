import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/** A model with its input and output bound. */
interface Engine {
  /** Runs the model. */
  void run() throws Exception;

  String version();

  /** The name of a case's input, and of its output. */
  static String[] names(String name) {
    return name.equals("magika")
        ? new String[] {"bytes", "target_label"} : new String[] {"x", "y"};
  }

  /** The memory of the output of a case. */
  static FloatBuffer output(String name) {
    return direct(name.equals("magika") ? 214 : 4).asFloatBuffer();
  }

  /** The input of magika, [1, 2048]. */
  static IntBuffer bytes() {
    IntBuffer out = direct(2048).asIntBuffer();
    for (int i = 0; i < out.capacity(); ++i) out.put(i, i % 257);
    return out;
  }

  /** The input of the other case, [4]. */
  static FloatBuffer numbers() {
    return direct(4).asFloatBuffer().put(new float[] {1, 2, 3, 4}).flip();
  }

  private static ByteBuffer direct(int numbers) {
    return ByteBuffer.allocateDirect(4 * numbers).order(ByteOrder.nativeOrder());
  }
}
