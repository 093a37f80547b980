package io.bandana;

/** The least privacy that the application accepts. A weaker model is refused. */
public final class Policy {
  double epsilonMax = 2;
  double deltaMax = 0;
  long eventsPerUserMax = 0;
  boolean requireLocal = true;
  boolean requireProven = true;
  boolean allowResearch = false;

  public Policy epsilonMax(double value) {
    epsilonMax = value;
    return this;
  }

  public Policy deltaMax(double value) {
    deltaMax = value;
    return this;
  }

  /** Most events of a user of this device; 0: no bound. */
  public Policy eventsPerUserMax(long value) {
    eventsPerUserMax = value;
    return this;
  }

  public Policy requireLocal(boolean value) {
    requireLocal = value;
    return this;
  }

  public Policy requireProven(boolean value) {
    requireProven = value;
    return this;
  }

  public Policy allowResearch(boolean value) {
    allowResearch = value;
    return this;
  }

  /** For applications that knowingly send raw rewards to an operator they trust. */
  public static Policy acceptAnything() {
    return new Policy().epsilonMax(Double.POSITIVE_INFINITY).deltaMax(1).requireLocal(false).requireProven(false).allowResearch(true);
  }
}
