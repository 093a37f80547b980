package io.bandana;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * A decision that a backend fetched: {@code POST /v1/models/NAME:select} with {@code policyHash}, for this user alone.
 * Nothing of it is believed that the device can check.
 */
public final class BackendAnswer {
  private static final List<String> NUMBERS = List.of("scores", "means", "widths", "propensities");
  private static final BigInteger MAX_32 = BigInteger.TWO.pow(32).subtract(BigInteger.ONE);
  private static final BigInteger MAX_64 = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);
  private final String user;
  private final String model;
  private final byte[] policyHash;
  private final long decidedMs;
  private final Map<String, ?> selection;
  private int shown;

  /**
   * User, model and policy hash (base64, that of {@code GET /v1/models/NAME}) are the request's. `decidedMs`: when the
   * answer came, by the backend's clock, since 1970. `selection`: the answer, as a parser of JSON makes maps and lists
   * of it; a number may be a Number or a String. Errors: INVALID_ARGUMENT.
   */
  public BackendAnswer(String user, String model, String policyHash, long decidedMs, Map<String, ?> selection) {
    if (user == null || model == null || selection == null) throw wrong("user, model and selection", "must be there");
    this.user = user;
    this.model = model;
    this.policyHash = base64("policyHash", policyHash);
    this.decidedMs = decidedMs;
    this.selection = selection;
  }

  /** The request's rank that is shown; by default 0, the best. */
  public BackendAnswer shown(int value) {
    shown = value;
    return this;
  }

  Struct in(Memory memory) {
    Struct to = memory.sized("backend_answer");
    memory.put(to, "user", user);
    memory.put(to, "model", model);
    memory.put(to, "policy_hash", policyHash);
    memory.put(to, "token", base64("selection.token", selection.get("token")));
    to.set("decided_ms", decidedMs).set("shown", shown);
    Object version = selection.get("posteriorVersion");
    to.set("posterior_version", wholes("posteriorVersion", List.of(version == null ? "0" : version.toString()), BigInteger.ZERO, MAX_64).get(0));
    List<RankedArm> arms = arms();
    long ranked =
        memory.array(
            "ranked_arm",
            arms,
            (arm, of) -> {
              arm.set("position", of.position).set("arm_id", of.armId).set("score", of.score).set("mean", of.mean);
              arm.set("width", of.width).set("propensity", of.propensity);
              memory.put(arm, "name", of.name);
            });
    to.setArray("arms", ranked, arms.size());
    List<Double> windows = numbers("rewardWindows");
    return to.setArray("reward_windows", memory.doubles(windows.stream().mapToDouble(end -> end).toArray()), windows.size());
  }

  private List<RankedArm> arms() {
    List<Long> positions = wholes("positions", list("positions"), BigInteger.ZERO, BigInteger.valueOf(Integer.MAX_VALUE));
    List<Long> ids = wholes("armIds", list("armIds"), BigInteger.ZERO, MAX_32);
    List<String> names = list("armNames");
    List<List<Double>> rows = new ArrayList<>();
    for (String name : NUMBERS) rows.add(numbers(name));
    boolean fit = rows.stream().allMatch(row -> row.size() == positions.size());
    for (List<?> some : List.of(ids, names)) fit &= some.isEmpty() || some.size() == positions.size();
    if (!fit) throw wrong("selection", "its lists must have " + positions.size() + " entries, as positions has");
    List<RankedArm> arms = new ArrayList<>();
    for (int i = 0; i < positions.size(); ++i) {
      int id = ids.isEmpty() ? 0 : ids.get(i).intValue(); // its 32 bits
      String name = names.isEmpty() ? "" : names.get(i);
      int position = positions.get(i).intValue();
      arms.add(new RankedArm(position, id, rows.get(0).get(i), rows.get(1).get(i), rows.get(2).get(i), rows.get(3).get(i), name));
    }
    return arms;
  }

  private static BandanaException wrong(String field, String why) {
    return new BandanaException(BandanaException.Status.INVALID_ARGUMENT, "answer." + field + ": " + why);
  }

  private static byte[] base64(String field, Object text) {
    try {
      if (text instanceof String) return Base64.getDecoder().decode((String) text);
    } catch (IllegalArgumentException why) {
      // as another kind of value
    }
    throw wrong(field, "must be base64");
  }

  /** A list's entries as texts: empty where it is not there. */
  private List<String> list(String field) {
    Object given = selection.get(field);
    if (given == null) return List.of();
    if (!(given instanceof List)) throw wrong("selection." + field, "must be a list");
    List<String> texts = new ArrayList<>();
    for (Object one : (List<?>) given) texts.add(String.valueOf(one));
    return texts;
  }

  private List<Double> numbers(String field) {
    List<Double> numbers = new ArrayList<>();
    try {
      for (String text : list(field)) numbers.add(Double.valueOf(text));
    } catch (NumberFormatException why) {
      throw wrong("selection." + field, "must be a list of numbers");
    }
    return numbers;
  }

  /** Within [low, high]. A parser may have made doubles of them. */
  private static List<Long> wholes(String field, List<String> texts, BigInteger low, BigInteger high) {
    List<Long> wholes = new ArrayList<>();
    for (String text : texts) {
      try {
        BigDecimal number = new BigDecimal(text);
        if (number.compareTo(new BigDecimal(low)) < 0 || number.compareTo(new BigDecimal(high)) > 0) throw new ArithmeticException();
        wholes.add(number.toBigIntegerExact().longValue());
      } catch (NumberFormatException | ArithmeticException why) {
        throw wrong("selection." + field, "must have whole numbers in [" + low + ", " + high + "]");
      }
    }
    return wholes;
  }
}
