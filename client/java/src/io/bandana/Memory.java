package io.bandana;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** What a call points to. It lives as long as this object, which the caller keeps until the call returns. */
final class Memory {
  private static final int CHUNK = 4096;
  private final List<ByteBuffer> chunks = new ArrayList<>();
  private ByteBuffer chunk = ByteBuffer.allocateDirect(0);
  private long base;

  private int take(int size) {
    int at = (chunk.position() + 7) & ~7;
    if (at + size > chunk.capacity()) {
      chunk = ByteBuffer.allocateDirect(Math.max(CHUNK, size)).order(ByteOrder.nativeOrder());
      chunks.add(chunk);
      base = Native.address(chunk);
      at = 0;
    }
    chunk.position(at + size);
    return at;
  }

  /** Zeros, with its size where it has one. */
  Struct make(String kind) {
    int at = take(Struct.sizeOf(kind));
    return new Struct(chunk, at, base + at, kind);
  }

  Struct sized(String kind) {
    return make(kind).set("size", (long) Struct.sizeOf(kind));
  }

  /** The address of the first of `count` structs that lie in a row; `fill` fills each. */
  <T> long array(String kind, List<T> values, Fill<T> fill) {
    int size = Struct.sizeOf(kind);
    int at = take(size * values.size());
    ByteBuffer in = chunk;
    long address = base + at;
    for (int i = 0; i < values.size(); ++i) {
      fill.fill(new Struct(in, at + i * size, address + (long) i * size, kind), values.get(i));
    }
    return address;
  }

  interface Fill<T> {
    void fill(Struct struct, T value);
  }

  long bytes(byte[] value) {
    int at = take(value.length);
    chunk.put(at, value);
    return base + at;
  }

  void put(Struct struct, String field, byte[] value) {
    struct.set(field, bytes(value), value.length);
  }

  void put(Struct struct, String field, String value) {
    put(struct, field, value.getBytes(StandardCharsets.UTF_8));
  }

  /** A pointer to a bandana_bytes. */
  long pointerTo(byte[] value) {
    return texts(List.of(value));
  }

  long texts(List<byte[]> values) {
    int at = take(16 * values.size());
    ByteBuffer in = chunk;
    long address = base + at;
    for (int i = 0; i < values.size(); ++i) {
      in.putLong(at + 16 * i, bytes(values.get(i)));
      in.putLong(at + 16 * i + 8, values.get(i).length);
    }
    return address;
  }

  long strings(List<String> values) {
    List<byte[]> raw = new ArrayList<>();
    for (String value : values) raw.add(value.getBytes(StandardCharsets.UTF_8));
    return texts(raw);
  }

  long cString(String value) {
    return bytes((value + "\0").getBytes(StandardCharsets.ISO_8859_1));
  }

  long doubles(double[] values) {
    int at = take(8 * values.length);
    for (int i = 0; i < values.length; ++i) chunk.putDouble(at + 8 * i, values[i]);
    return base + at;
  }

  long ints(int[] values) {
    int at = take(4 * values.length);
    for (int i = 0; i < values.length; ++i) chunk.putInt(at + 4 * i, values[i]);
    return base + at;
  }

  /** Cells are Long, Double or byte[]. */
  long cells(List<Object> values) {
    return array(
        "cell",
        values,
        (cell, value) -> {
          if (value instanceof Long) {
            cell.set("kind", 0).set("integer", (long) (Long) value);
          } else if (value instanceof Double) {
            cell.set("kind", 1).set("real", (double) (Double) value);
          } else {
            cell.set("kind", 2);
            put(cell, "bytes", (byte[]) value);
          }
        });
  }
}
