package io.bandana;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The arms of one decision. */
public final class Arms {
  final int form;
  double[] features = {};
  int[] ids = {};
  List<String> names = Collections.emptyList();
  Map<String, Map<String, ?>> named = Collections.emptyMap();
  List<String> tagsAny = Collections.emptyList();
  List<String> tagsAll = Collections.emptyList();
  List<String> tagsNone = Collections.emptyList();
  int[] excludedIds = {};
  List<String> excludedNames = Collections.emptyList();
  Map<String, ?> context;
  Rules rules;

  private Arms(int form) {
    this.form = form;
  }

  /** n rows of d numbers. */
  public static Arms inline(double[]... rows) {
    Arms arms = new Arms(0);
    int d = rows.length == 0 ? 0 : rows[0].length;
    arms.features = new double[rows.length * d];
    for (int i = 0; i < rows.length; ++i) {
      if (rows[i].length != d) {
        throw new BandanaException(BandanaException.Status.INVALID_ARGUMENT, "arms.features: all rows must have as many numbers");
      }
      System.arraycopy(rows[i], 0, arms.features, i * d, d);
    }
    return arms;
  }

  /** One id per inline arm, by which a model with effects of arms knows it. */
  public Arms ids(int... value) {
    ids = value;
    return this;
  }

  /** Ids of the model's catalogue. */
  public static Arms catalogue(int... ids) {
    Arms arms = new Arms(1);
    arms.ids = ids;
    return arms;
  }

  /** Names of the model's catalogue. */
  public static Arms catalogue(List<String> names) {
    Arms arms = new Arms(2);
    arms.names = names;
    return arms;
  }

  /** Every arm of the catalogue that matches; no tags: all of them. */
  public static Arms query() {
    return new Arms(3);
  }

  public Arms tagsAny(List<String> value) {
    tagsAny = value;
    return this;
  }

  public Arms tagsAll(List<String> value) {
    tagsAll = value;
    return this;
  }

  public Arms tagsNone(List<String> value) {
    tagsNone = value;
    return this;
  }

  public Arms excludedIds(int... value) {
    excludedIds = value;
    return this;
  }

  public Arms excludedNames(List<String> value) {
    excludedNames = value;
    return this;
  }

  /** By id, values in the words of the model's schema: Number, Boolean, String, List of String, double[]. */
  public static Arms named(Map<String, Map<String, ?>> arms) {
    Arms made = new Arms(4);
    made.named = new LinkedHashMap<>(arms);
    return made;
  }

  /** Values of the schema's context fields. */
  public Arms in(Map<String, ?> values) {
    context = values;
    return this;
  }

  public Arms by(Rules value) {
    rules = value;
    return this;
  }
}
