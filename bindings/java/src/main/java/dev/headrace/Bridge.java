package dev.headrace;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** What bridge.c does for Java. Addresses are not checked. */
final class Bridge {
  private Bridge() {}

  /** Returns memory of zeros, which {@link #free} gives back; 0 if there is none. */
  static native long allocate(long bytes);

  static native void free(long address);

  /** Returns a buffer over the memory, in big-endian order as all new buffers. */
  static native ByteBuffer view(long address, long bytes);

  /** Returns the address of element 0 of a direct buffer. */
  static native long address(Buffer buffer);

  /** Returns the bytes up to the NUL. */
  static native byte[] text(long address);

  /** Copies memory into an array of a primitive type; {@code offset} is in bytes. */
  static native void read(long address, Object array, long offset, long bytes);

  /** Copies from an array of a primitive type to memory; {@code offset} is in bytes. */
  static native void write(long address, Object array, long offset, long bytes);

  /** Opens the library. Returns null, or why that fails. */
  static native byte[] open(long path);

  /** Returns the version of the interface of a library that is open; -1 if it has none. */
  static native int version(long path);

  /** Finds all functions of a library that is open. Returns null, or the name of a missing one. */
  static native byte[] missing(long path);

  /** Returns the address of the function of C that calls this function of Callbacks. */
  static native long function(int callback);
}
