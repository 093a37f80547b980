// Weights of effects and forgetting by events, against plain matrices and at their edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/bandits/effects/effect_weights.h"
#include "common/bandits/effects/effects_model.h"
#include "common/bandits/effects/forgetting.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using Keys = std::vector<EffectKey>;

constexpr double kNoise = 0.1;
constexpr EffectsAdapt kWeights{.weights = true};

EffectsModel Make(int d, const std::vector<Effect>& effects, EffectsAdapt adapt = kWeights) {
  auto made = EffectsModel::Create(d, effects, kNoise, EffectsModel::kUnbounded, adapt);
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

// docs/design/effect_weights.md, "Weights" and "Forgetting", in double and with whole matrices.
class Reference {
 public:
  Reference(int d, std::vector<Effect> effects, bool weighted)
      : d_(d), effects_(std::move(effects)), weighted_(weighted) {
    const auto t = static_cast<int>(effects_.size());
    weights = Eigen::VectorXd::Ones(t);
    shown = weights;
    spread_ = 0.3 * Eigen::MatrixXd::Identity(t, t);
  }

  EffectsModel::Belief Learn(const Keys& keys, const std::vector<double>& x, double reward,
                             double noise) {
    const auto t_max = static_cast<int>(effects_.size());
    Eigen::VectorXd s = Eigen::VectorXd::Zero(t_max);
    std::vector<Eigen::VectorXd> y(effects_.size());
    double v = kNoise + noise;
    for (int t = 0; t < t_max; ++t) {
      if (keys[t] == kAbsent) continue;
      const Block& block = BlockOf(t, keys[t]);
      const Eigen::VectorXd z = Features(t, x);
      y[t] = block.p * z;
      s[t] = z.dot(block.m);
      v += weights[t] * weights[t] * z.dot(y[t]);
    }
    const Eigen::VectorXd g = spread_ * s;
    if (weighted_) v += s.dot(g);
    const double predicted = weights.dot(s);
    const double e = reward - predicted;
    for (int t = 0; t < t_max; ++t) {
      if (keys[t] == kAbsent) continue;
      Block& block = BlockOf(t, keys[t]);
      block.m += weights[t] * y[t] * e / v;
      block.p -= weights[t] * weights[t] * y[t] * y[t].transpose() / v;
      if (effects_[t].half_life == 0) continue;
      const double kept = std::exp2(-1.0 / static_cast<double>(effects_[t].half_life));
      const auto k = block.p.rows();
      block.m *= kept;
      block.p = kept * kept * block.p +
                (1 - kept * kept) * effects_[t].prior_variance * Eigen::MatrixXd::Identity(k, k);
    }
    if (weighted_) {
      weights = (weights + g * e / v).cwiseMax(0.1);
      spread_ -= g * g.transpose() / v;
      for (int t = 0; t < t_max; ++t) {
        spread_(t, t) = std::min(spread_(t, t) + 1e-4 * kNoise / (kNoise + noise), 0.3);
      }
    }
    if (++events_ % 256 == 0) shown = weights;
    return {.mean = predicted, .variance = v};
  }

  EffectsModel::Belief Predict(const Keys& keys, const std::vector<double>& x) {
    EffectsModel::Belief belief;
    for (int t = 0; t < static_cast<int>(effects_.size()); ++t) {
      if (keys[t] == kAbsent) continue;
      const Eigen::VectorXd z = Features(t, x);
      const Block& block = BlockOf(t, keys[t]);
      belief.mean += shown[t] * z.dot(block.m);
      belief.variance += shown[t] * shown[t] * z.dot(block.p * z);
    }
    return belief;
  }

  Eigen::VectorXd weights;
  Eigen::VectorXd shown;

 private:
  struct Block {
    Eigen::VectorXd m;
    Eigen::MatrixXd p;
  };
  Block& BlockOf(int t, EffectKey key) {
    const int k = effects_[t].vector ? d_ : 1;
    return blocks_
        .try_emplace({t, key},
                     Block{.m = Eigen::VectorXd::Zero(k),
                           .p = effects_[t].prior_variance * Eigen::MatrixXd::Identity(k, k)})
        .first->second;
  }
  Eigen::VectorXd Features(int t, const std::vector<double>& x) const {
    if (!effects_[t].vector) return Eigen::VectorXd::Ones(1);
    return Eigen::Map<const Eigen::VectorXd>(x.data(), d_);
  }

  int d_;
  std::vector<Effect> effects_;
  bool weighted_;
  Eigen::MatrixXd spread_;
  std::map<std::pair<int, EffectKey>, Block> blocks_;
  int events_ = 0;
};

// Users in groups, and arms; rewards are sums of their effects and of noise.
struct World {
  int d = 5;
  int users = 40;
  int groups = 5;
  int arms = 8;
  // Standard deviations of the coefficients.
  double shared = 0.3;
  double group = 0.3;
  double user = 0.15;
  double arm = 0.2;
  std::vector<Effect> effects = {{"shared", true, 0.1},
                                 {"constant", false, 0.1},
                                 {"group", true, 0.08},
                                 {"user", true, 0.02},
                                 {"arm", false, 0.03}};
};

struct Event {
  Keys keys;
  std::vector<double> x;
  double expected = 0;
  double reward = 0;
  double noise = 0;
};

std::vector<Event> EventsOf(const World& world, int count, std::uint64_t seed) {
  TestRng rng(seed);
  const auto draw = [&](int n, double deviation) {
    std::vector<double> values(n);
    for (double& value : values) value = deviation * rng.Normal();
    return values;
  };
  const auto shared = draw(world.d, world.shared);
  const auto group = draw(world.d * world.groups, world.group);
  const auto user = draw(world.d * world.users, world.user);
  const auto arm = draw(world.arms, world.arm);
  const auto key = [](int position) { return static_cast<EffectKey>(position) + 2; };
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    const int u = rng.Index(world.users);
    const int g = u % world.groups;
    const int a = rng.Index(world.arms);
    Event event{.keys = {kEverybody, kEverybody, key(g), key(u), key(a)},
                .x = rng.UnitVector(world.d),
                .expected = 0.4 + arm[a]};
    if (i % 5 == 1) event.keys[2] = kAbsent;
    if (i % 7 == 3) event.keys[3] = kAbsent;
    event.noise = i % 3 == 0 ? 0.5 : 0;
    for (int j = 0; j < world.d; ++j) {
      event.expected +=
          event.x[j] * (shared[j] + (event.keys[2] == kAbsent ? 0 : group[g * world.d + j]) +
                        (event.keys[3] == kAbsent ? 0 : user[u * world.d + j]));
    }
    event.reward = event.expected + rng.Normal() * std::sqrt(kNoise + event.noise);
    events.push_back(std::move(event));
  }
  return events;
}

void ExpectSameAsReference(const World& world, EffectsAdapt adapt) {
  EffectsModel model = Make(world.d, world.effects, adapt);
  Reference reference(world.d, world.effects, adapt.weights);
  const std::vector<Event> events = EventsOf(world, 4000, 3);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const Event& other = events[(i + 17) % events.size()];
    const auto ours = model.Predict(other.keys, other.x);
    const auto exact = reference.Predict(other.keys, other.x);
    ASSERT_NEAR(ours.mean, exact.mean, 1e-4) << i;
    ASSERT_NEAR(ours.variance, exact.variance, 1e-4) << i;
    const auto believed = model.Learn(event.keys, event.x, event.reward, event.noise);
    const auto before = reference.Learn(event.keys, event.x, event.reward, event.noise);
    ASSERT_NEAR(believed.mean, before.mean, 1e-4) << i;
    ASSERT_NEAR(believed.variance, before.variance, 1e-4) << i;
  }
  for (std::size_t t = 0; t < world.effects.size(); ++t) {
    EXPECT_NEAR(model.weight(t), reference.shown[static_cast<int>(t)], 1e-3) << t;
  }
}

TEST(EffectWeightsTest, EveryEventIsThatOfTheEquations) { ExpectSameAsReference({}, kWeights); }

TEST(EffectWeightsTest, ForgettingIsThatOfTheEquations) {
  World world;
  world.effects[0].half_life = 300;
  world.effects[2].half_life = 30;
  world.effects[3].half_life = 1;
  world.effects[4].half_life = 20;
  ExpectSameAsReference(world, {});
  ExpectSameAsReference(world, kWeights);
}

TEST(EffectWeightsTest, AWeightFollowsWhatItsEffectTells) {
  World quiet;  // groups say nothing, arms say twice as much as their prior
  quiet.group = 0;
  quiet.arm = 0.5;
  EffectsModel model = Make(quiet.d, quiet.effects);
  for (const Event& event : EventsOf(quiet, 20'000, 5)) {
    model.Learn(event.keys, event.x, event.reward, event.noise);
  }
  EXPECT_LT(model.weight(2), 0.7);
  EXPECT_GT(model.weight(4), 1.1);
  EXPECT_GT(model.weight(4), 1.5 * model.weight(2));
}

// Squared errors of predictions over the second half.
double ErrorOf(const World& world, EffectsAdapt adapt, std::uint64_t seed) {
  EffectsModel model = Make(world.d, world.effects, adapt);
  const std::vector<Event> events = EventsOf(world, 8000, seed);
  double error = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const auto believed = model.Learn(event.keys, event.x, event.reward, event.noise);
    if (2 * i >= events.size()) error += std::pow(believed.mean - event.expected, 2);
  }
  return error;
}

TEST(EffectWeightsTest, GroupsThatSayNothingCostLess) {
  World world{.users = 800, .groups = 100, .group = 0};
  world.user = 0.3;
  double without = 0;
  double with = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    without += ErrorOf(world, {}, seed);
    with += ErrorOf(world, kWeights, seed);
  }
  EXPECT_LT(with, 0.9 * without);
}

TEST(EffectWeightsTest, ReadersSeeThemInSteps) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  std::vector<float> seen(world.effects.size(), 1.0f);
  const auto weights = [&] {
    std::vector<float> now;
    for (std::size_t t = 0; t < world.effects.size(); ++t) now.push_back(model.weight(t));
    return now;
  };
  int events = 0;
  int changes = 0;
  for (const Event& event : EventsOf(world, 2000, 9)) {
    model.Learn(event.keys, event.x, event.reward, event.noise);
    const bool step = ++events % 256 == 0;
    EXPECT_EQ(weights() != seen, step) << events;
    changes += step ? 1 : 0;
    seen = weights();
  }
  EXPECT_EQ(changes, 7);
}

// All that a reader can ask for has the same weights in it.
TEST(EffectWeightsTest, EveryViewIsWeighted) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  const std::vector<Event> events = EventsOf(world, 3000, 2);
  for (const Event& event : events) {
    model.Learn(event.keys, event.x, event.reward, event.noise);
  }
  const Event& event = events[0];
  const auto belief = model.Predict(event.keys, event.x);
  std::vector<double> mean(world.d);
  std::vector<double> covariance(world.d * world.d);
  model.SumVectors(event.keys, mean, covariance);
  const auto constants = model.SumConstants(event.keys);
  double summed = constants.mean;
  double variance = constants.variance;
  for (int i = 0; i < world.d; ++i) {
    summed += event.x[i] * mean[i];
    for (int j = 0; j < world.d; ++j) {
      variance += event.x[i] * covariance[i * world.d + j] * event.x[j];
    }
  }
  EXPECT_NEAR(summed, belief.mean, 1e-5);
  EXPECT_NEAR(variance, belief.variance, 1e-5);
  const auto raw = model.Unweighted(4, event.keys[4]);
  Keys alone(world.effects.size(), kAbsent);
  alone[4] = event.keys[4];
  EXPECT_NE(model.weight(4), 1.0f);
  EXPECT_NEAR(model.Predict(alone, event.x).mean, model.weight(4) * raw.mean, 1e-6);
  EXPECT_NEAR(model.Predict(alone, event.x).variance,
              model.weight(4) * model.weight(4) * raw.variance, 1e-7);
  const auto largest = model.Largest(4, 1);
  ASSERT_EQ(largest.size(), 1u);
  alone[4] = largest[0].key;
  EXPECT_NEAR(model.Predict(alone, event.x).mean, largest[0].mean, 1e-6);
  EXPECT_NEAR(std::sqrt(model.Predict(alone, event.x).variance), largest[0].width, 1e-6);
}

std::string Encoded(const EffectsModel& model) {
  std::string bytes;
  ByteWriter out(bytes);
  model.Encode(out);
  return bytes;
}

absl::Status Decode(std::string_view bytes, EffectsModel& model) {
  ByteReader in(bytes);
  return model.Decode(in);
}

TEST(EffectWeightsTest, ADecodedModelContinuesBitForBit) {
  World world;
  world.effects[4].half_life = 50;
  EffectsModel model = Make(world.d, world.effects);
  const std::vector<Event> events = EventsOf(world, 3000, 4);
  const auto learn = [&](EffectsModel& to, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      to.Learn(events[i].keys, events[i].x, events[i].reward, events[i].noise);
    }
  };
  learn(model, 0, 1333);  // between two steps
  EffectsModel again = Make(world.d, world.effects);
  learn(again, 0, 700);
  ASSERT_THAT(Decode(Encoded(model), again), IsOk());
  EXPECT_EQ(Encoded(again), Encoded(model));
  learn(model, 1333, events.size());
  learn(again, 1333, events.size());
  EXPECT_EQ(Encoded(again), Encoded(model));
}

TEST(EffectWeightsTest, AStateIsOfModelsWithWeightsOrWithout) {
  const World world;
  const EffectsModel with = Make(world.d, world.effects);
  const EffectsModel without = Make(world.d, world.effects, {});
  EffectsModel to_with = Make(world.d, world.effects);
  EffectsModel to_without = Make(world.d, world.effects, {});
  EXPECT_THAT(Decode(Encoded(without), to_with), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Decode(Encoded(with), to_without), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(EffectWeightsTest, DamagedWeightsAreRefused) {
  EffectWeights weights(3);
  const std::vector<float> parts = {0.3f, -0.2f, 0.1f};
  for (int i = 0; i < 100; ++i) weights.Learn(0.5, 0.2 + weights.Spread(parts), 1);
  weights.Publish();
  std::string bytes;
  ByteWriter out(bytes);
  weights.Encode(out);
  ASSERT_EQ(bytes.size(), 3 * (3 + 5) / 2 * sizeof(double));
  const auto decoded = [](const std::string& from) {
    EffectWeights to(3);
    ByteReader in(from);
    return to.Decode(in);
  };
  EXPECT_THAT(decoded(bytes), IsOk());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(decoded(bytes.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  const auto with = [&](std::size_t position, double value) {
    std::string number;
    ByteWriter(number).F64(value);
    std::string damaged = bytes;
    damaged.replace(position * sizeof(double), sizeof(double), number);
    return decoded(damaged);
  };
  EXPECT_THAT(with(0, std::nan("")), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(with(1, 0.09), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(with(4, -1), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(with(6, 0.4), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(with(8, -1e-3), StatusIs(absl::StatusCode::kDataLoss));
}

// Rewards that go against whatever the model says: no weight vanishes, nothing overflows.
TEST(EffectWeightsTest, StayAboveTheirFloorWhateverComes) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  for (const Event& event : EventsOf(world, 6000, 8)) {
    const auto believed = model.Predict(event.keys, event.x);
    model.Learn(event.keys, event.x, believed.mean > 0 ? -1 : 1, 0);
    for (std::size_t t = 0; t < world.effects.size(); ++t) {
      ASSERT_GE(model.weight(t), 0.1f);
      ASSERT_LT(model.weight(t), 100);
    }
    ASSERT_TRUE(std::isfinite(model.Predict(event.keys, event.x).mean));
  }
}

TEST(EffectWeightsTest, AreNotLearntBesideScales) {
  EXPECT_THAT(EffectsModel::Create(2, {{"shared", true, 0.1}}, kNoise, EffectsModel::kUnbounded,
                                   {.scales = true, .weights = true}),
              StatusIs(absl::StatusCode::kInvalidArgument, "scales or weights"));
}

TEST(ForgettingTest, HalfIsLeftAfterTheHalfLife) {
  for (const std::uint64_t half_life : {1, 2, 10, 1000, 1'000'000}) {
    const Forgetting forgetting = ForgettingOf(half_life);
    EXPECT_NEAR(std::pow(static_cast<double>(forgetting.kept), static_cast<double>(half_life)), 0.5,
                0.03)
        << half_life;
    EXPECT_NEAR(forgetting.renewed / -std::expm1(-2 * std::log(2.0) / half_life), 1, 1e-6)
        << half_life;
  }
  EXPECT_FALSE(ForgettingOf(0).any());
}

// An arm whose value changes is followed; what is never seen again is kept.
TEST(ForgettingTest, FollowsAnArmThatChanges) {
  const auto error_after_change = [](std::uint64_t half_life) {
    EffectsModel model = Make(1, {{"arm", false, 0.03, false, half_life}}, {});
    TestRng rng(3);
    const std::vector<double> x = {1};
    for (int i = 0; i < 2000; ++i) model.Learn(Keys{7}, x, 0.3 + 0.3 * rng.Normal(), 0);
    model.Learn(Keys{8}, x, 0.3, 0);
    const auto other = model.Predict(Keys{8}, x);
    for (int i = 0; i < 200; ++i) model.Learn(Keys{7}, x, -0.3 + 0.3 * rng.Normal(), 0);
    EXPECT_EQ(model.Predict(Keys{8}, x).mean, other.mean);
    return std::abs(model.Predict(Keys{7}, x).mean + 0.3);
  };
  EXPECT_GT(error_after_change(0), 0.5);
  EXPECT_LT(error_after_change(50), 0.15);
}

}  // namespace
}  // namespace bandana::testing
