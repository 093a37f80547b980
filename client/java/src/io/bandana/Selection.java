package io.bandana;

import java.util.Collections;
import java.util.List;

/** One decision. Keep it, or its handle, until its reward is reported. */
public final class Selection {
  private final byte[] handle;
  /** Best first. */
  public final List<RankedArm> arms;

  public final long posteriorVersion;
  /** Of selectPoint; else empty. */
  public final double[] point;

  /** Errors in named values. */
  public final List<String> notes;

  Selection(byte[] handle, List<RankedArm> arms, long posteriorVersion, double[] point, List<String> notes) {
    this.handle = handle;
    this.arms = Collections.unmodifiableList(arms);
    this.posteriorVersion = posteriorVersion;
    this.point = point;
    this.notes = Collections.unmodifiableList(notes);
  }

  /** Opaque; Client.report takes it as well, also after a restart. */
  public byte[] handle() {
    return handle.clone();
  }
}
