package dev.headrace;

import java.nio.ByteBuffer;

/** A .hrg file of the program, wherever it keeps it. What it throws is the cause of a failed load. */
public interface ModelReader {
  /** Returns the bytes of the file. */
  long size() throws Exception;

  /**
   * Fills the buffer with the bytes of the file at an offset. Called on the thread that loads. The
   * buffer is valid during the call only.
   */
  void read(long offset, ByteBuffer out) throws Exception;
}
