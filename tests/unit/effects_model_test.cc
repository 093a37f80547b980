// The one-pass learner of effects against exact Gaussian posteriors, and at its edges.
#include "common/bandits/effects/effects_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/bandits/effects/block_kernels.h"
#include "common/bandits/effects/block_table.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using Keys = std::vector<EffectKey>;

// The exact posterior of all coefficients together. Keys of an effect are 1, 2, ...
class ExactEffects {
 public:
  ExactEffects(int d, std::vector<Effect> effects, std::vector<int> keys, double noise_variance)
      : d_(d), effects_(std::move(effects)), noise_variance_(noise_variance) {
    int size = 0;
    for (std::size_t t = 0; t < effects_.size(); ++t) {
      offset_.push_back(size);
      size += keys[t] * Width(t);
    }
    mean_ = Eigen::VectorXd::Zero(size);
    covariance_ = Eigen::MatrixXd::Zero(size, size);
    for (std::size_t t = 0; t < effects_.size(); ++t) {
      const int end = t + 1 < effects_.size() ? offset_[t + 1] : size;
      for (int i = offset_[t]; i < end; ++i) covariance_(i, i) = effects_[t].prior_variance;
    }
  }

  void Learn(const Keys& keys, const std::vector<double>& x, double reward, double noise) {
    const Eigen::VectorXd z = Features(keys, x);
    const Eigen::VectorXd y = covariance_ * z;
    const double v = noise_variance_ + noise + z.dot(y);
    mean_ += y * ((reward - z.dot(mean_)) / v);
    covariance_ -= y * y.transpose() / v;
  }

  EffectsModel::Belief Predict(const Keys& keys, const std::vector<double>& x) const {
    const Eigen::VectorXd z = Features(keys, x);
    return {.mean = z.dot(mean_), .variance = z.dot(covariance_ * z)};
  }

 private:
  int Width(std::size_t t) const { return effects_[t].vector ? d_ : 1; }
  Eigen::VectorXd Features(const Keys& keys, const std::vector<double>& x) const {
    Eigen::VectorXd z = Eigen::VectorXd::Zero(mean_.size());
    for (std::size_t t = 0; t < keys.size(); ++t) {
      if (keys[t] == kAbsent) continue;
      const int at = offset_[t] + static_cast<int>(keys[t] - 1) * Width(t);
      for (int i = 0; i < Width(t); ++i) z[at + i] = effects_[t].vector ? x[i] : 1;
    }
    return z;
  }

  int d_;
  std::vector<Effect> effects_;
  double noise_variance_;
  std::vector<int> offset_;
  Eigen::VectorXd mean_;
  Eigen::MatrixXd covariance_;
};

EffectsModel Make(int d, std::vector<Effect> effects, double noise_variance = 0.1) {
  auto made = EffectsModel::Create(d, std::move(effects), noise_variance);
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

// One block alone is exact: through the list of vectors, its doublings and the triangle.
TEST(EffectsModelTest, OneEffectIsBayesianRegression) {
  for (const int d : {1, 2, 7, 8, 9, 25, 64}) {
    TestRng rng(d);
    const std::vector<Effect> effects = {{"shared", true, 0.5}};
    EffectsModel model = Make(d, effects);
    ExactEffects exact(d, effects, {1}, 0.1);
    for (int event = 0; event < 3 * d + 40; ++event) {
      const std::vector<double> x = rng.UnitVector(d);
      const double reward = rng.Uniform();
      const double noise = event % 3 == 0 ? 0.7 : 0;
      const auto before = exact.Predict({1}, x);
      const auto believed = model.Learn(Keys{1}, x, reward, noise);
      EXPECT_NEAR(believed.mean, before.mean, 2e-5) << d << " " << event;
      EXPECT_NEAR(believed.variance, before.variance + 0.1 + noise, 2e-5) << d << " " << event;
      exact.Learn({1}, x, reward, noise);
    }
    const std::vector<double> x = rng.UnitVector(d);
    std::vector<double> mean(d);
    std::vector<double> covariance(d * d);
    model.SumVectors(Keys{1}, mean, covariance);
    double summed = 0;
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j < d; ++j) summed += x[i] * covariance[i * d + j] * x[j];
    }
    EXPECT_NEAR(std::inner_product(x.begin(), x.end(), mean.begin(), 0.0),
                exact.Predict({1}, x).mean, 2e-5);
    EXPECT_NEAR(summed, exact.Predict({1}, x).variance, 2e-5);
    EXPECT_NEAR(model.Predict(Keys{1}, x).variance, summed, 2e-5);
  }
}

struct World {
  int d = 4;
  int groups = 3;
  int users = 12;
  int arms = 6;
  std::vector<Effect> effects = {
      {"shared", true, 0.1}, {"group", true, 0.08}, {"user", true, 0.02}, {"arm", false, 0.05}};
};

Keys KeysOf(const World& world, int user, int arm) {
  const auto key = [](int position) { return static_cast<EffectKey>(position + 1); };
  return {1, key(user % world.groups), key(user), key(arm)};
}

// Mean squared errors, and squared errors over the believed variances, of one world.
struct WorldErrors {
  double one_pass = 0;
  double exact = 0;
  double one_pass_z2 = 0;
  double exact_z2 = 0;
};

// A world drawn from the prior, 1,200 events, checked before each event from the 200th on.
WorldErrors ErrorsIn(const World& world, std::uint64_t seed) {
  TestRng rng(seed);
  const auto draw = [&](int n, double variance) {
    std::vector<double> values(n);
    for (double& value : values) value = rng.Normal() * std::sqrt(variance);
    return values;
  };
  const auto shared = draw(world.d, 0.1);
  const auto group = draw(world.d * world.groups, 0.08);
  const auto user = draw(world.d * world.users, 0.02);
  const auto arm = draw(world.arms, 0.05);
  EffectsModel model = Make(world.d, world.effects);
  ExactEffects exact(world.d, world.effects, {1, world.groups, world.users, world.arms}, 0.1);
  WorldErrors errors;
  for (int event = 0; event < 1200; ++event) {
    const std::vector<double> x = rng.UnitVector(world.d);
    const int u = rng.Index(world.users);
    const int a = rng.Index(world.arms);
    const Keys keys = KeysOf(world, u, a);
    double expected = arm[a];
    for (int i = 0; i < world.d; ++i) {
      expected +=
          x[i] * (shared[i] + group[u % world.groups * world.d + i] + user[u * world.d + i]);
    }
    if (event >= 200) {
      const auto ours = model.Predict(keys, x);
      const auto best = exact.Predict(keys, x);
      errors.one_pass += std::pow(ours.mean - expected, 2) / 1000;
      errors.exact += std::pow(best.mean - expected, 2) / 1000;
      errors.one_pass_z2 += std::pow(ours.mean - expected, 2) / ours.variance / 1000;
      errors.exact_z2 += std::pow(best.mean - expected, 2) / best.variance / 1000;
    }
    const double reward = expected + rng.Normal() * std::sqrt(0.1);
    model.Learn(keys, x, reward, 0);
    exact.Learn(keys, x, reward, 0);
  }
  return errors;
}

// Against the exact joint posterior. Checks of one world depend on each other, so errors are over
// 200 worlds. In 2,000 other worlds the mean of z^2 was 0.813 with a standard deviation over worlds
// of 0.113 (the exact posterior: 0.994, 0.25), so 200 worlds have a standard error of 0.008
// (0.018): the bounds are 6 (5) such errors, and a correct model fails with a probability below
// 1e-6. The one-pass means lose 18 % to the exact ones there.
TEST(EffectsModelTest, NearTheExactJointPosterior) {
  constexpr int kWorlds = 200;
  WorldErrors sum;
  for (int seed = 0; seed < kWorlds; ++seed) {
    const WorldErrors errors = ErrorsIn({}, 1000 + seed);
    sum.one_pass += errors.one_pass;
    sum.exact += errors.exact;
    sum.one_pass_z2 += errors.one_pass_z2 / kWorlds;
    sum.exact_z2 += errors.exact_z2 / kWorlds;
  }
  EXPECT_NEAR(sum.exact_z2, 1, 0.09);
  EXPECT_NEAR(sum.one_pass_z2, 0.813, 0.05);
  EXPECT_LT(sum.one_pass / sum.exact, 1.25);
}

TEST(EffectsModelTest, TheSameSequenceGivesTheSameBits) {
  const World world;
  const auto run = [&](bool backwards) {
    EffectsModel model = Make(world.d, world.effects);
    TestRng rng(5);
    struct Seen {
      Keys keys;
      std::vector<double> x;
      double reward;
    };
    std::vector<Seen> events;
    for (int i = 0; i < 300; ++i) {
      events.push_back({KeysOf(world, i % 12, i % 6), rng.UnitVector(world.d), rng.Uniform()});
    }
    if (backwards) std::reverse(events.begin(), events.end());
    for (const Seen& event : events) model.Learn(event.keys, event.x, event.reward, 0);
    return model.Predict(KeysOf(world, 3, 3), std::vector<double>{0.5, 0.5, 0.5, 0.5});
  };
  EXPECT_EQ(run(false).mean, run(false).mean);
  EXPECT_EQ(run(false).variance, run(false).variance);
  // The order matters, slightly.
  EXPECT_NE(run(false).mean, run(true).mean);
  EXPECT_NEAR(run(false).mean, run(true).mean, 0.05);
}

TEST(EffectsModelTest, AbsentEffectsHaveNoPart) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  const std::vector<double> x = {1, 0, 0, 0};
  const Keys nobody = {1, kAbsent, kAbsent, kAbsent};
  for (int i = 0; i < 100; ++i) model.Learn(nobody, x, 1, 0);
  EXPECT_GT(model.Predict(nobody, x).mean, 0.9);
  EXPECT_EQ(model.SumConstants(nobody).variance, 0);
  const Keys nothing(4, kAbsent);
  const auto believed = model.Learn(nothing, x, 1, 0.25);
  EXPECT_EQ(believed.mean, 0);
  EXPECT_FLOAT_EQ(believed.variance, 0.35);
  EXPECT_EQ(model.Predict(nothing, x).variance, 0);
}

TEST(EffectsModelTest, ErasedKeysStartAtThePrior) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  const std::vector<double> x = {1, 0, 0, 0};
  const Keys keys = KeysOf(world, 7, 4);
  const auto prior = model.Predict(keys, x);
  for (int i = 0; i < 50; ++i) model.Learn(keys, x, 1, 0);
  for (int t = 0; t < 4; ++t) model.Erase(t, keys[t]);
  const auto again = model.Predict(keys, x);
  EXPECT_EQ(again.mean, 0);
  EXPECT_EQ(again.variance, prior.variance);
  // Its memory is used by the next.
  const std::size_t bytes = model.bytes();
  for (int i = 0; i < 50; ++i) model.Learn(keys, x, 1, 0);
  EXPECT_EQ(model.bytes(), bytes);
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

// A thousand events of the world, users by Zipf's law: lists of every length and triangles.
void LearnWorld(const World& world, EffectsModel& model, std::uint64_t seed) {
  TestRng rng(seed);
  for (int i = 0; i < 1000; ++i) {
    const int user = static_cast<int>(world.users * std::pow(rng.Uniform(), 3));
    model.Learn(KeysOf(world, user, rng.Index(world.arms)), rng.UnitVector(world.d), rng.Uniform(),
                i % 2);
  }
}

TEST(EffectsModelTest, ADecodedModelContinuesBitForBit) {
  World world{.d = 13, .users = 300, .arms = 50};
  EffectsModel model = Make(world.d, world.effects);
  LearnWorld(world, model, 1);
  model.Erase(2, 3);
  const std::string bytes = Encoded(model);
  EffectsModel again = Make(world.d, world.effects);
  LearnWorld(world, again, 7);
  ASSERT_THAT(Decode(bytes, again), IsOk());
  EXPECT_EQ(Encoded(again), bytes);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(again.blocks(t), model.blocks(t));
  LearnWorld(world, model, 2);
  LearnWorld(world, again, 2);
  EXPECT_EQ(Encoded(again), Encoded(model));
}

TEST(EffectsModelTest, DamagedBytesAreRefusedAndLeaveTheModelEmpty) {
  const World world;
  EffectsModel model = Make(world.d, world.effects);
  const std::string empty = Encoded(model);
  LearnWorld(world, model, 1);
  const std::string bytes = Encoded(model);
  EffectsModel again = Make(world.d, world.effects);
  for (std::size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 37) {
    EXPECT_THAT(Decode(std::string_view(bytes).substr(0, size), again),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
  EXPECT_EQ(Encoded(again), empty);
  // Flipped bits: refused, or another state; never a crash, never a number that is not finite.
  TestRng rng(9);
  for (int i = 0; i < 2000; ++i) {
    std::string flipped = bytes;
    flipped[rng.Index(static_cast<int>(bytes.size()))] ^= static_cast<char>(1 << rng.Index(8));
    if (!Decode(flipped, again).ok()) {
      EXPECT_EQ(Encoded(again), empty);
    } else {
      const auto belief = again.Predict(KeysOf(world, 1, 1), std::vector<double>(world.d, 0.5));
      EXPECT_FALSE(std::isnan(belief.mean));
    }
  }
  auto other = world.effects;
  other[1].prior_variance *= 2;
  EffectsModel stranger = Make(world.d, other);
  EXPECT_THAT(Decode(bytes, stranger), StatusIs(absl::StatusCode::kDataLoss));
  EffectsModel wider = Make(world.d + 1, world.effects);
  EXPECT_THAT(Decode(bytes, wider), StatusIs(absl::StatusCode::kDataLoss));
}

// Learns y = x'theta + noise with one block per key, as the model does.
void LearnBlock(BlockTable& table, EffectKey key, int events, std::uint64_t seed) {
  TestRng rng(seed);
  const int d = table.dimension();
  std::vector<float> y(table.lanes());
  for (int event = 0; event < events; ++event) {
    const std::vector<double> x = rng.UnitVector(d);
    std::vector<float> z(table.lanes());
    std::copy(x.begin(), x.end(), z.begin());
    BlockTable::Place& place = table.Open(key);
    const float mean = table.Project(place, z.data(), y.data());
    const float variance = 0.1f + std::inner_product(z.begin(), z.end(), y.begin(), 0.0f);
    const auto reward = static_cast<float>(x[0] + 0.3 * rng.Normal());
    table.Learn(place, y.data(), (reward - mean) / variance, 1 / std::sqrt(variance));
  }
}

// Lists and triangles under another prior are what they had been under it from the start.
TEST(BlockTableTest, ABlockTakesOverAnotherPrior) {
  for (const int d : {4, 13, 25}) {
    for (const int events : {0, 1, 3, 5, 60}) {
      for (const float prior : {0.001f, 0.05f, 0.3f, 4.0f}) {
        BlockTable moved = *BlockTable::Create(d, 0.1f);
        LearnBlock(moved, 7, events, d + events);
        moved.SetPrior(prior);
        BlockTable fresh = *BlockTable::Create(d, prior);
        LearnBlock(fresh, 7, events, d + events);
        std::vector<float> mean(moved.lanes());
        std::vector<float> rows(PackedFloats(d));
        std::vector<float> fresh_mean(mean.size());
        std::vector<float> fresh_rows(rows.size());
        moved.AddTo(moved.Open(7), mean.data(), rows.data());
        fresh.AddTo(fresh.Open(7), fresh_mean.data(), fresh_rows.data());
        for (std::size_t i = 0; i < mean.size(); ++i) {
          EXPECT_NEAR(mean[i], fresh_mean[i], 2e-5 * (1 + prior)) << d << " " << events;
        }
        for (std::size_t i = 0; i < rows.size(); ++i) {
          EXPECT_NEAR(rows[i], fresh_rows[i], 2e-5 * prior) << d << " " << events << " " << prior;
        }
      }
    }
  }
}

struct ScaleWorld {
  double group_deviation = 0;  // of a group's coefficients from 0, and of a user's from the group's
  double user_deviation = 0;
};

// Squared prediction errors of the second half of 20,000 events of 2,000 users in 200 groups.
double ErrorIn(const ScaleWorld& world, EffectsModel& model) {
  constexpr int kDimension = 4;
  TestRng rng(11);
  std::vector<double> group(200 * kDimension);
  std::vector<double> user(2000 * kDimension);
  for (double& value : group) value = world.group_deviation * rng.Normal();
  for (std::size_t i = 0; i < user.size(); ++i) {
    user[i] = group[i / kDimension % 200 * kDimension + i % kDimension] +
              world.user_deviation * rng.Normal();
  }
  double error = 0;
  for (int event = 0; event < 20'000; ++event) {
    const int u = rng.Index(2000);
    const std::vector<double> x = rng.UnitVector(kDimension);
    double expected = 0;
    for (int i = 0; i < kDimension; ++i) expected += x[i] * user[u * kDimension + i];
    const auto belief =
        model.Learn(Keys{1, static_cast<EffectKey>(u % 200 + 1), static_cast<EffectKey>(u + 1)}, x,
                    expected + 0.2 * rng.Normal(), 0);
    if (event >= 10'000) error += std::pow(belief.mean - expected, 2) / 10'000;
  }
  return error;
}

const std::vector<Effect> kScaleEffects = {
    {"shared", true, 0.1}, {"group", true, 0.08}, {"user", true, 0.02}};

TEST(LearntScalesTest, UselessGroupsShrinkAndUsefulOnesStay) {
  const ScaleWorld personal{.group_deviation = 0, .user_deviation = 0.4};
  EffectsModel fixed = Make(4, kScaleEffects);
  EffectsModel learnt =
      *EffectsModel::Create(4, kScaleEffects, 0.1, EffectsModel::kUnbounded, {.scales = true});
  const double error = ErrorIn(personal, learnt);
  EXPECT_LT(error, 0.8 * ErrorIn(personal, fixed));
  EXPECT_LT(learnt.prior_variance(1), 0.02);
  EXPECT_GT(learnt.prior_variance(2), 0.05);
  EXPECT_EQ(learnt.prior_variance(0), static_cast<float>(0.1));  // of one block
  EXPECT_EQ(fixed.prior_variance(1), static_cast<float>(0.08));

  const ScaleWorld social{.group_deviation = 0.4, .user_deviation = 0.02};
  EffectsModel fixed_social = Make(4, kScaleEffects);
  EffectsModel learnt_social =
      *EffectsModel::Create(4, kScaleEffects, 0.1, EffectsModel::kUnbounded, {.scales = true});
  EXPECT_LT(ErrorIn(social, learnt_social), 0.8 * ErrorIn(social, fixed_social));
  EXPECT_GT(learnt_social.prior_variance(1), 0.03);
  EXPECT_LT(learnt_social.prior_variance(2), 0.01);
}

TEST(LearntScalesTest, ADecodedModelContinuesBitForBit) {
  const ScaleWorld world{.group_deviation = 0.2, .user_deviation = 0.3};
  EffectsModel model =
      *EffectsModel::Create(4, kScaleEffects, 0.1, EffectsModel::kUnbounded, {.scales = true});
  ErrorIn(world, model);
  const std::string bytes = Encoded(model);
  EffectsModel again =
      *EffectsModel::Create(4, kScaleEffects, 0.1, EffectsModel::kUnbounded, {.scales = true});
  ASSERT_THAT(Decode(bytes, again), IsOk());
  EXPECT_EQ(Encoded(again), bytes);
  ErrorIn(world, model);
  ErrorIn(world, again);
  EXPECT_EQ(Encoded(again), Encoded(model));
  EffectsModel fixed = Make(4, kScaleEffects);
  EXPECT_THAT(Decode(bytes, fixed), StatusIs(absl::StatusCode::kDataLoss));
}

// The user's side summed once, and each arm's side added, is the prediction.
TEST(EffectsModelTest, SidesAddUp) {
  World world;
  world.effects.push_back({"arm_taste", true, 0.03});
  EffectsModel model = Make(world.d, world.effects);
  TestRng rng(4);
  for (int i = 0; i < 500; ++i) {
    Keys keys = KeysOf(world, rng.Index(12), rng.Index(6));
    keys.push_back(keys[3]);
    model.Learn(keys, rng.UnitVector(world.d), rng.Uniform(), 0);
  }
  const auto x = rng.UnitVector(world.d);
  const Keys user = {1, 2, 2, kAbsent, kAbsent};
  const Keys arm = {kAbsent, kAbsent, kAbsent, 4, 4};
  std::vector<double> mean(world.d);
  std::vector<double> covariance(world.d * world.d);
  model.SumVectors(user, mean, covariance);
  EffectsModel::Belief belief;
  for (int i = 0; i < world.d; ++i) {
    belief.mean += mean[i] * x[i];
    for (int j = 0; j < world.d; ++j) belief.variance += x[i] * covariance[i * world.d + j] * x[j];
  }
  model.AddBelief(arm, x, belief);
  const auto whole = model.Predict(Keys{1, 2, 2, 4, 4}, x);
  EXPECT_NEAR(belief.mean, whole.mean, 1e-6);
  EXPECT_NEAR(belief.variance, whole.variance, 1e-6);
}

TEST(EffectsModelTest, PairsBeyondTheBoundHaveNoEffect) {
  const std::vector<Effect> effects = {
      {"shared", true, 0.1}, {"pair", false, 0.05, true}, {"taste", true, 0.05, true}};
  EffectsModel model = *EffectsModel::Create(2, effects, 0.1, 5);
  const std::vector<double> x = {1, 0};
  for (EffectKey key = 1; key <= 20; ++key) model.Learn(Keys{1, key, key}, x, 1, 0);
  EXPECT_EQ(model.blocks(0), 1);
  EXPECT_EQ(model.blocks(1), 3);
  EXPECT_EQ(model.blocks(2), 2);
  const auto beyond = model.Predict(Keys{1, 20, 20}, x);
  const auto shared = model.Predict(Keys{1, kAbsent, kAbsent}, x);
  EXPECT_EQ(beyond.mean, shared.mean);
  EXPECT_EQ(beyond.variance, shared.variance);
  EXPECT_GT(model.Predict(Keys{1, 1, 1}, x).variance, shared.variance);
  model.Erase(1, 1);
  EXPECT_GT(model.Predict(Keys{1, 20, kAbsent}, x).variance, shared.variance);
}

// One block, a million events: float against double.
TEST(EffectsModelTest, FloatsDriftLittleInAMillionEvents) {
  constexpr int kDimension = 8;
  TestRng rng(3);
  const std::vector<Effect> effects = {{"shared", true, 0.1}};
  EffectsModel model = Make(kDimension, effects);
  ExactEffects exact(kDimension, effects, {1}, 0.1);
  for (int event = 0; event < 1'000'000; ++event) {
    const std::vector<double> x = rng.UnitVector(kDimension);
    const double reward = 0.3 * x[0] + 0.2 * x[1] + 0.3 * rng.Normal();
    model.Learn(Keys{1}, x, reward, 0);
    exact.Learn({1}, x, reward, 0);
  }
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> x = rng.UnitVector(kDimension);
    const auto ours = model.Predict(Keys{1}, x);
    const auto truth = exact.Predict({1}, x);
    EXPECT_NEAR(ours.mean, truth.mean, 1e-3);
    EXPECT_NEAR(ours.variance / truth.variance, 1, 0.05);
  }
}

TEST(EffectsModelTest, RefusesWhatItCannotLearn) {
  EXPECT_THAT(EffectsModel::Create(0, {{"a", true, 1}}, 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(EffectsModel::Create(2, {}, 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(EffectsModel::Create(2, {{"a", true, 1}, {"a", false, 1}}, 1).status().message(),
              HasSubstr("two effects have the name a"));
  EXPECT_THAT(EffectsModel::Create(2, {{"a", true, 0}}, 1).status().message(),
              HasSubstr("prior variance of effect a"));
  EXPECT_THAT(EffectsModel::Create(2, {{"a", true, NAN}}, 1).status().message(),
              HasSubstr("prior variance of effect a"));
  EXPECT_THAT(EffectsModel::Create(2, {{"a", true, 1}}, 0).status().message(),
              HasSubstr("noise variance"));
}

}  // namespace
}  // namespace bandana::testing
