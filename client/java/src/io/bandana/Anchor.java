package io.bandana;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * A file beside the rows that remembers how far they had come, as that of the C++ SDK (client/src/store/anchor.h): two
 * slots with a checksum each, written in turn. Not thread-safe.
 */
final class Anchor {
  private static final int SLOT = 512, BODY = 88, SUM = 8;
  private static final byte[] MAGIC = "bdanchr1".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
  private final Path path;
  private byte[] newest; // identity 16 | position, run, events, streams u64 | ledger hash 32; null: none yet
  private FileChannel file;

  Anchor(Path path) {
    this.path = path;
    if (!Files.exists(path)) return;
    try {
      byte[] all = Files.readAllBytes(path);
      for (int at = 0; at + SLOT <= all.length; at += SLOT) {
        byte[] body = Arrays.copyOfRange(all, at, at + BODY);
        if (!Arrays.equals(body, 0, 8, MAGIC, 0, 8)) continue;
        if (!Arrays.equals(sum(body), 0, SUM, all, at + BODY, at + BODY + SUM)) continue;
        byte[] mark = Arrays.copyOfRange(body, 8, BODY);
        if (newest == null || position(mark) > position(newest)) newest = mark;
      }
    } catch (IOException why) {
      throw new BandanaException(BandanaException.Status.UNAVAILABLE, "device store: cannot open " + path + ": " + why.getMessage());
    }
    if (newest == null) throw new BandanaException(BandanaException.Status.DATA_LOSS, "device store: " + path + " is damaged");
  }

  private static byte[] sum(byte[] body) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(body);
    } catch (NoSuchAlgorithmException why) {
      throw new AssertionError(why);
    }
  }

  private static long position(byte[] mark) {
    return ByteBuffer.wrap(mark).order(ByteOrder.LITTLE_ENDIAN).getLong(16);
  }

  boolean exists() {
    return newest != null;
  }

  long position() {
    return newest == null ? 0 : position(newest);
  }

  void fill(Struct mark) {
    ByteBuffer in = ByteBuffer.wrap(newest).order(ByteOrder.LITTLE_ENDIAN);
    mark.setRaw("identity", Arrays.copyOfRange(newest, 0, 16));
    mark.set("position", in.getLong(16)).set("run", in.getLong(24)).set("events", in.getLong(32)).set("streams", in.getLong(40));
    mark.setRaw("ledger_hash", Arrays.copyOfRange(newest, 48, 80));
  }

  /** What is durable alone. A failed write costs nothing but the notice. */
  void write(Struct mark) {
    ByteBuffer out = ByteBuffer.allocate(80).order(ByteOrder.LITTLE_ENDIAN);
    out.put(mark.raw("identity", 16));
    for (String field : new String[] {"position", "run", "events", "streams"}) out.putLong(mark.i64(field));
    out.put(mark.raw("ledger_hash", 32));
    byte[] body = ByteBuffer.allocate(BODY).put(MAGIC).put(out.array()).array();
    byte[] slot = ByteBuffer.allocate(SLOT).put(body).put(sum(body), 0, SUM).array();
    try {
      if (file == null) open(slot);
      file.write(ByteBuffer.wrap(slot), position(out.array()) % 2 * SLOT);
      newest = out.array();
    } catch (IOException why) {
      // As said above.
    }
  }

  private void open(byte[] slot) throws IOException {
    boolean made = !Files.exists(path);
    file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    if (!made) return;
    if (Files.getFileStore(path).supportsFileAttributeView("posix")) {
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    }
    file.write(ByteBuffer.allocate(2 * SLOT).put(slot).put(slot).flip(), 0);
    file.force(true);
  }

  void close() {
    try {
      if (file == null) return;
      file.force(false);
      file.close();
    } catch (IOException why) {
      // As said above.
    }
  }
}
