import io.bandana.Arms;
import io.bandana.BackendAnswer;
import io.bandana.BandanaException;
import io.bandana.BandanaException.Status;
import io.bandana.Client;
import io.bandana.Delivery;
import io.bandana.Options;
import io.bandana.Policy;
import io.bandana.Selection;
import io.bandana.Stats;
import io.bandana.Store;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The jar against a real server: its promises, and bad input in Java's own terms. Usage: ClientTest URL FOLDER [TEST]. */
public final class ClientTest {
  private static final Arms ROWS = Arms.inline(new double[] {1, 0}, new double[] {0, 1});
  private static String url;
  private static Path folder;
  private static int files;

  private static String path() {
    return folder.resolve("store" + ++files).toString();
  }

  private static void check(boolean holds, Object seen) {
    if (!holds) throw new AssertionError("seen: " + seen);
  }

  private interface Body {
    void run() throws Exception;
  }

  private static void refused(Status status, String text, Body body) throws Exception {
    try {
      try {
        body.run();
      } catch (java.util.concurrent.CompletionException why) {
        throw (Exception) why.getCause();
      }
    } catch (BandanaException why) {
      check(why.status() == status && why.getMessage().contains(text), why.status() + ": " + why.getMessage());
      return;
    }
    throw new AssertionError("not refused: " + text);
  }

  private static Client client(String model, Store store) {
    return new Client(url, model, store, new Options());
  }

  private static Client raw(String model) {
    return new Client(url, model, Store.inMemory(), new Options().policy(Policy.acceptAnything()));
  }

  private static Stats await(Client client, java.util.function.Predicate<Stats> condition) throws InterruptedException {
    for (int i = 0; i < 300; ++i) {
      Stats stats = client.stats();
      if (condition.test(stats)) return stats;
      Thread.sleep(100);
    }
    throw new AssertionError("not within 30 s");
  }

  static void aWindowReportsReactionsAndTheirAbsenceAlike() throws Exception {
    try (Store store = Store.open(path());
        Client client = client("window", store)) {
      check(client.model().local && client.model().rewardWindowMs == 1000 && client.model().epsilon == 2, client.model().rewardWindowMs);
      List<Delivery> delivered = Collections.synchronizedList(new ArrayList<>());
      Selection shown = client.select("ann", ROWS);
      client.select("ann", ROWS);
      client.reportAsync(shown.handle(), 1, -1, delivered::add).get();
      check(client.stats().deliveryAttempts == 0, client.stats().deliveryAttempts);
      Stats stats = await(client, now -> now.reportsApplied == 2);
      check(stats.reportsQueued == 2 && stats.reportsDefaulted == 1, stats.reportsDefaulted);
      check(client.spent("ann").events == 2 && client.spent("ann").epsilonUser == 4, client.spent("ann").events);
      check(client.streams("ann").isEmpty() && Math.abs(client.readings("ann", 0).epsilonPure - 4) < 1e-9, client.readings("ann", 0).epsilonPure);
      for (int i = 0; i < 50 && delivered.isEmpty(); ++i) Thread.sleep(100);
      check(delivered.equals(List.of(Delivery.APPLIED)), delivered);
    }
  }

  static void everyKindOfDecision() throws Exception {
    try (Store store = Store.open(path());
        Client client = client("long", store);
        Client effects = client("effects", store)) {
      check(client.selectSlots("bob", ROWS, 2).size() == 2, "");
      Selection deferred = client.selectDeferred("bob", ROWS, 2, 1);
      refused(Status.FAILED_PRECONDITION, "", () -> client.report(deferred, 1));
      check(client.spent("bob").events == 2, "");
      client.activate(deferred);
      client.report(deferred, 1);
      check(client.spent("bob").events == 3, "");
      check(effects.refreshPosterior("bob"), "");
      effects.report(effects.selectOnDevice("bob", Arms.inline(new double[] {1, 0}).ids(3), 1, 0), 0.5);
      check(effects.flush(20_000) && effects.stats().reportsApplied == 1, effects.stats().reportsApplied);
    }
  }

  // As a backend has it: a call, and an answer of one level. Of an answer with more, the fields that it looks for.
  private static Map<String, Object> backend(String path, String body) throws Exception {
    HttpURLConnection call = (HttpURLConnection) URI.create(url + "/v1/models/" + path).toURL().openConnection();
    if (body != null) {
      call.setDoOutput(true);
      call.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
    }
    Map<String, Object> fields = new HashMap<>();
    try (InputStream in = call.getInputStream()) {
      Matcher field = Pattern.compile("\"(\\w+)\": *(?:\\[([^\\[\\]{}]*)\\]|\"?([^\",{}\\[\\]]+))").matcher(new String(in.readAllBytes(), StandardCharsets.UTF_8));
      while (field.find()) fields.putIfAbsent(field.group(1), field.group(2) == null ? field.group(3) : Arrays.asList(field.group(2).split(" *, *")));
    }
    return fields;
  }

  private static BackendAnswer answerOf(String user, String model, String hash, long decided, Map<String, Object> selection, String field, Object value) {
    Map<String, Object> changed = new HashMap<>(selection);
    if (field != null) changed.put(field, value);
    return new BackendAnswer(user, model, hash, decided, changed).shown(1);
  }

  private static Map<String, Object> selected(String model, String user, String hash) throws Exception {
    String arms = "{\"inlineArms\": {\"features\": [1, 0, 0, 1]}}";
    return backend(model + ":select", "{\"user\": \"" + user + "\", \"topK\": 2, \"shown\": 1, \"policyHash\": \"" + hash + "\", \"arms\": " + arms + "}");
  }

  static void aDecisionThatABackendFetchedIsAdoptedOnce() throws Exception {
    for (String model : List.of("window", "centred")) {
      try (Store store = Store.open(path());
          Client client = client(model, store)) {
        String hash = (String) backend(model, null).get("policyHash");
        Map<String, Object> selection = selected(model, "ann", hash);
        BackendAnswer answer = answerOf("ann", model, hash, System.currentTimeMillis(), selection, null, null);
        Selection shown = client.adopt("ann", answer);
        List<String> positions = List.of("" + shown.arms.get(0).position, "" + shown.arms.get(1).position);
        check(positions.equals(selection.get("positions")), selection);
        check(client.spent("ann").events == 1, client.spent("ann").events);
        client.report(shown, 1);
        refused(Status.FAILED_PRECONDITION, "answer.token was adopted before", () -> client.adopt("ann", answer));
        Stats stats = await(client, now -> now.reportsApplied == 1);
        check(stats.selections == 1 && stats.reportsDefaulted == 0 && stats.reportsPending == 0, stats.reportsDefaulted);
      }
    }
  }

  static void anAnswerIsRefusedByItsField() throws Exception {
    try (Store store = Store.open(path());
        Client client = client("window", store)) {
      String hash = (String) backend("window", null).get("policyHash");
      Map<String, Object> selection = selected("window", "ann", hash);
      long now = System.currentTimeMillis();
      Status bad = Status.INVALID_ARGUMENT;
      refused(bad, "answer.user is another user", () -> client.adopt("ann", answerOf("bob", "window", hash, now, selection, null, null)));
      refused(bad, "answer.model must be window", () -> client.adopt("ann", answerOf("ann", "long", hash, now, selection, null, null)));
      refused(bad, "answer.policy_hash is not that", () -> client.adopt("ann", answerOf("ann", "window", "AAAA", now, selection, null, null)));
      refused(bad, "answer.policyHash: must be base64", () -> answerOf("ann", "window", "?", now, selection, null, null));
      refused(bad, "answer.decided_ms must be in", () -> client.adopt("ann", answerOf("ann", "window", hash, -1, selection, null, null)));
      BackendAnswer old = answerOf("ann", "window", hash, now - 90_000_000, selection, null, null);
      refused(Status.FAILED_PRECONDITION, "the decision is too old", () -> client.adopt("ann", old));
      refused(bad, "answer.shown must be in [0, 2)", () -> client.adopt("ann", new BackendAnswer("ann", "window", hash, now, selection).shown(2)));
      Map<String, Object> changes = new LinkedHashMap<>();
      changes.put("token", "?");
      changes.put("scores", List.of(1));
      changes.put("means", List.of("x", 1));
      changes.put("positions", List.of(0.5, 1));
      changes.put("rewardWindows", List.of(0, 1));
      String[] texts = {"selection.token: must be base64", "selection: its lists must have 2 entries", "selection.means: must be a list of numbers",
        "selection.positions: must have whole numbers in [0, 2147483647]", "reward_windows must have 0 numbers"};
      int i = 0;
      for (Map.Entry<String, Object> one : changes.entrySet()) {
        BackendAnswer answer = answerOf("ann", "window", hash, now, selection, one.getKey(), one.getValue());
        refused(bad, "answer." + texts[i++], () -> client.adopt("ann", answer));
      }
      check(client.spent("ann").events == 0, client.spent("ann").events);
      client.adopt("ann", answerOf("ann", "window", hash, now, selection, null, null));
    }
  }

  static void armsByNameWithAContext() throws Exception {
    Client client = raw("names");
    Map<String, Map<String, ?>> arms = new LinkedHashMap<>();
    arms.put("cheap", Map.of("price", 1, "kind", "a"));
    arms.put("dear", Map.of("price", 9.5, "kind", "b"));
    Selection shown = client.select("cleo", Arms.named(arms).in(Map.of("evening", true)), 2, 0);
    check(shown.arms.size() == 2 && shown.arms.get(0).name.matches("cheap|dear"), shown.arms.get(0).name);
    refused(Status.INVALID_ARGUMENT, "price: must be a number", () -> client.select("cleo", Arms.named(Map.of("odd", Map.of("price", "x")))));
    client.report(shown, 0.25);
    check(client.flush(20_000), "");
  }

  static void manyAtOnce() throws Exception {
    try (Store store = Store.open(path());
        Client client = client("now", store)) {
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 200; ++i) {
        all.add(client.selectAsync("u" + i % 9, ROWS, 1, 0).thenCompose(shown -> client.reportAsync(shown.handle(), 0.5, -1, null)));
      }
      for (CompletableFuture<Void> one : all) one.get();
      check(client.flush(30_000) && client.stats().reportsApplied == 200, client.stats().reportsApplied);
    }
  }

  static void atStartsNothingLeavesBecauseOfAReaction() throws Exception {
    try (Store store = Store.open(path());
        Client client = new Client(url, "window", store, new Options().atStart(true))) {
      client.report(client.select("dora", ROWS), 1);
      Thread.sleep(1500);
      check(client.stats().deliveryAttempts == 0, client.stats().deliveryAttempts);
      client.begin();
      await(client, now -> now.reportsApplied == 1);
    }
  }

  static void theStoreGoesOnAfterAKill() throws Exception {
    String path = path();
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process child =
        new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "ClientTest", url, folder.toString(), "kill:" + path).inheritIO().start();
    check(child.waitFor() == 137, child.exitValue());
    try (Store store = Store.open(path);
        Client client = client("long", store)) {
      check(!store.rolledBack() && client.spent("eve").events == 3, client.spent("eve").events);
      check(client.stats().reportsPending == 3, client.stats().reportsPending);
      refused(Status.UNAVAILABLE, "owned by another Store", () -> Store.open(path));
    }
  }

  private static void connect(String url, String path) {
    try (Store store = Store.open(path);
        Client client = new Client(url, "window", store, new Options().atStart(true).connectTimeoutMs(300))) {
      check(client.model().local, "");
    }
  }

  // It knows the model without asking: what it does first must not tell when the other one ended.
  static void aProcessThatWaitedForTheFileIsNotNoticed() throws Exception {
    String path = path(), nobody = "http://127.0.0.1:1";
    connect(url, path);
    refused(Status.UNAVAILABLE, "", () -> connect(nobody, path));
    try (Store store = Store.open(path)) {
      refused(Status.UNAVAILABLE, "owned by another Store", () -> Store.open(path));
    }
    connect(nobody, path);
    refused(Status.UNAVAILABLE, "", () -> connect(nobody, path));
  }

  private static void selectAndEnd(String path) {
    Client client = client("long", Store.open(path));
    for (int i = 0; i < 3; ++i) client.report(client.select("eve", ROWS), 1);
    ProcessHandle.of(ProcessHandle.current().pid()).ifPresent(self -> Runtime.getRuntime().halt(137));
  }

  static void anOlderCopyIsNoticedAndCharged() throws Exception {
    String path = path();
    try (Store store = Store.open(path);
        Client client = client("long", store)) {
      client.select("fay", ROWS);
    }
    Files.copy(Path.of(path), Path.of(path + ".copy"));
    try (Store store = Store.open(path);
        Client client = client("long", store)) {
      for (int i = 0; i < 3; ++i) client.select("fay", ROWS);
    }
    Files.move(Path.of(path + ".copy"), Path.of(path), StandardCopyOption.REPLACE_EXISTING);
    try (Store store = Store.open(path);
        Client client = client("long", store)) {
      check(store.rolledBack() && client.spent("fay").events >= 4, client.spent("fay").events);
    }
  }

  private static void write(String path, byte[] content) throws IOException {
    Files.write(Path.of(path), content);
  }

  static void damageIsRefused() throws Exception {
    String path = path();
    try (Store store = Store.open(path);
        Client client = client("long", store)) {
      for (int i = 0; i < 3; ++i) client.report(client.select("gus", ROWS), 1);
      client.select("gus", ROWS);
    }
    byte[] sound = Files.readAllBytes(Path.of(path));
    check(!new String(sound, StandardCharsets.ISO_8859_1).contains("gus"), "a name in clear");
    refused(Status.INVALID_ARGUMENT, "key must have 32 bytes, got 3", () -> Store.open(path, new byte[3]));
    refused(Status.FAILED_PRECONDITION, "the key is not the one", () -> Store.open(path, new byte[32]));
    for (int at : new int[] {3, 20, 40, 100}) {
      byte[] damaged = sound.clone();
      damaged[at] ^= 1;
      write(path, damaged);
      try {
        Store.open(path).close();
        throw new AssertionError("byte " + at + " is not missed");
      } catch (BandanaException why) {
        check(why.status() == Status.DATA_LOSS || why.status() == Status.FAILED_PRECONDITION, why);
      }
      check(java.util.Arrays.equals(Files.readAllBytes(Path.of(path)), damaged), "the file was touched");
    }
    write(path, sound);
    Files.move(Path.of(path + ".anchor"), Path.of(path + ".a"));
    refused(Status.DATA_LOSS, "anchor is missing", () -> Store.open(path));
    Files.move(Path.of(path + ".a"), Path.of(path + ".anchor"));
    // A torn end is one commit that was never answered; the anchor tells that it had been.
    write(path, java.util.Arrays.copyOf(sound, sound.length - 1));
    try (Store store = Store.open(path)) {
      check(store.rolledBack(), "");
    }
    Files.delete(Path.of(path));
    refused(Status.DATA_LOSS, "is gone, and with it the ledger", () -> Store.open(path));
    Files.delete(Path.of(path + ".key"));
    write(path, sound);
    refused(Status.FAILED_PRECONDITION, "a key is needed", () -> Store.open(path));
  }

  static void mistakesNameTheField() throws Exception {
    try (Store store = Store.open(path())) {
      refused(Status.FAILED_PRECONDITION, "require_local", () -> client("raw", store));
      refused(Status.FAILED_PRECONDITION, "epsilon", () -> new Client(url, "now", store, new Options().policy(new Policy().epsilonMax(1))));
      refused(Status.FAILED_PRECONDITION, "durable", () -> client("now", Store.inMemory()));
      refused(Status.NOT_FOUND, "", () -> client("none", store));
      refused(Status.INVALID_ARGUMENT, "url", () -> new Client("127.0.0.1:1", "now", store, new Options()));
      refused(Status.INVALID_ARGUMENT, "token", () -> new Client("http://192.0.2.1:1", "now", store, new Options().token(() -> "secret")));
      Client client = raw("raw");
      refused(Status.INVALID_ARGUMENT, "arms.features", () -> client.select("kim", Arms.inline(new double[] {1})));
      refused(Status.INVALID_ARGUMENT, "as many numbers", () -> Arms.inline(new double[] {1}, new double[] {1, 2}));
      refused(Status.NOT_FOUND, "names[0]: the model's catalogue has no arm \"????\"", () -> client.select("kim", Arms.catalogue(List.of("\ud83c\udf4c"))));
      refused(Status.INVALID_ARGUMENT, "top_k", () -> client.select("kim", ROWS, 1000, 0));
      refused(Status.INVALID_ARGUMENT, "", () -> client.reportAsync(new byte[] {1, 2}, 1, -1, null).join());
      Client window = client("window", store);
      refused(
          Status.RESOURCE_EXHAUSTED,
          "",
          () -> {
            for (int i = 0; i < 6; ++i) window.select("kim", ROWS);
          });
      store.close();
      refused(Status.CANCELLED, "closed", () -> window.select("kim", ROWS));
    }
    refused(
        Status.UNAVAILABLE,
        "",
        () -> new Client("http://127.0.0.1:1", "raw", Store.inMemory(), new Options().connectTimeoutMs(300)));
  }

  private static Client secure(String url, String caFile, Store store) {
    Options options = new Options().connectTimeoutMs(1000);
    return new Client(url, "now", store, caFile == null ? options : options.caFile(folder.resolve("tls").resolve(caFile).toString()));
  }

  static void aServerIsBelievedByItsCertificateAlone() throws Exception {
    String tls = System.getProperty("bandana.tls");
    String byAddress = tls.replace("localhost", "127.0.0.1");
    try (Store store = Store.open(path())) {
      refused(Status.UNAVAILABLE, "tls: " + tls + ": ", () -> secure(tls, "other.pem", store).close());
      refused(Status.UNAVAILABLE, "unable to find valid certification path", () -> secure(tls, null, store).close());
      refused(Status.UNAVAILABLE, "No subject alternative names matching IP address", () -> secure(byAddress, "ca.pem", store).close());
      refused(Status.UNAVAILABLE, "tls: https:", () -> secure(url.replace("http:", "https:"), "ca.pem", store).close());
      refused(Status.INVALID_ARGUMENT, "none.pem cannot be read", () -> secure(tls, "none.pem", store).close());
      refused(Status.INVALID_ARGUMENT, "caFile: ", () -> secure(tls, "server.key", store).close());
      try (Client client = secure(tls, "ca.pem", store)) {
        for (int i = 0; i < 3; ++i) client.report(client.select("mia", ROWS), 1.0);
        check(client.flush(20_000) && client.stats().reportsApplied == 3, client.stats().reportsApplied);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    url = arguments[0];
    folder = Path.of(arguments[1]);
    if (arguments.length > 2 && arguments[2].startsWith("kill:")) selectAndEnd(arguments[2].substring(5));
    int failures = 0;
    for (Method test : ClientTest.class.getDeclaredMethods()) {
      if (test.getReturnType() != void.class || test.getParameterCount() != 0 || java.lang.reflect.Modifier.isPrivate(test.getModifiers())) continue;
      if (arguments.length > 2 && !test.getName().equals(arguments[2])) continue;
      long began = System.nanoTime();
      try {
        test.invoke(null);
        System.out.println("ok " + test.getName() + " " + (System.nanoTime() - began) / 1_000_000 + " ms");
      } catch (java.lang.reflect.InvocationTargetException why) {
        ++failures;
        System.out.println("FAILED " + test.getName());
        why.getCause().printStackTrace(System.out);
      }
    }
    System.exit(failures == 0 ? 0 : 1);
  }
}
