package io.bandana;

import java.nio.file.Path;

/**
 * The durable memory of the device: privacy ledger, open decisions, reports on their way. Beside the file lie
 * `path`.anchor, `path`.lock and, without a key, the store's own `path`.key. Many clients may share a store; one Store at
 * a time has the file. Thread-safe.
 */
public final class Store implements AutoCloseable {
  final Device device;

  private Store(Device device) {
    this.device = device;
  }

  /** Errors: UNAVAILABLE I/O, or another Store has it; DATA_LOSS damaged, or its anchor is missing; FAILED_PRECONDITION another key. */
  public static Store open(String path) {
    return open(path, new byte[0]);
  }

  /** `key`: 32 random bytes that only the application has. */
  public static Store open(String path, byte[] key) {
    return new Store(new Device(Path.of(path), key));
  }

  /** Nothing survives the process. Local models refuse it. */
  public static Store inMemory() {
    return new Store(new Device(null, new byte[0]));
  }

  /** Whether the file was an older copy of itself. Then every user is charged for what it may have forgotten. */
  public boolean rolledBack() {
    return device.rolledBack;
  }

  /** Ends its clients. Queued reports stay in the file. */
  @Override
  public void close() {
    device.close();
  }
}
