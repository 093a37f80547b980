package io.bandana;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * One model's client, over the server's api_listen. Make one per model and process, and share it. The methods are those
 * of the C++ Client (bandana/client.h), whose comments hold; those that end in Async return futures, whose errors are
 * BandanaException. Thread-safe.
 */
public final class Client implements AutoCloseable {
  private final Device device;
  private final int client;
  private final ModelInfo model;

  /** Errors: NOT_FOUND no such model; FAILED_PRECONDITION the model is weaker than the policy; UNAVAILABLE no server. */
  public Client(String url, String model, Store store, Options options) {
    device = store.device;
    Caller.Target target = new Caller.Target(url, options.token, options.tls);
    device.reach(target);
    Memory memory = new Memory();
    Struct to = memory.make("options");
    Native.optionsInit(to.address());
    memory.put(to, "target", target.url);
    memory.put(to, "model", model);
    memory.put(to, "arm_effects_tag", options.armEffectsTag);
    to.set("require_local", options.policy.requireLocal ? 1 : 0).set("require_proven", options.policy.requireProven ? 1 : 0);
    to.set("allow_research", options.policy.allowResearch ? 1 : 0).set("leave", options.atStart ? 1 : 0);
    to.set("epsilon_max", options.policy.epsilonMax).set("delta_max", options.policy.deltaMax);
    to.set("events_per_user_max", options.policy.eventsPerUserMax).set("when_full", options.dropWhenFull ? 1 : 0);
    to.set("queue_reports_max", options.queueReportsMax).set("deliveries_in_flight_max", options.deliveriesInFlightMax);
    to.set("reports_per_delivery_max", options.reportsPerDeliveryMax).set("select_deadline_ms", options.selectDeadlineMs);
    to.set("report_deadline_ms", options.reportDeadlineMs).set("connect_timeout_ms", options.connectTimeoutMs);
    to.set("backoff_min_ms", options.backoffMinMs).set("backoff_max_ms", options.backoffMaxMs);
    to.set("posterior_interval_ms", options.posteriorIntervalMs);
    client = (int) wait(device.ask(tag -> Native.connect(device.handle, to.address(), tag)));
    Reference.reachabilityFence(memory);
    this.model =
        device.run(
            () -> {
              Struct info = memory.sized("model_info");
              Native.check(Native.getModel(device.handle, client, info.address()));
              return new ModelInfo(info);
            });
  }

  static <T> T wait(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (ExecutionException why) {
      if (why.getCause() instanceof BandanaException) {
        BandanaException of = (BandanaException) why.getCause();
        throw new BandanaException(of.status(), of.getMessage());
      }
      throw new IllegalStateException(why.getCause());
    } catch (InterruptedException why) {
      Thread.currentThread().interrupt();
      throw new BandanaException(BandanaException.Status.CANCELLED, "the thread was interrupted");
    }
  }

  public ModelInfo model() {
    return model;
  }

  // As bandana_select_by.
  private static final int RANKING = 0, SLOTS = 1, DEFERRED = 2, ON_DEVICE = 3, POINT = 4;

  @SuppressWarnings("unchecked")
  private CompletableFuture<List<Selection>> ask(int by, String user, Arms arms, int topK, int shown, int slots) {
    Memory memory = new Memory();
    Struct request = memory.sized("request");
    request.set("by", by).set("top_k", topK).set("shown", shown).set("slots", slots);
    memory.put(request, "user", user);
    if (arms != null) request.set("arms", Values.armsOf(memory, arms).address());
    return device.ask(tag -> Native.select(device.handle, client, request.address(), tag)).thenApply(found -> keep(memory, (List<Selection>) found));
  }

  private static <T> T keep(Memory memory, T value) {
    Reference.reachabilityFence(memory); // the core was called with it
    return value;
  }

  public Selection select(String user, Arms arms) {
    return select(user, arms, 1, 0);
  }

  /** Ranks `topK` arms, of which the application shows rank `shown`. */
  public Selection select(String user, Arms arms, int topK, int shown) {
    return wait(selectAsync(user, arms, topK, shown));
  }

  public CompletableFuture<Selection> selectAsync(String user, Arms arms, int topK, int shown) {
    return ask(RANKING, user, arms, topK, shown, 0).thenApply(found -> found.get(0));
  }

  /** Arms that are shown at once, each with a reward of its own: `slots` events. */
  public List<Selection> selectSlots(String user, Arms arms, int slots) {
    return wait(ask(SLOTS, user, arms, 1, 0, slots));
  }

  /** A decision that is no event until activate(). */
  public Selection selectDeferred(String user, Arms arms, int topK, int shown) {
    return wait(ask(DEFERRED, user, arms, topK, shown, 0)).get(0);
  }

  /** Ranks by the posterior that refreshPosterior() fetched. */
  public Selection selectOnDevice(String user, Arms arms, int topK, int shown) {
    return wait(ask(ON_DEVICE, user, arms, topK, shown, 0)).get(0);
  }

  public Selection selectPoint(String user) {
    return wait(ask(POINT, user, null, 1, 0, 0)).get(0);
  }

  private interface OfBytes {
    int call(long bytes, long tag);
  }

  private Object with(byte[] given, OfBytes call) {
    Memory memory = new Memory();
    long bytes = memory.pointerTo(given);
    Object result = wait(device.ask(tag -> call.call(bytes, tag)));
    return keep(memory, result);
  }

  private Object ofUser(String user, OfBytes call) {
    return with(user.getBytes(StandardCharsets.UTF_8), call);
  }

  /** Call it when the arm is shown, before anybody can react. */
  public void activate(Selection selection) {
    with(selection.handle(), (bytes, tag) -> Native.activate(device.handle, client, bytes, tag));
  }

  /**
   * A decision that a backend fetched becomes this device's and counts from now on, once per store. When its page or
   * screen is loaded, and never because of a reaction. Makes no call. For local models with a reward window.
   */
  public Selection adopt(String user, BackendAnswer answer) {
    return wait(adoptAsync(user, answer));
  }

  @SuppressWarnings("unchecked")
  public CompletableFuture<Selection> adoptAsync(String user, BackendAnswer answer) {
    Memory memory = new Memory();
    long name = memory.pointerTo(user.getBytes(StandardCharsets.UTF_8)), given = answer.in(memory).address();
    return device
        .ask(tag -> Native.adopt(device.handle, client, name, given, tag))
        .thenApply(found -> keep(memory, ((List<Selection>) found).get(0)));
  }

  /** Whether it changed. */
  public boolean refreshPosterior(String user) {
    return (boolean) ofUser(user, (bytes, tag) -> Native.refreshPosterior(device.handle, client, bytes, tag));
  }

  /** Takes the reaction; returns once it is durable. NaN: none came. */
  public void report(Selection selection, double reward) {
    wait(reportAsync(selection.handle(), reward, -1, null));
  }

  /** `shown`: the rank that was shown instead, or -1. `done` hears of the delivery, on a thread of the library; may be null. */
  public CompletableFuture<Void> reportAsync(byte[] handle, double reward, int shown, Consumer<Delivery> done) {
    Memory memory = new Memory();
    Struct report = memory.sized("report_of");
    memory.put(report, "handle", handle);
    report.set("reward", reward).set("has_shown", shown < 0 ? 0 : 1).set("shown", Math.max(0, shown));
    IntConsumer delivered = done == null ? null : code -> done.accept(Delivery.values()[code]);
    return device.ask(tag -> Native.report(device.handle, client, report.address(), tag), delivered).thenApply(found -> keep(memory, null));
  }

  /** The application comes to the front (Options.atStart). */
  public void begin() {
    device.run(
        () -> {
          Native.check(Native.begin(device.handle, client));
          return null;
        });
  }

  /** Waits until every report that is due has been answered; false after `milliseconds`. */
  public boolean flush(long milliseconds) {
    try {
      device.ask(tag -> Native.flush(device.handle, client, tag)).get(milliseconds, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException why) {
      return false;
    } catch (ExecutionException why) {
      throw new IllegalStateException(why.getCause());
    } catch (InterruptedException why) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  public Stats stats() {
    return device.run(
        () -> {
          Memory memory = new Memory();
          Struct stats = memory.sized("stats");
          Native.check(Native.getStats(device.handle, client, stats.address()));
          return new Stats(stats);
        });
  }

  public Spent spent(String user) {
    return (Spent) ofUser(user, (bytes, tag) -> Native.readSpent(device.handle, client, bytes, tag));
  }

  public Readings readings(String user, double delta) {
    return (Readings) ofUser(user, (bytes, tag) -> Native.readLedger(device.handle, client, bytes, delta, tag));
  }

  @SuppressWarnings("unchecked")
  public List<CounterStream> streams(String user) {
    return (List<CounterStream>) ofUser(user, (bytes, tag) -> Native.readStreams(device.handle, client, bytes, tag));
  }

  /** Ends delivery. Queued reports stay in the store, and leave with the next client. */
  @Override
  public void close() {
    try {
      device.run(
          () -> {
            Native.close(device.handle, client);
            return null;
          });
    } catch (BandanaException why) {
      // The store was closed before.
    }
  }
}
