package io.bandana;

import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/** The core behind its hooks: rows in a file or nowhere, calls over HTTP, one alarm, futures for results. Thread-safe. */
final class Device implements Native.Hooks {
  static final int STARTED = 1, CONNECTED = 2, SELECTED = 3, REFRESHED = 5, QUEUED = 6, DELIVERED = 7;
  static final int READ_SPENT = 9, READ_LEDGER = 10, READ_STREAMS = 11;
  private static final AtomicLong contexts = new AtomicLong();
  private static final long TIDY_SECONDS = 10;

  interface Ask {
    int ask(long tag);
  }

  final int handle;
  private final long context = contexts.incrementAndGet();
  private final ReentrantLock lock = new ReentrantLock();
  private final FileRows rows;
  private final Anchor anchor;
  private final Map<Long, CompletableFuture<Object>> waiting = new HashMap<>();
  private final Map<Long, IntConsumer> deliveries = new HashMap<>();
  private final Map<String, Caller.Target> targets = new HashMap<>();
  private final Caller caller = new Caller();
  private final ScheduledExecutorService alarm =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "bandana-alarm");
            thread.setDaemon(true);
            return thread;
          });
  private List<Runnable> told = new ArrayList<>(); // of the application, once the lock is left
  private ScheduledFuture<?> nextWake;
  private boolean tidyAsked;
  private BandanaException failed;
  private boolean stopped;
  private long tags;
  final boolean rolledBack;

  /** `path` null: nothing survives the process. */
  Device(Path path, byte[] key) {
    int[] keys = keyColumns();
    rows = path == null ? null : new FileRows(path, key, keys);
    Anchor beside = null;
    int made = 0;
    try {
      beside = path == null ? null : new Anchor(Path.of(path + ".anchor"));
      Native.add(context, this);
      long device = Native.deviceNew(context);
      Native.check(device < 0 ? (int) -device : 0);
      made = (int) device;
    } catch (RuntimeException why) {
      Native.remove(context);
      if (rows != null) rows.close();
      throw why;
    }
    anchor = beside;
    handle = made;
    try {
      rolledBack = start(path);
    } catch (RuntimeException why) {
      close();
      throw why;
    }
  }

  private static int[] keyColumns() {
    List<Integer> keys = new ArrayList<>();
    Memory memory = new Memory();
    Struct table = memory.sized("table");
    while (Native.tableForm(keys.size(), table.address()) == 0) keys.add(table.i32("keys"));
    return keys.stream().mapToInt(Integer::intValue).toArray();
  }

  private boolean start(Path path) {
    Memory memory = new Memory();
    Struct start = memory.sized("start_of");
    if (rows != null) {
      long[] position = {0};
      boolean[] any = {false};
      rows.visit(
          (table, cells) -> {
            Memory of = new Memory();
            Native.check(Native.load(handle, table, of.cells(cells), cells.size()));
            Reference.reachabilityFence(of);
            any[0] = true;
            if (table == 0) position[0] = (Long) cells.get(4);
          });
      if (!anchor.exists() && position[0] > 0) {
        throw dataLoss(path + ".anchor is missing: " + path + " may be an older copy of itself");
      }
      if (!any[0] && anchor.position() > 0) {
        throw dataLoss(path + " is gone, and with it the ledger: restore it, or remove " + path + ".anchor to begin anew");
      }
      start.set("durable", 1).set("taken_over", rows.takenOver() ? 1 : 0);
      if (any[0] && anchor.exists()) {
        Struct seen = memory.sized("mark");
        anchor.fill(seen);
        start.set("seen", seen.address());
      }
    }
    boolean older = (boolean) Client.wait(ask(tag -> Native.start(handle, start.address(), tag)));
    Reference.reachabilityFence(memory);
    return older;
  }

  private static BandanaException dataLoss(String message) {
    return new BandanaException(BandanaException.Status.DATA_LOSS, "device store: " + message);
  }

  void close() {
    lock.lock();
    try {
      if (stopped) return;
      stopped = true;
      if (failed == null) Native.deviceFree(handle);
      Native.remove(context);
      failWaiting(new BandanaException(BandanaException.Status.CANCELLED, "device: it was closed"));
      if (rows != null) {
        rows.tidy(true);
        rows.close();
        if (anchor != null) anchor.close();
      }
    } finally {
      lock.unlock();
    }
    caller.stop();
    alarm.shutdownNow();
    tell();
  }

  /** Nobody knows what the rows are any more: the device ends. The lock is held. */
  @Override
  public void fail(BandanaException why) {
    if (failed == null) {
      failed = why;
      Native.deviceFree(handle);
    }
    failWaiting(why);
  }

  private void failWaiting(BandanaException why) {
    for (CompletableFuture<Object> future : waiting.values()) told.add(() -> future.completeExceptionally(why));
    waiting.clear();
    deliveries.clear();
  }

  /** Runs inside, then tells the application what came of it. */
  <T> T run(Supplier<T> inside) {
    lock.lock();
    try {
      if (failed != null) throw failed;
      if (stopped) throw new BandanaException(BandanaException.Status.CANCELLED, "device: it was closed");
      return inside.get();
    } finally {
      lock.unlock();
      if (!lock.isHeldByCurrentThread()) tell();
    }
  }

  CompletableFuture<Object> ask(Ask ask) {
    return ask(ask, null);
  }

  /** `delivered` hears of the delivery of a report. */
  CompletableFuture<Object> ask(Ask ask, IntConsumer delivered) {
    CompletableFuture<Object> future = new CompletableFuture<>();
    run(
        () -> {
          long tag = ++tags;
          waiting.put(tag, future);
          if (delivered != null) deliveries.put(tag, delivered);
          int code = ask.ask(tag);
          if (code != 0) {
            String error = Native.error();
            waiting.remove(tag);
            deliveries.remove(tag);
            throw new BandanaException(BandanaException.Status.of(code), error);
          }
          return null;
        });
    return future;
  }

  void reach(Caller.Target target) {
    run(() -> targets.put(target.url, target));
  }

  private void tell() {
    while (true) {
      List<Runnable> now;
      lock.lock();
      try {
        if (told.isEmpty()) return;
        now = told;
        told = new ArrayList<>();
      } finally {
        lock.unlock();
      }
      for (Runnable one : now) {
        try {
          one.run();
        } catch (RuntimeException why) { // of the application
          Thread.currentThread().getUncaughtExceptionHandler().uncaughtException(Thread.currentThread(), why);
        }
      }
    }
  }

  // --- hooks: the lock is held -------------------------------------------------------------------

  @Override
  public void onCall(Struct given) {
    Caller.Call call = new Caller.Call();
    call.id = given.i64("id");
    call.path = given.cString("path");
    for (long i = 0; i < given.i64("headers_count"); ++i) {
      Struct header = given.element("headers", i, "header");
      call.headers.add(new String[] {header.cString("name"), header.cString("value")});
    }
    call.body = given.bytes("body");
    call.deadlineMs = given.i64("deadline_ms");
    call.waitForReady = given.i32("wait_for_ready") != 0;
    call.keepConnection = given.i32("keep_connection") != 0;
    caller.make(call, targets.get(given.text("target")), this::answered);
  }

  private void answered(long call, Caller.Answer answer) {
    try {
      run(
          () -> {
            Memory memory = new Memory();
            Struct given = memory.sized("answer_of_call");
            given.set("http_status", answer.status);
            long headers =
                memory.array(
                    "header",
                    answer.headers,
                    (header, value) -> header.set("name", memory.cString(value[0])).set("value", memory.cString(value[1])));
            given.setArray("headers", headers, answer.headers.size());
            memory.put(given, "body", answer.body);
            Native.check(Native.answer(handle, call, given.address()));
            Reference.reachabilityFence(memory);
            return null;
          });
    } catch (BandanaException why) {
      // It was closed meanwhile.
    }
  }

  @Override
  public void onCommit(Struct given) {
    long id = given.i64("id");
    if (rows == null) {
      Native.committed(handle, id, 0);
      return;
    }
    List<FileRows.Change> changes = new ArrayList<>();
    for (long i = 0; i < given.i64("count"); ++i) {
      Struct change = given.element("changes", i, "change");
      List<Object> cells = new ArrayList<>();
      for (long k = 0; k < change.i64("count"); ++k) {
        Struct cell = change.element("cells", k, "cell");
        int kind = cell.i32("kind");
        cells.add(kind == 0 ? (Object) cell.i64("integer") : kind == 1 ? (Object) cell.f64("real") : cell.bytes("bytes"));
      }
      changes.add(new FileRows.Change(change.i32("table"), change.i32("erased") != 0, cells));
    }
    try {
      rows.commit(changes, given.i32("erased_private") != 0);
    } catch (BandanaException why) {
      if (rows.broken()) {
        fail(why);
      } else {
        Native.committed(handle, id, why.status().code);
      }
      return;
    }
    Native.committed(handle, id, 0);
    rows.tidy(false);
    if (rows.wantsTidying() && !tidyAsked) {
      tidyAsked = true;
      alarm.schedule(this::tidy, TIDY_SECONDS, TimeUnit.SECONDS);
    }
  }

  private void tidy() {
    lock.lock();
    try {
      tidyAsked = false;
      if (!stopped) rows.tidy(true);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void onMark(Struct given) {
    if (anchor != null) anchor.write(given);
  }

  @Override
  public void onWake(long elapsed) {
    if (nextWake != null) nextWake.cancel(false);
    nextWake = null;
    if (elapsed >= 0) setAlarm(elapsed);
  }

  // A machine that slept is looked at again in time.
  private void setAlarm(long elapsed) {
    long wait = Math.max(0, Math.min(elapsed - Native.elapsed(), TimeUnit.SECONDS.toNanos(10)));
    nextWake = alarm.schedule(() -> ring(elapsed), wait, TimeUnit.NANOSECONDS);
  }

  private void ring(long elapsed) {
    try {
      run(
          () -> {
            if (Native.elapsed() < elapsed) {
              setAlarm(elapsed);
            } else {
              Native.check(Native.wake(handle));
            }
            return null;
          });
    } catch (BandanaException why) {
      // It was closed meanwhile.
    }
  }

  @Override
  public void onTell(Struct result) {
    long tag = result.i64("tag");
    int kind = result.i32("kind"), code = result.i32("code");
    if (kind == DELIVERED) {
      IntConsumer delivered = deliveries.remove(tag);
      int value = result.i32("value");
      if (delivered != null) told.add(() -> delivered.accept(value));
      return;
    }
    CompletableFuture<Object> future = waiting.remove(tag);
    if (kind == QUEUED && code != 0) deliveries.remove(tag);
    if (future == null) return;
    if (code != 0) {
      BandanaException.Status status = BandanaException.Status.of(code);
      String distrust = caller.distrust();
      boolean noAnswer = status == BandanaException.Status.UNAVAILABLE || status == BandanaException.Status.DEADLINE_EXCEEDED;
      String more = noAnswer && !distrust.isEmpty() ? " (" + distrust + ")" : "";
      BandanaException why = new BandanaException(status, result.text("message") + more);
      told.add(() -> future.completeExceptionally(why));
    } else {
      Object value = Values.resultOf(result);
      told.add(() -> future.complete(value));
    }
  }
}
