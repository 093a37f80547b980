package io.bandana;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The functions of bandana.h. A pointer is a long; Memory and Struct lay structs out. */
final class Native {
  private static final Map<Long, Hooks> devices = new ConcurrentHashMap<>();

  static {
    load();
  }

  private Native() {}

  /** From the folder of -Dbandana.library, or from the jar by way of a folder that goes with the process. */
  private static void load() {
    String folder = System.getProperty("bandana.library");
    try {
      Path from = folder == null ? Files.createTempDirectory("bandana") : Path.of(folder);
      for (String name : new String[] {"libbandana.so.0", "libbandana_jni.so"}) {
        Path file = from.resolve(name);
        if (folder == null) {
          try (InputStream in = Native.class.getResourceAsStream("/native/" + System.getProperty("os.arch") + "/" + name)) {
            if (in == null) throw new UnsatisfiedLinkError("the jar has no " + name + " for " + System.getProperty("os.arch"));
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
          }
        }
        System.load(file.toAbsolutePath().toString());
        if (folder == null) Files.delete(file); // it stays mapped
      }
      if (folder == null) Files.delete(from);
    } catch (IOException why) {
      throw new UnsatisfiedLinkError("cannot unpack the library: " + why);
    }
  }

  /** As bandana_hooks. */
  interface Hooks {
    void onCall(Struct call);

    void onCommit(Struct commit);

    void onMark(Struct mark);

    void onTell(Struct result);

    void onWake(long elapsed);

    void fail(BandanaException why);
  }

  static void check(int code) {
    if (code != 0) throw new BandanaException(BandanaException.Status.of(code), error());
  }

  static void add(long context, Hooks device) {
    devices.put(context, device);
  }

  static void remove(long context) {
    devices.remove(context);
  }

  // Nothing may leave a hook: C code stands below it.

  static void onCall(long context, long given) {
    hook(context, device -> device.onCall(Struct.at(given, "call")));
  }

  static void onCommit(long context, long given) {
    hook(context, device -> device.onCommit(Struct.at(given, "commit")));
  }

  static void onMark(long context, long given) {
    hook(context, device -> device.onMark(Struct.at(given, "mark")));
  }

  static void onTell(long context, long given) {
    hook(context, device -> device.onTell(Struct.at(given, "result")));
  }

  static void onWake(long context, long elapsed) {
    hook(context, device -> device.onWake(elapsed));
  }

  /** Of scripted libraries alone: the hooks that a test puts in the place of a device's. */
  interface Script {
    int random(long out, long size);
  }

  static Script script;

  static int onRandom(long context, long out, long size) {
    return script.random(out, size);
  }

  /** Of scripted libraries alone: what the clocks say from now on. */
  static native void script(long wall, long elapsed);

  private interface Hook {
    void run(Hooks device);
  }

  private static void hook(long context, Hook hook) {
    Hooks device = devices.get(context);
    if (device == null) return;
    try {
      hook.run(device);
    } catch (Throwable why) {
      device.fail(new BandanaException(BandanaException.Status.UNAVAILABLE, "device: a hook failed: " + why.getClass().getSimpleName()));
    }
  }

  static native long address(ByteBuffer direct);

  static native ByteBuffer view(long at, long size);

  static String error() {
    return new String(errorText(), StandardCharsets.UTF_8);
  }

  static native byte[] errorText();

  /** Text that ends with a zero. */
  static native byte[] text(long at);

  static native String version();

  static native long elapsed();

  static native long deviceNew(long context);

  static native int deviceFree(int device);

  static native int tableForm(int table, long out);

  static native int load(int device, int table, long cells, long count);

  static native int start(int device, long start, long tag);

  static native void optionsInit(long options);

  static native int connect(int device, long options, long tag);

  static native int close(int device, int client);

  static native int select(int device, int client, long request, long tag);

  static native int activate(int device, int client, long handle, long tag);

  static native int adopt(int device, int client, long user, long answer, long tag);

  static native int report(int device, int client, long report, long tag);

  static native int refreshPosterior(int device, int client, long user, long tag);

  static native int readSpent(int device, int client, long user, long tag);

  static native int readStreams(int device, int client, long user, long tag);

  static native int readLedger(int device, int client, long user, double delta, long tag);

  static native int begin(int device, int client);

  static native int flush(int device, int client, long tag);

  static native int getStats(int device, int client, long out);

  static native int getModel(int device, int client, long out);

  static native int wake(int device);

  static native int answer(int device, long call, long answer);

  static native int committed(int device, long commit, int code);
}
