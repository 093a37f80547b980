package io.bandana;

import java.util.ArrayList;
import java.util.List;

/** Rules of one decision, for arms of the catalogue (docs/design/rules.md). */
public final class Rules {
  static final class Range {
    String field;
    double min = Double.NaN, max = Double.NaN, above = Double.NaN, below = Double.NaN;
  }

  static final class Boost {
    String tag, name, group, value;
    Integer id;
    double add;
  }

  static final class Pin {
    String name;
    Integer id;
    int rank;
  }

  static final class Limit {
    String group, tag;
    int count;
  }

  final List<Range> where = new ArrayList<>();
  final List<Boost> boosts = new ArrayList<>();
  final List<Pin> pins = new ArrayList<>();
  final List<Limit> atMost = new ArrayList<>();
  int exclude;
  long withinMs;

  /** Arms whose field lies in [min, max]; NaN: no bound. */
  public Rules where(String field, double min, double max) {
    Range range = new Range();
    range.field = field;
    range.min = min;
    range.max = max;
    where.add(range);
    return this;
  }

  /** Arms whose field lies in (above, below); NaN: no bound. */
  public Rules strictlyWhere(String field, double above, double below) {
    Range range = new Range();
    range.field = field;
    range.above = above;
    range.below = below;
    where.add(range);
    return this;
  }

  private Boost boost(double add) {
    Boost boost = new Boost();
    boost.add = add;
    boosts.add(boost);
    return boost;
  }

  public Rules boostTag(String tag, double add) {
    boost(add).tag = tag;
    return this;
  }

  public Rules boostName(String name, double add) {
    boost(add).name = name;
    return this;
  }

  public Rules boostId(int id, double add) {
    boost(add).id = id;
    return this;
  }

  public Rules boostGroup(String group, String value, double add) {
    Boost boost = boost(add);
    boost.group = group;
    boost.value = value;
    return this;
  }

  /** At a fixed rank, 0 = best. */
  public Rules pinName(String name, int rank) {
    Pin pin = new Pin();
    pin.name = name;
    pin.rank = rank;
    pins.add(pin);
    return this;
  }

  public Rules pinId(int id, int rank) {
    Pin pin = new Pin();
    pin.id = id;
    pin.rank = rank;
    pins.add(pin);
    return this;
  }

  /** At most `count` arms of each value of the group. */
  public Rules atMostOfGroup(String group, int count) {
    Limit limit = new Limit();
    limit.group = group;
    limit.count = count;
    atMost.add(limit);
    return this;
  }

  public Rules atMostWithTag(String tag, int count) {
    Limit limit = new Limit();
    limit.tag = tag;
    limit.count = count;
    atMost.add(limit);
    return this;
  }

  /** Not those that the user was shown within `milliseconds`; 0: as long as the model keeps them. */
  public Rules excludeShown(long milliseconds) {
    exclude = 1;
    withinMs = milliseconds;
    return this;
  }

  public Rules excludeRewarded(long milliseconds) {
    exclude = 2;
    withinMs = milliseconds;
    return this;
  }
}
