package io.bandana;

/** Each that is no NaN is a valid epsilon for the user's debits. */
public final class Readings {
  public final double epsilonPure;
  public final double epsilonGaussian;
  public final double epsilonZcdp;
  public final double delta;

  Readings(Struct of) {
    epsilonPure = of.f64("epsilon_pure");
    epsilonGaussian = of.f64("epsilon_gaussian");
    epsilonZcdp = of.f64("epsilon_zcdp");
    delta = of.f64("delta");
  }
}
