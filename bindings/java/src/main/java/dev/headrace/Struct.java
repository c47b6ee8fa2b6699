package dev.headrace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A struct of C at an address. */
abstract class Struct {
  final long address;
  private final ByteBuffer memory;

  Struct(long address, int bytes) {
    this.address = address;
    memory = Bridge.view(address, bytes).order(ByteOrder.nativeOrder());
  }

  final byte get_byte(int offset) {
    return memory.get(offset);
  }

  final short get_short(int offset) {
    return memory.getShort(offset);
  }

  final int get_int(int offset) {
    return memory.getInt(offset);
  }

  final long get_long(int offset) {
    return memory.getLong(offset);
  }

  final double get_double(int offset) {
    return memory.getDouble(offset);
  }

  final void set_byte(int offset, byte value) {
    memory.put(offset, value);
  }

  final void set_short(int offset, short value) {
    memory.putShort(offset, value);
  }

  final void set_int(int offset, int value) {
    memory.putInt(offset, value);
  }

  final void set_long(int offset, long value) {
    memory.putLong(offset, value);
  }

  final void set_double(int offset, double value) {
    memory.putDouble(offset, value);
  }
}
