package dev.headrace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Reads memory of the library, and turns texts into bytes. */
final class Native {
  private Native() {}

  static ByteBuffer view(long address, long bytes) {
    return Bridge.view(address, bytes).order(ByteOrder.nativeOrder());
  }

  /** Returns the text at an address; null if that is 0. */
  static String text(long address) {
    return address == 0 ? null : new String(Bridge.text(address), StandardCharsets.UTF_8);
  }

  /** Returns what a hr_text contains, and releases it. */
  static String take(long text) {
    byte[] bytes = new byte[Math.toIntExact(Raw.hr_text_size(text))];
    Bridge.read(Raw.hr_text_data(text), bytes, 0, bytes.length);
    Raw.hr_text_release(text);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static long[] longs(long address, long count) {
    long[] out = new long[Math.toIntExact(count)];
    if (out.length > 0) Bridge.read(address, out, 0, 8L * out.length);
    return out;
  }

  static int[] ints(long address, long count) {
    int[] out = new int[Math.toIntExact(count)];
    if (out.length > 0) Bridge.read(address, out, 0, 4L * out.length);
    return out;
  }

  static double[] doubles(long address, long count) {
    double[] out = new double[Math.toIntExact(count)];
    if (out.length > 0) Bridge.read(address, out, 0, 8L * out.length);
    return out;
  }

  /** Returns texts; null for each that is 0. */
  static String[] texts(long address, long count) {
    long[] addresses = longs(address, count);
    String[] out = new String[addresses.length];
    for (int i = 0; i < out.length; ++i) out[i] = text(addresses[i]);
    return out;
  }

  /** Returns the UTF-8 bytes of a text with a NUL behind them. C cannot see beyond a NUL. */
  static byte[] utf8(String text) {
    if (text.indexOf('\0') >= 0) {
      throw invalid("has the character NUL at index " + text.indexOf('\0'), text);
    }
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] out = new byte[bytes.remaining() + 1];
      bytes.get(out, 0, out.length - 1);
      return out;
    } catch (CharacterCodingException e) {
      throw invalid("has half of a surrogate pair", text);
    }
  }

  private static HeadraceException invalid(String what, String text) {
    String shown = text.replace('\0', '\u2400');
    return new HeadraceException.InvalidArgument(
        "a text must be Unicode without NUL, but \"" + shown + "\" " + what);
  }
}
