package io.bandana;

/** The outcome of one report, in the order of bandana.h. */
public enum Delivery {
  APPLIED,
  DUPLICATE,
  EXPIRED,
  REJECTED,
  DROPPED
}
