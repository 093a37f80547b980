package io.bandana;

/** In reward units; bandana/client.h has the formulas. */
public final class RankedArm {
  public final int position;
  public final int armId;
  public final double score;
  public final double mean;
  public final double width;
  public final double propensity;
  public final String name;

  RankedArm(int position, int armId, double score, double mean, double width, double propensity, String name) {
    this.position = position;
    this.armId = armId;
    this.score = score;
    this.mean = mean;
    this.width = width;
    this.propensity = propensity;
    this.name = name;
  }
}
