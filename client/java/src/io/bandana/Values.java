package io.bandana;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Values to the structs of bandana.h, and back. */
final class Values {
  private Values() {}

  private static void fill(Memory memory, Struct value, String place, Map.Entry<String, ?> given) {
    memory.put(value, "name", given.getKey());
    Object it = given.getValue();
    if (it instanceof Boolean) {
      value.set("kind", 1).set("number", (Boolean) it ? 1.0 : 0.0);
    } else if (it instanceof Number) {
      value.set("kind", 0).set("number", ((Number) it).doubleValue());
    } else if (it instanceof String) {
      value.set("kind", 2);
      memory.put(value, "text", (String) it);
    } else if (it instanceof double[]) {
      value.set("kind", 4).set("numbers", memory.doubles((double[]) it)).set("count", (long) ((double[]) it).length);
    } else if (it instanceof List && ((List<?>) it).stream().allMatch(one -> one instanceof String)) {
      List<String> texts = new ArrayList<>();
      for (Object one : (List<?>) it) texts.add((String) one);
      value.set("kind", 3).set("texts", memory.strings(texts)).set("count", (long) texts.size());
    } else {
      throw new BandanaException(
          BandanaException.Status.INVALID_ARGUMENT,
          place + "." + given.getKey() + ": must be a number, a Boolean, a String, a list of them, or double[]");
    }
  }

  private static long values(Memory memory, String place, Map<String, ?> given) {
    return memory.array("value", new ArrayList<>(given.entrySet()), (value, entry) -> fill(memory, value, place, entry));
  }

  static Struct armsOf(Memory memory, Arms given) {
    Struct arms = memory.sized("arms");
    arms.set("form", given.form);
    arms.setArray("features", memory.doubles(given.features), given.features.length);
    arms.setArray("ids", memory.ints(given.ids), given.ids.length);
    arms.setArray("names", memory.strings(given.names), given.names.size());
    arms.setArray("tags_any", memory.strings(given.tagsAny), given.tagsAny.size());
    arms.setArray("tags_all", memory.strings(given.tagsAll), given.tagsAll.size());
    arms.setArray("tags_none", memory.strings(given.tagsNone), given.tagsNone.size());
    arms.setArray("excluded_ids", memory.ints(given.excludedIds), given.excludedIds.length);
    arms.setArray("excluded_names", memory.strings(given.excludedNames), given.excludedNames.size());
    long named =
        memory.array(
            "named_arm",
            new ArrayList<>(given.named.entrySet()),
            (arm, entry) -> {
              memory.put(arm, "id", entry.getKey());
              arm.setArray("values", values(memory, "arms[" + entry.getKey() + "]", entry.getValue()), entry.getValue().size());
            });
    arms.setArray("named", named, given.named.size());
    if (given.context != null) arms.setArray("context", values(memory, "context", given.context), given.context.size());
    if (given.rules != null) arms.set("rules", rulesOf(memory, given.rules).address());
    return arms;
  }

  private static void ofArm(Memory memory, Struct to, String name, Integer id) {
    memory.put(to, "name", name == null ? "" : name);
    to.set("has_id", id == null ? 0 : 1).set("id", id == null ? 0 : id);
  }

  private static Struct rulesOf(Memory memory, Rules given) {
    Struct rules = memory.sized("rules");
    long where =
        memory.array(
            "range",
            given.where,
            (to, range) -> {
              memory.put(to, "field", range.field);
              to.set("min", range.min).set("max", range.max).set("above", range.above).set("below", range.below);
            });
    rules.setArray("where", where, given.where.size());
    long boosts =
        memory.array(
            "boost",
            given.boosts,
            (to, boost) -> {
              memory.put(to, "tag", boost.tag == null ? "" : boost.tag);
              memory.put(to, "group", boost.group == null ? "" : boost.group);
              memory.put(to, "value", boost.value == null ? "" : boost.value);
              ofArm(memory, to, boost.name, boost.id);
              to.set("add", boost.add);
            });
    rules.setArray("boosts", boosts, given.boosts.size());
    long pins =
        memory.array(
            "pin",
            given.pins,
            (to, pin) -> {
              ofArm(memory, to, pin.name, pin.id);
              to.set("rank", pin.rank);
            });
    rules.setArray("pins", pins, given.pins.size());
    long atMost =
        memory.array(
            "limit",
            given.atMost,
            (to, limit) -> {
              memory.put(to, "group", limit.group == null ? "" : limit.group);
              memory.put(to, "tag", limit.tag == null ? "" : limit.tag);
              to.set("count", limit.count);
            });
    rules.setArray("at_most", atMost, given.atMost.size());
    return rules.set("exclude_seen", given.exclude).set("seen_within_ms", given.withinMs);
  }

  private static Selection selection(Struct of) {
    List<RankedArm> arms = new ArrayList<>();
    for (long i = 0; i < of.i64("arms_count"); ++i) {
      Struct arm = of.element("arms", i, "ranked_arm");
      arms.add(
          new RankedArm(
              arm.i32("position"), arm.i32("arm_id"), arm.f64("score"), arm.f64("mean"), arm.f64("width"), arm.f64("propensity"), arm.text("name")));
    }
    double[] point = new double[(int) of.i64("point_count")];
    for (int i = 0; i < point.length; ++i) point[i] = of.number("point", i);
    List<String> notes = new ArrayList<>();
    for (long i = 0; i < of.i64("notes_count"); ++i) {
      Struct note = of.element("notes", i, "bytes");
      notes.add(new String(Struct.bytesAt(note.i64("data"), note.i64("size")), StandardCharsets.UTF_8));
    }
    return new Selection(of.bytes("handle"), arms, of.i64("posterior_version"), point, notes);
  }

  /** The value of a result whose status is OK. */
  static Object resultOf(Struct result) {
    switch (result.i32("kind")) {
      case Device.STARTED:
      case Device.REFRESHED:
        return result.i32("value") != 0;
      case Device.CONNECTED:
        return result.i32("client");
      case Device.SELECTED:
        List<Selection> selections = new ArrayList<>();
        for (long i = 0; i < result.i64("selections_count"); ++i) selections.add(selection(result.element("selections", i, "selection")));
        return selections;
      case Device.READ_SPENT:
        return new Spent(result.element("spent", 0, "spent"));
      case Device.READ_LEDGER:
        return new Readings(result.element("readings", 0, "readings"));
      case Device.READ_STREAMS:
        List<CounterStream> streams = new ArrayList<>();
        for (long i = 0; i < result.i64("streams_count"); ++i) streams.add(new CounterStream(result.element("streams", i, "stream")));
        return streams;
      default:
        return null;
    }
  }
}
