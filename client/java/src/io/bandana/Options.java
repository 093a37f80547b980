package io.bandana;

import java.util.function.Supplier;
import javax.net.ssl.SSLSocketFactory;

/** As ClientOptions of bandana/options.h, which says units, ranges and meaning. */
public final class Options {
  Policy policy = new Policy();
  Supplier<String> token;
  SSLSocketFactory tls;
  boolean atStart = false;
  boolean dropWhenFull = false;
  int queueReportsMax = 10_000;
  int deliveriesInFlightMax = 8;
  int reportsPerDeliveryMax = 32;
  long selectDeadlineMs = 1000;
  long reportDeadlineMs = 5000;
  long connectTimeoutMs = 10_000;
  long backoffMinMs = 20;
  long backoffMaxMs = 2000;
  long posteriorIntervalMs = 1000;
  String armEffectsTag = "";

  public Options policy(Policy value) {
    policy = value;
    return this;
  }

  /** A bearer token, asked for at each call. */
  public Options token(Supplier<String> value) {
    token = value;
    return this;
  }

  /** For https. By default the JDK's authorities are believed. */
  public Options tls(SSLSocketFactory value) {
    tls = value;
    return this;
  }

  /** For https: the PEM file of the authorities that may have signed the server's certificate. Errors: INVALID_ARGUMENT. */
  public Options caFile(String path) {
    tls = Authorities.of(path);
    return this;
  }

  /** Reports leave at starts alone: the constructor and begin(). docs/sdk/decisions.md, "Which leave to choose". */
  public Options atStart(boolean value) {
    atStart = value;
    return this;
  }

  /** A full queue drops reports instead of making report() wait. */
  public Options dropWhenFull(boolean value) {
    dropWhenFull = value;
    return this;
  }

  public Options queueReportsMax(int value) {
    queueReportsMax = value;
    return this;
  }

  public Options deliveriesInFlightMax(int value) {
    deliveriesInFlightMax = value;
    return this;
  }

  public Options reportsPerDeliveryMax(int value) {
    reportsPerDeliveryMax = value;
    return this;
  }

  public Options selectDeadlineMs(long value) {
    selectDeadlineMs = value;
    return this;
  }

  public Options reportDeadlineMs(long value) {
    reportDeadlineMs = value;
    return this;
  }

  public Options connectTimeoutMs(long value) {
    connectTimeoutMs = value;
    return this;
  }

  public Options backoffMinMs(long value) {
    backoffMinMs = value;
    return this;
  }

  public Options backoffMaxMs(long value) {
    backoffMaxMs = value;
    return this;
  }

  public Options posteriorIntervalMs(long value) {
    posteriorIntervalMs = value;
    return this;
  }

  public Options armEffectsTag(String value) {
    armEffectsTag = value;
    return this;
  }
}
