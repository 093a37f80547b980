package io.bandana;

/** The model as it was checked against the policy. `rewardWindowMs` is -1 where there is none. */
public final class ModelInfo {
  public final String name;
  public final String link;
  public final String guarantee;
  public final String mechanism;
  public final int dimension;
  public final boolean rewardBinary;
  public final boolean local;
  public final boolean localContext;
  public final double featureL2Max;
  public final double rewardMin;
  public final double rewardMax;
  public final double epsilon;
  public final double delta;
  public final double defaultReward;
  public final long eventsPerUserMax;
  public final long rewardWindowMs;
  public final long tokenLifetimeMs;

  ModelInfo(Struct of) {
    name = of.text("name");
    link = of.text("link");
    guarantee = of.text("guarantee");
    mechanism = of.text("mechanism");
    dimension = of.i32("dimension");
    rewardBinary = of.i32("reward_binary") != 0;
    local = of.i32("local") != 0;
    localContext = of.i32("local_context") != 0;
    featureL2Max = of.f64("feature_l2_max");
    rewardMin = of.f64("reward_min");
    rewardMax = of.f64("reward_max");
    epsilon = of.f64("epsilon");
    delta = of.f64("delta");
    defaultReward = of.f64("default_reward");
    eventsPerUserMax = of.i64("events_per_user_max");
    rewardWindowMs = of.i64("reward_window_ms");
    tokenLifetimeMs = of.i64("token_lifetime_ms");
  }
}
