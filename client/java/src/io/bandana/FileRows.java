package io.bandana;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The durable rows in one file of sealed records. A record is a commit, synced before the core hears of it; the file is
 * written anew, by rename, once much of it is old or something private was erased. Not thread-safe.
 *
 * <p>File: magic 16 | id 16 | records. A record: length u32 | nonce 12 | AES-256-GCM of the changes, bound to the id and
 * the record's number. The first record is all rows, after a check of the key. Numbers are big-endian.
 */
final class FileRows {
  private static final byte[] MAGIC = "bandana-rows-1\n\0".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
  private static final byte[] KEY_CHECK = "bandana device store".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
  private static final int KEY_BYTES = 32, NONCE_BYTES = 12, TAG_BITS = 128;
  private static final long SLACK = 1 << 16;
  private static final Set<Path> refused = java.util.concurrent.ConcurrentHashMap.newKeySet();

  /** One change: a table, a key and, unless it is erased, all cells. */
  static final class Change {
    final int table;
    final boolean erased;
    final List<Object> cells;

    Change(int table, boolean erased, List<Object> cells) {
      this.table = table;
      this.erased = erased;
      this.cells = cells;
    }
  }

  private final Path path;
  private final int[] keys; // columns of the key, by table
  private final SecureRandom random = new SecureRandom();
  private final Map<ByteBuffer, byte[]> rows = new LinkedHashMap<>(); // by table and key, a change in bytes
  private final byte[] secret;
  private FileChannel lockFile;
  private FileLock lock;
  private FileChannel file;
  private byte[] id;
  private SecretKeySpec key;
  private long number;
  private long whole; // bytes that the rows alone take
  private boolean broken;
  private boolean takenOver; // this process was refused the file since it had it last
  private boolean oldBytes; // something private was erased since the file was written anew

  FileRows(Path path, byte[] given, int[] keys) {
    this.path = path;
    this.keys = keys;
    if (given.length != 0 && given.length != KEY_BYTES) {
      throw invalid("store: key must have " + KEY_BYTES + " bytes, got " + given.length);
    }
    try {
      lock();
      boolean fresh = !Files.exists(path);
      secret = given.length > 0 ? given.clone() : ownKey(fresh);
      if (fresh) {
        writeAnew();
      } else {
        read();
      }
    } catch (IOException why) {
      close();
      throw unavailable("cannot open " + path + ": " + why.getMessage());
    } catch (RuntimeException why) {
      close();
      throw why;
    }
  }

  private void lock() throws IOException {
    Path at = Path.of(path + ".lock");
    lockFile = FileChannel.open(at, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    protect(at);
    try {
      lock = lockFile.tryLock();
    } catch (OverlappingFileLockException why) {
      lock = null;
    }
    if (lock == null) {
      refused.add(path.toAbsolutePath());
      throw unavailable(path + " is owned by another Store");
    }
    takenOver = refused.remove(path.toAbsolutePath());
  }

  private byte[] ownKey(boolean fresh) throws IOException {
    Path at = Path.of(path + ".key");
    try {
      byte[] own = Files.readAllBytes(at);
      if (own.length != KEY_BYTES) throw dataLoss(at + " is damaged: it is no key");
      return own;
    } catch (NoSuchFileException why) {
      if (!fresh) {
        throw new BandanaException(
            BandanaException.Status.FAILED_PRECONDITION,
            "device store: it is sealed: a key is needed, or, if it was made without one, the file " + at);
      }
      byte[] own = new byte[KEY_BYTES];
      random.nextBytes(own);
      replace(at, own);
      return own;
    }
  }

  // --- records -----------------------------------------------------------------------------------

  private byte[] cipher(int mode, long record, byte[] nonce, byte[] text, int offset, int length) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
    cipher.updateAAD(id);
    cipher.updateAAD(ByteBuffer.allocate(8).putLong(record).flip());
    return cipher.doFinal(text, offset, length);
  }

  private ByteBuffer seal(long record, byte[] plain) {
    byte[] nonce = new byte[NONCE_BYTES];
    random.nextBytes(nonce);
    try {
      byte[] sealed = cipher(Cipher.ENCRYPT_MODE, record, nonce, plain, 0, plain.length);
      return ByteBuffer.allocate(4 + NONCE_BYTES + sealed.length).putInt(NONCE_BYTES + sealed.length).put(nonce).put(sealed).flip();
    } catch (GeneralSecurityException why) {
      throw unavailable("the cipher failed");
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  private void derive() {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      mac.update(MAGIC);
      key = new SecretKeySpec(mac.doFinal(id), "AES");
    } catch (GeneralSecurityException why) {
      throw unavailable("the cipher failed");
    }
  }

  private static byte[] encode(Change change) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(change.table);
      out.writeBoolean(change.erased);
      out.writeShort(change.cells.size());
      for (Object cell : change.cells) {
        if (cell instanceof Long) {
          out.writeByte(0);
          out.writeLong((Long) cell);
        } else if (cell instanceof Double) {
          out.writeByte(1);
          out.writeLong(Double.doubleToRawLongBits((Double) cell));
        } else {
          out.writeByte(2);
          out.writeInt(((byte[]) cell).length);
          out.write((byte[]) cell);
        }
      }
    } catch (IOException why) {
      throw new AssertionError(why);
    }
    return bytes.toByteArray();
  }

  private static Change decode(DataInputStream in) throws IOException {
    int table = in.readUnsignedByte();
    boolean erased = in.readBoolean();
    int count = in.readUnsignedShort();
    List<Object> cells = new ArrayList<>(count);
    for (int i = 0; i < count; ++i) {
      int kind = in.readUnsignedByte();
      if (kind == 0) {
        cells.add(in.readLong());
      } else if (kind == 1) {
        cells.add(Double.longBitsToDouble(in.readLong()));
      } else {
        int size = in.readInt();
        if (kind != 2 || size < 0 || size > in.available()) throw new IOException("a cell is damaged");
        cells.add(in.readNBytes(size));
      }
    }
    return new Change(table, erased, cells);
  }

  private void apply(Change change, byte[] bytes) {
    int keyCells = change.table < keys.length ? keys[change.table] : 0;
    if (keyCells == 0 || change.cells.size() < keyCells) throw dataLoss("a row is damaged");
    ByteBuffer name = ByteBuffer.wrap(encode(new Change(change.table, true, change.cells.subList(0, keyCells))));
    byte[] former = change.erased ? rows.remove(name) : rows.put(name, bytes);
    if (former != null) {
      whole -= former.length;
      Arrays.fill(former, (byte) 0);
    }
    if (!change.erased) whole += bytes.length;
  }

  // --- the file ----------------------------------------------------------------------------------

  private void read() throws IOException {
    byte[] all = Files.readAllBytes(path);
    if (all.length < 32 || !Arrays.equals(all, 0, 16, MAGIC, 0, 16)) throw dataLoss(path + " is not a bandana rows file");
    id = Arrays.copyOfRange(all, 16, 32);
    derive();
    int at = 32;
    while (at < all.length) {
      long length = at + 4 <= all.length ? Integer.toUnsignedLong(ByteBuffer.wrap(all, at, 4).getInt()) : Long.MAX_VALUE;
      boolean whole = length <= all.length - at - 4 && length >= NONCE_BYTES + TAG_BITS / 8;
      byte[] plain = null;
      if (whole) {
        byte[] nonce = Arrays.copyOfRange(all, at + 4, at + 4 + NONCE_BYTES);
        try {
          plain = cipher(Cipher.DECRYPT_MODE, number, nonce, all, at + 4 + NONCE_BYTES, (int) length - NONCE_BYTES);
        } catch (GeneralSecurityException why) {
          plain = null;
        }
      }
      if (plain == null) {
        if (number == 0 && whole) {
          throw new BandanaException(
              BandanaException.Status.FAILED_PRECONDITION, "device store: the key is not the one it was sealed with, or the file is damaged");
        }
        // The last one may be torn: its commit was never answered. Anything else is damage.
        if (number == 0 || (whole && at + 4 + length < all.length)) throw dataLoss(path + " is damaged");
        break;
      }
      take(plain);
      at += 4 + (int) length;
    }
    if (number == 0) throw dataLoss(path + " is torn");
    file = FileChannel.open(path, StandardOpenOption.WRITE);
    protect(path);
    file.truncate(at);
    file.position(at);
    file.force(true);
  }

  private void take(byte[] plain) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(plain));
    if (number == 0 && !Arrays.equals(in.readNBytes(KEY_CHECK.length), KEY_CHECK)) throw dataLoss(path + " is damaged");
    while (in.available() > 0) {
      Change change = decode(in);
      apply(change, encode(change));
    }
    Arrays.fill(plain, (byte) 0);
    ++number;
  }

  private void writeAnew() throws IOException {
    byte[] fresh = new byte[16];
    random.nextBytes(fresh);
    id = fresh;
    derive();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(KEY_CHECK);
    for (byte[] row : rows.values()) all.write(row);
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    content.write(MAGIC);
    content.write(id);
    content.write(seal(0, all.toByteArray()).array());
    replace(path, content.toByteArray());
    if (file != null) file.close();
    file = FileChannel.open(path, StandardOpenOption.WRITE);
    file.position(file.size());
    number = 1;
    oldBytes = false;
  }

  private static void protect(Path file) throws IOException {
    if (Files.getFileStore(file).supportsFileAttributeView("posix")) {
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }
  }

  private static void replace(Path to, byte[] content) throws IOException {
    Path draft = Path.of(to + ".new");
    Files.deleteIfExists(draft);
    try (FileChannel out = FileChannel.open(draft, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      protect(draft);
      for (ByteBuffer left = ByteBuffer.wrap(content); left.hasRemaining(); ) out.write(left);
      out.force(true);
    }
    Files.move(draft, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    Path folder = to.toAbsolutePath().getParent();
    try (FileChannel in = FileChannel.open(folder, Set.of(StandardOpenOption.READ))) {
      in.force(true);
    }
  }

  // --- for the device ----------------------------------------------------------------------------

  interface Visit {
    void row(int table, List<Object> cells);
  }

  void visit(Visit visit) {
    for (byte[] row : rows.values()) {
      try {
        Change change = decode(new DataInputStream(new ByteArrayInputStream(row)));
        visit.row(change.table, change.cells);
      } catch (IOException why) {
        throw dataLoss("a row is damaged");
      }
    }
  }

  boolean takenOver() {
    return takenOver;
  }

  boolean broken() {
    return broken;
  }

  /** Makes all durable or nothing. After UNAVAILABLE look at broken(). */
  void commit(List<Change> changes, boolean erasedPrivate) {
    if (broken) throw unavailable("I/O failed before; open it anew");
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    List<byte[]> encoded = new ArrayList<>();
    for (Change change : changes) {
      byte[] bytes = encode(change);
      encoded.add(bytes);
      all.writeBytes(bytes);
    }
    ByteBuffer record = seal(number, all.toByteArray());
    long before = 0;
    try {
      before = file.position();
      while (record.hasRemaining()) file.write(record);
    } catch (IOException why) {
      try {
        file.truncate(before); // nothing of it stays
        file.position(before);
        file.force(true);
      } catch (IOException again) {
        broken = true;
      }
      throw unavailable(String.valueOf(why.getMessage()));
    }
    try {
      file.force(false);
    } catch (IOException why) {
      broken = true; // nobody knows what is on the disk
      throw unavailable(String.valueOf(why.getMessage()));
    }
    ++number;
    for (int i = 0; i < changes.size(); ++i) apply(changes.get(i), encoded.get(i));
    oldBytes = oldBytes || erasedPrivate;
  }

  boolean wantsTidying() {
    return oldBytes;
  }

  /** Writes the file anew where much of it is old, or, with `now`, where private bytes are. */
  void tidy(boolean now) {
    try {
      if (broken || !(now && oldBytes || file.size() > 2 * whole + SLACK)) return;
      writeAnew();
    } catch (IOException why) {
      // The former file may be gone, or the new one not synced.
      broken = true;
    }
  }

  void close() {
    try {
      if (file != null) file.close();
      if (lock != null) lock.release();
      if (lockFile != null) lockFile.close();
    } catch (IOException why) {
      // Every commit was synced.
    }
    for (byte[] row : rows.values()) Arrays.fill(row, (byte) 0);
    rows.clear();
  }

  private static BandanaException invalid(String message) {
    return new BandanaException(BandanaException.Status.INVALID_ARGUMENT, message);
  }

  private static BandanaException unavailable(String message) {
    return new BandanaException(BandanaException.Status.UNAVAILABLE, "device store: " + message);
  }

  private static BandanaException dataLoss(String message) {
    return new BandanaException(BandanaException.Status.DATA_LOSS, "device store: " + message);
  }
}
