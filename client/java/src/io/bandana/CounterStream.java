package io.bandana;

/** One counter of one user. `ended` is empty while it goes on. */
public final class CounterStream {
  public final long epoch;
  public final long steps;
  public final long acknowledged;
  public final String ended;

  CounterStream(Struct of) {
    epoch = of.i64("epoch");
    steps = of.i64("steps");
    acknowledged = of.i64("acknowledged");
    ended = of.text("ended");
  }
}
