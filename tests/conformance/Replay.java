package io.bandana;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Runs schedules on the core under Java, over its file of rows, and compares what the hooks were given (README.md).
 * Usage: Replay SCHEDULES FOLDER, with -Dbandana.library of the scripted library. Exit 1 where anything differs.
 */
final class Replay implements Native.Hooks, Native.Script {
  private static final HexFormat HEX = HexFormat.of();
  private static final double[] FEATURES = {1, 0, 0, 1, 0.6, 0.8};
  private static final int[] IDS = {3, 4, 5};
  private static long contexts;

  private final String schedule;
  private final Path path;
  private final long context = ++contexts;
  private final List<byte[]> handles = new ArrayList<>();
  private List<String> lines = new ArrayList<>();
  private List<FileRows.Change> changes = new ArrayList<>();
  private boolean erasedPrivate;
  private FileRows rows;
  private Anchor anchor;
  private int device;
  private int client;
  private long held = -1;
  private long drawn;
  private long tag;
  private String commits = "stand";
  private boolean entropyFails;

  Replay(String schedule, Path path) {
    this.schedule = schedule;
    this.path = path;
    Native.add(context, this);
    Native.script = this;
  }

  // --- hooks -------------------------------------------------------------------------------------

  @Override
  public void onCall(Struct call) {
    StringBuilder line = new StringBuilder("call " + call.i64("id") + " " + call.cString("path") + " " + HEX.formatHex(call.bytes("body")));
    for (long i = 0; i < call.i64("headers_count"); ++i) {
      Struct header = call.element("headers", i, "header");
      line.append(" ").append(header.cString("name")).append("=").append(header.cString("value"));
    }
    lines.add(line + " " + call.i64("deadline_ms") + " " + call.i32("wait_for_ready") + " " + call.i32("keep_connection") + " " + call.text("target"));
  }

  @Override
  public void onCommit(Struct commit) {
    changes = new ArrayList<>();
    erasedPrivate = commit.i32("erased_private") != 0;
    lines.add("commit " + commit.i64("id") + " " + commit.i32("erased_private"));
    for (long i = 0; i < commit.i64("count"); ++i) {
      Struct change = commit.element("changes", i, "change");
      boolean erased = change.i32("erased") != 0;
      StringBuilder line = new StringBuilder((erased ? "erase " : "put ") + change.i32("table"));
      List<Object> cells = new ArrayList<>();
      for (long k = 0; k < change.i64("count"); ++k) {
        Struct cell = change.element("cells", k, "cell");
        int kind = cell.i32("kind");
        if (kind == 0) {
          cells.add(cell.i64("integer"));
          line.append(" i").append(cell.i64("integer"));
        } else if (kind == 1) {
          cells.add(cell.f64("real"));
          line.append(" r").append(Long.toUnsignedString(Double.doubleToRawLongBits(cell.f64("real"))));
        } else {
          cells.add(cell.bytes("bytes"));
          line.append(" b").append(HEX.formatHex(cell.bytes("bytes")));
        }
      }
      changes.add(new FileRows.Change(change.i32("table"), erased, cells));
      lines.add(line.toString());
    }
    if (commits.equals("hold")) {
      held = commit.i64("id");
      return;
    }
    boolean stands = commits.equals("stand");
    if (stands) rows.commit(changes, erasedPrivate);
    Native.committed(device, commit.i64("id"), stands ? 0 : 14);
  }

  @Override
  public void onMark(Struct mark) {
    lines.add(
        "mark " + mark.i64("position") + " " + mark.i64("run") + " " + mark.i64("events") + " " + mark.i64("streams") + " "
            + HEX.formatHex(mark.raw("ledger_hash", 32)));
    anchor.write(mark);
  }

  @Override
  public void onWake(long elapsed) {
    lines.add("wake " + elapsed);
  }

  @Override
  public void onTell(Struct result) {
    StringBuilder line =
        new StringBuilder(
            "told " + result.i64("tag") + " " + result.i32("kind") + " " + result.i32("code") + " " + result.i32("client") + " " + result.i32("value"));
    for (long i = 0; i < result.i64("selections_count"); ++i) {
      handles.add(result.element("selections", i, "selection").bytes("handle"));
      line.append(" ").append(HEX.formatHex(handles.get(handles.size() - 1)));
    }
    if (result.i64("spent") != 0) line.append(" ").append(result.element("spent", 0, "spent").i64("events"));
    lines.add(line + " " + result.text("message"));
    if (result.i32("kind") == Device.CONNECTED && result.i32("code") == 0) client = result.i32("client");
  }

  @Override
  public void fail(BandanaException why) {
    lines.add("failed " + why.getMessage());
  }

  @Override
  public int random(long out, long size) {
    if (entropyFails) return 1;
    java.nio.ByteBuffer to = Native.view(out, size);
    try {
      for (int i = 0; i < size; ++i, ++drawn) {
        byte[] text = ("bandana schedule " + schedule + " " + drawn / 32).getBytes(StandardCharsets.US_ASCII);
        to.put(i, MessageDigest.getInstance("SHA-256").digest(text)[(int) (drawn % 32)]);
      }
    } catch (java.security.NoSuchAlgorithmException why) {
      throw new AssertionError(why);
    }
    return 0;
  }

  // --- steps -------------------------------------------------------------------------------------

  private void returned(String function, int code) {
    if (code != 0) lines.add("returned " + function + " " + code + " " + Native.error());
  }

  private void open() {
    close();
    client = 0;
    held = -1;
    commits = "stand";
    entropyFails = false;
    List<Integer> keys = new ArrayList<>();
    Memory memory = new Memory();
    Struct table = memory.sized("table");
    while (Native.tableForm(keys.size(), table.address()) == 0) keys.add(table.i32("keys"));
    rows = new FileRows(path, new byte[32], keys.stream().mapToInt(Integer::intValue).toArray());
    anchor = new Anchor(Path.of(path + ".anchor"));
    device = (int) Native.deviceNew(context);
    rows.visit(
        (number, cells) -> {
          Memory of = new Memory();
          returned("load", Native.load(device, number, of.cells(cells), cells.size()));
          java.lang.ref.Reference.reachabilityFence(of);
        });
    Struct start = memory.sized("start_of").set("durable", 1);
    if (anchor.exists()) {
      Struct seen = memory.sized("mark");
      anchor.fill(seen);
      start.set("seen", seen.address());
    }
    returned("start", Native.start(device, start.address(), ++tag));
  }

  void close() {
    if (rows == null) return;
    Native.deviceFree(device);
    rows.close();
    anchor.close();
  }

  private int connect(Memory memory, byte[] model, long leave, long events, long epsilon) {
    Struct options = memory.make("options");
    Native.optionsInit(options.address());
    memory.put(options, "target", "server");
    memory.put(options, "model", model);
    options.set("leave", (int) leave).set("events_per_user_max", events).set("epsilon_max", Double.longBitsToDouble(epsilon));
    return Native.connect(device, options.address(), ++tag);
  }

  private int select(Memory memory, byte[] user, long slots, long by) {
    Struct arms = memory.sized("arms");
    arms.setArray("features", memory.doubles(FEATURES), FEATURES.length).setArray("ids", memory.ints(IDS), IDS.length);
    Struct request = memory.sized("request").set("by", (int) by).set("top_k", 1).set("slots", (int) slots);
    memory.put(request, "user", user);
    request.set("arms", arms.address());
    return Native.select(device, client, request.address(), ++tag);
  }

  private int answer(Memory memory, long call, long status, byte[] body, List<String[]> headers) {
    Struct answer = memory.sized("answer_of_call").set("http_status", (int) status);
    memory.put(answer, "body", body);
    long made =
        memory.array("header", headers, (header, value) -> header.set("name", memory.cString(value[0])).set("value", memory.cString(value[1])));
    answer.setArray("headers", made, headers.size());
    return Native.answer(device, call, answer.address());
  }

  private List<String> run(List<Object> step) {
    Native.script(Long.parseLong((String) step.get(0)), Long.parseLong((String) step.get(1)));
    String kind = (String) step.get(2);
    byte[] text = HEX.parseHex((String) step.get(3));
    long number = Long.parseLong((String) step.get(4)), second = Long.parseLong((String) step.get(5));
    long bits = Long.parseUnsignedLong((String) step.get(6));
    Memory memory = new Memory();
    switch (kind) {
      case "open" -> open();
      case "connect" -> returned(kind, connect(memory, text, number, second, bits));
      case "select" -> returned(kind, select(memory, text, number, second));
      case "activate" -> returned(kind, Native.activate(device, client, memory.pointerTo(handles.get((int) number)), ++tag));
      case "report" -> {
        Struct report = memory.sized("report_of").set("reward", Double.longBitsToDouble(bits));
        memory.put(report, "handle", handles.get((int) number));
        returned(kind, Native.report(device, client, report.address(), ++tag));
      }
      case "refresh" -> returned(kind, Native.refreshPosterior(device, client, memory.pointerTo(text), ++tag));
      case "spent" -> returned(kind, Native.readSpent(device, client, memory.pointerTo(text), ++tag));
      case "begin" -> returned(kind, Native.begin(device, client));
      case "flush" -> returned(kind, Native.flush(device, client, ++tag));
      case "close" -> {
        returned(kind, Native.close(device, client));
        client = 0;
      }
      case "wake" -> returned(kind, Native.wake(device));
      case "answer" -> {
        List<String[]> headers = new ArrayList<>();
        for (Object pair : (List<?>) step.get(7)) headers.add(new String[] {(String) ((List<?>) pair).get(0), (String) ((List<?>) pair).get(1)});
        returned(kind, answer(memory, number, second, text, headers));
      }
      case "commits" -> commits = new String(text, StandardCharsets.US_ASCII);
      case "committed" -> {
        if (held >= 0) {
          if (number == 0) rows.commit(changes, erasedPrivate);
          long commit = held;
          held = -1;
          commits = "stand";
          returned(kind, Native.committed(device, commit, (int) number));
        }
      }
      case "entropy" -> entropyFails = number != 0;
      default -> throw new IllegalArgumentException(kind);
    }
    java.lang.ref.Reference.reachabilityFence(memory);
    List<String> said = lines;
    lines = new ArrayList<>();
    return said;
  }

  /** JSON of lists and texts: all that schedules have. */
  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    Object value() {
      if (text.charAt(at) == '[') {
        List<Object> list = new ArrayList<>();
        for (++at; text.charAt(at) != ']'; ) {
          list.add(value());
          if (text.charAt(at) == ',') ++at;
        }
        ++at;
        return list;
      }
      StringBuilder out = new StringBuilder();
      for (++at; text.charAt(at) != '"'; ++at) {
        if (text.charAt(at) != '\\') {
          out.append(text.charAt(at));
        } else if (text.charAt(++at) == 'u') {
          out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
          at += 4;
        } else {
          out.append(text.charAt(at) == 'n' ? '\n' : text.charAt(at));
        }
      }
      ++at;
      return out.toString();
    }
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] arguments) throws Exception {
    int runs = 0, steps = 0, differences = 0;
    try (BufferedReader file = Files.newBufferedReader(Path.of(arguments[0]))) {
      for (String line = file.readLine(); line != null; line = file.readLine(), ++runs) {
        List<Object> made = (List<Object>) new Json(line).value();
        Replay replay = new Replay((String) made.get(0), Path.of(arguments[1], "rows" + runs));
        int number = 0;
        for (Object step : (List<Object>) made.get(1)) {
          List<String> said = replay.run((List<Object>) step);
          ++steps;
          Object expected = ((List<Object>) step).get(8);
          if (!said.equals(expected)) {
            ++differences;
            System.out.println("schedule " + made.get(0) + " step " + number + ":\n  expected " + expected + "\n  got      " + said);
            break;
          }
          ++number;
        }
        replay.close();
      }
    }
    System.out.println("java: " + runs + " schedules, " + steps + " steps, " + differences + " differences");
    System.exit(differences > 0 || runs == 0 ? 1 : 0);
  }
}
