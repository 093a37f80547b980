package io.bandana;

/** The device's ledger of one user of this model. */
public final class Spent {
  public final double epsilonEvent;
  public final double deltaEvent;
  public final long events;
  public final long streams;
  public final double epsilonUser;

  Spent(Struct of) {
    epsilonEvent = of.f64("epsilon_event");
    deltaEvent = of.f64("delta_event");
    events = of.i64("events");
    streams = of.i64("streams");
    epsilonUser = of.f64("epsilon_user");
  }
}
