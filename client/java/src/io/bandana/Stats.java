package io.bandana;

/** Counts since the client was made; ClientStats of bandana/client.h says of what. */
public final class Stats {
  public final long selections;
  public final long reportsQueued;
  public final long reportsDefaulted;
  public final long reportsApplied;
  public final long reportsDuplicate;
  public final long reportsExpired;
  public final long reportsOvertaken;
  public final long reportsRejected;
  public final long reportsDropped;
  public final long reportsPending;
  public final long deliveryAttempts;
  public final long rewardsClipped;
  public final long streamsEnded;
  public final long valuesEncoded;
  public final long valuesMissing;
  public final long valuesUnknown;
  public final long valuesOutOfBounds;

  Stats(Struct of) {
    selections = of.i64("selections");
    reportsQueued = of.i64("reports_queued");
    reportsDefaulted = of.i64("reports_defaulted");
    reportsApplied = of.i64("reports_applied");
    reportsDuplicate = of.i64("reports_duplicate");
    reportsExpired = of.i64("reports_expired");
    reportsOvertaken = of.i64("reports_overtaken");
    reportsRejected = of.i64("reports_rejected");
    reportsDropped = of.i64("reports_dropped");
    reportsPending = of.i64("reports_pending");
    deliveryAttempts = of.i64("delivery_attempts");
    rewardsClipped = of.i64("rewards_clipped");
    streamsEnded = of.i64("streams_ended");
    valuesEncoded = of.i64("values_encoded");
    valuesMissing = of.i64("values_missing");
    valuesUnknown = of.i64("values_unknown");
    valuesOutOfBounds = of.i64("values_out_of_bounds");
  }
}
