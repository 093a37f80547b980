package io.bandana;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** A struct of bandana.h in memory. Sizes and offsets are those of abi.txt, which lies in the jar. */
final class Struct {
  private static final Map<String, Integer> sizes = new HashMap<>();
  private static final Map<String, Map<String, Integer>> offsets = new HashMap<>();

  static {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(Struct.class.getResourceAsStream("/abi.txt"), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ");
        if (!words[0].equals("struct")) continue;
        String name = words[1].substring("bandana_".length());
        // The first line of each is its size.
        if (sizes.putIfAbsent(name, Integer.valueOf(words[3])) == null) {
          offsets.put(name, new HashMap<>());
        } else {
          offsets.get(name).put(words[2], Integer.valueOf(words[3]));
        }
      }
    } catch (IOException why) {
      throw new ExceptionInInitializerError(why);
    }
  }

  private final ByteBuffer buffer;
  private final int base;
  private final long address;
  private final Map<String, Integer> fields;

  Struct(ByteBuffer buffer, int base, long address, String kind) {
    this.buffer = buffer;
    this.base = base;
    this.address = address;
    this.fields = offsets.get(kind);
  }

  static int sizeOf(String kind) {
    return sizes.get(kind);
  }

  /** One of the library's, readable while it lives. */
  static Struct at(long address, String kind) {
    return new Struct(view(address, sizeOf(kind)), 0, address, kind);
  }

  private static ByteBuffer view(long address, long size) {
    return Native.view(address, size).order(ByteOrder.nativeOrder());
  }

  long address() {
    return address;
  }

  private int place(String field) {
    return base + fields.get(field);
  }

  int i32(String field) {
    return buffer.getInt(place(field));
  }

  long i64(String field) {
    return buffer.getLong(place(field));
  }

  double f64(String field) {
    return buffer.getDouble(place(field));
  }

  Struct set(String field, int value) {
    buffer.putInt(place(field), value);
    return this;
  }

  Struct set(String field, long value) {
    buffer.putLong(place(field), value);
    return this;
  }

  Struct set(String field, double value) {
    buffer.putDouble(place(field), value);
    return this;
  }

  /** A bandana_bytes. */
  Struct set(String field, long data, long size) {
    buffer.putLong(place(field), data);
    buffer.putLong(place(field) + 8, size);
    return this;
  }

  /** A pointer and the count behind it. */
  Struct setArray(String field, long data, long count) {
    return set(field, data).set(field + "_count", count);
  }

  byte[] raw(String field, int size) {
    byte[] out = new byte[size];
    buffer.get(place(field), out);
    return out;
  }

  void setRaw(String field, byte[] value) {
    buffer.put(place(field), value);
  }

  byte[] bytes(String field) {
    return bytesAt(buffer.getLong(place(field)), buffer.getLong(place(field) + 8));
  }

  String text(String field) {
    return new String(bytes(field), StandardCharsets.UTF_8);
  }

  /** Text that ends with a zero. */
  String cString(String field) {
    return new String(Native.text(i64(field)), StandardCharsets.UTF_8);
  }

  static byte[] bytesAt(long address, long size) {
    byte[] out = new byte[Math.toIntExact(size)];
    if (size > 0) view(address, size).get(out);
    return out;
  }

  /** Element `i` of an array that a field points to. */
  Struct element(String field, long i, String kind) {
    return at(i64(field) + i * sizeOf(kind), kind);
  }

  double number(String field, long i) {
    return view(i64(field) + 8 * i, 8).getDouble(0);
  }
}
