// Joint privacy against slow dense references, on seeded random histories. Repeat one with
// `joint_model_property_test --seed=N`.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/accounting/composition.h"
#include "common/accounting/gaussian.h"
#include "common/accounting/zcdp.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/bandits/joint/joint_model.h"
#include "common/bandits/joint/thompson.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/counter_peer.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using namespace bandana::testing;

std::uint64_t seed = 20261121;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

JointCounter::Options CounterAt(int dimension, CounterKind kind, double epsilon = 1) {
  return {.dimension = dimension,
          .epsilon = {epsilon},
          .delta = {1e-5},
          .kind = kind,
          .horizon = 2000,
          .step_cap = 4000};
}

// The vector that enters the counter, in units of phi.
std::vector<double> Phi(const JointCounter& counter, std::vector<double> x,
                        std::optional<double> r) {
  const ClippedIncrement increment = counter.Clip(RawInteraction(std::move(x), r));
  std::vector<double> phi;
  for (const std::int64_t v : ClippedIncrementPeer::Values(increment))
    phi.push_back(std::ldexp(static_cast<double>(v), counter.design().grid().exponent));
  return phi;
}

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

TEST(JointCounter, IncrementsAreThePackedStatisticWithinItsSensitivity) {
  TestRng rng(seed);
  for (const int d : {1, 2, 5, 11}) {
    JointCounter::Options options = CounterAt(d, CounterKind::kEpochs);
    options.context_l2_max = 2;
    options.reward_abs_max = 3;
    const auto counter = JointCounter::Create(options);
    ASSERT_THAT(counter, IsOk());
    const double sensitivity = d == 1 ? 2 : 1.5 * std::numbers::sqrt2;
    double farthest = 0;
    std::vector<double> before;
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<double> x = rng.UnitVector(d);
      const double length = trial % 2 == 0 ? 2.0 : 4 * rng.Uniform();  // some are too long
      for (double& v : x) v *= length;
      const double r = trial % 3 == 0 ? 3 : 8 * rng.Uniform() - 4;
      const std::vector<double> phi = Phi(*counter, x, r);
      const double shorten = std::min(1.0, 2 / length) / 2;
      const double clipped = std::clamp(r, -3.0, 3.0) / 3;
      std::size_t next = 0;
      for (int i = 0; i < d; ++i) {
        for (int j = i; j < d; ++j) {
          const double weight = i == j ? 1 : std::numbers::sqrt2;
          EXPECT_NEAR(phi[next++], weight * x[i] * x[j] * shorten * shorten, 1e-6);
        }
      }
      for (int i = 0; i < d; ++i) EXPECT_NEAR(phi[next++], clipped * x[i] * shorten, 1e-6);
      if (!before.empty()) farthest = std::max(farthest, Distance(phi, before));
      before = phi;
    }
    EXPECT_LE(farthest, sensitivity * (1 + 1e-5));
    EXPECT_GE(farthest, 0.85 * sensitivity);  // the bound is not loose
  }
}

TEST(JointCounter, WhatIsNoNumberCountsAsNothing) {
  const auto counter = JointCounter::Create(CounterAt(3, CounterKind::kBlt));
  ASSERT_THAT(counter, IsOk());
  const std::vector<double> zero(9, 0.0);
  EXPECT_EQ(Phi(*counter, {kNan, 0, 0}, 1), zero);
  EXPECT_EQ(Phi(*counter, {kInfinity, 0, 0}, 1), zero);
  EXPECT_EQ(Phi(*counter, {1, 0}, 1), zero);
  EXPECT_EQ(Phi(*counter, {0, 0, 0}, 1), zero);
  for (const std::optional<double> r : {std::optional<double>(kNan), std::optional<double>()})
    EXPECT_EQ(Phi(*counter, {0.5, 0, 0}, r), Phi(*counter, {0.5, 0, 0}, 0));
}

// The whole stream reads at most the epsilon asked for, and no less than 99.9 % of it.
TEST(JointCounter, CostReadsAsItWasAsked) {
  for (const CounterKind kind : {CounterKind::kEpochs, CounterKind::kBlt}) {
    for (const double delta : {0.1, 1e-5, 1e-9}) {
      for (const double epsilon : {0.1, 1.0, 8.0}) {
        JointCounter::Options options = CounterAt(5, kind, epsilon);
        options.delta = {delta};
        options.step_cap = std::uint64_t{1} << 30;
        const auto counter = JointCounter::Create(options);
        ASSERT_THAT(counter, IsOk());
        const auto totals = Compose({}, counter->cost());
        ASSERT_THAT(totals, IsOk());
        const auto readings = Read(*totals, {delta});
        ASSERT_THAT(readings, IsOk());
        ASSERT_TRUE(readings->best().has_value());
        EXPECT_LE(readings->best()->value, epsilon * (1 + 1e-6)) << epsilon << " " << delta;
        EXPECT_GE(readings->best()->value, 0.98 * epsilon) << epsilon << " " << delta;
        // Never more noise than zCDP alone would need.
        const auto zcdp = CounterDesign::Create({.kind = kind,
                                                 .dimension = 20,
                                                 .norm_bound = std::numbers::sqrt2,
                                                 .sensitivity = 1.5 * std::numbers::sqrt2,
                                                 .rho = *CalibrateZcdp({epsilon}, {delta}),
                                                 .horizon = options.horizon});
        ASSERT_THAT(zcdp, IsOk());
        EXPECT_LE(counter->design().PredictedVariance(40),
                  zcdp->PredictedVariance(40) * (1 + 1e-5));
      }
    }
  }
}

// sums.gram and sums.moment of a stream of one repeated event against n x x' and n r x, in
// predicted deviations: 2^13 coordinates of independent noise.
TEST(JointCounter, NoiseHasThePredictedVariance) {
  constexpr int kDimension = 10, kRuns = 126;  // 126 x 65 = 8190 coordinates
  constexpr int kSteps = 40;
  const double alpha = AlphaOf("joint_counter_noise") / 2;
  for (const CounterKind kind : {CounterKind::kEpochs, CounterKind::kBlt}) {
    const auto counter = JointCounter::Create(CounterAt(kDimension, kind));
    ASSERT_THAT(counter, IsOk());
    SeededBits bits(17);
    std::uint64_t outside = 0, samples = 0;
    for (int run = 0; run < kRuns; ++run) {
      CounterEncoder encoder(counter->design());
      CounterDecoder decoder(counter->design());
      const std::vector<double> x(kDimension, 1 / std::sqrt(kDimension));
      for (int t = 0; t < kSteps; ++t) {
        auto release = encoder.Step(counter->Clip(RawInteraction(x, 0.5)), bits);
        ASSERT_THAT(release, IsOk());
        ASSERT_THAT(decoder.Push(*release), IsOk());
      }
      const JointSums sums = counter->Read(decoder);
      const double n = static_cast<double>(sums.covered);
      for (int i = 0; i < kDimension; ++i) {
        for (int j = 0; j <= i; ++j, ++samples) {
          const double deviation = std::sqrt(sums.gram_variance / (i == j ? 1 : 2));
          const double error = sums.gram[i * (i + 1) / 2 + j] - n / kDimension;
          outside += std::abs(error) > deviation;
        }
        const double error = sums.moment[i] - n * 0.5 / std::sqrt(kDimension);
        outside += std::abs(error) > std::sqrt(sums.moment_variance);
        ++samples;
      }
    }
    const BinomialTest test =
        *BinomialTest::Create(samples, std::erfc(1 / std::numbers::sqrt2), alpha);
    EXPECT_TRUE(test.Accepts(outside)) << outside << " of " << samples;
    // Mutants: noise 10 % off, and entries beside the diagonal without their 1 / sqrt 2.
    EXPECT_GE(test.RejectionProbability(std::erfc(1 / (0.9 * std::numbers::sqrt2))), 0.99);
    EXPECT_GE(test.RejectionProbability(45.0 / 65 * std::erfc(0.5) + 20.0 / 65 * 0.3173), 0.99);
  }
}

struct Stream {
  std::vector<std::vector<double>> x;
  std::vector<double> r;
};

Stream RandomStream(int d, int steps, TestRng& rng) {
  Stream stream;
  const std::vector<double> theta = rng.UnitVector(d);
  for (int t = 0; t < steps; ++t) {
    stream.x.push_back(rng.UnitVector(d));
    double mean = 0;
    for (int c = 0; c < d; ++c) mean += stream.x.back()[c] * theta[c];
    stream.r.push_back(rng.Uniform() < (1 + mean) / 2 ? 1 : -1);
  }
  return stream;
}

// Eigenvalues clipped, R = s2 S + v I, H = S R^-1 S, K = (I / tau^2 + H)^-1, m = K S R^-1 beta,
// each with plain inverses.
NodePosterior DensePosterior(const JointModel::Options& options, const JointSums& sums) {
  using Matrix = Eigen::MatrixXd;
  const int d = options.counter.dimension;
  Matrix s(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) s(i, j) = s(j, i) = sums.gram[i * (i + 1) / 2 + j];
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(s);
  s = solver.eigenvectors() * solver.eigenvalues().cwiseMax(0).asDiagonal() *
      solver.eigenvectors().transpose();
  const double v =
      sums.moment_variance + sums.gram_variance * options.theta_l2_max * options.theta_l2_max;
  const Matrix r = options.reward_stddev * options.reward_stddev * s + v * Matrix::Identity(d, d);
  const Matrix weight = s * r.inverse();
  const Matrix k =
      (Matrix::Identity(d, d) / (options.prior_stddev * options.prior_stddev) + weight * s)
          .inverse();
  const Eigen::VectorXd m = k * (weight * Eigen::Map<const Eigen::VectorXd>(sums.moment.data(), d));
  return {{m.data(), m.data() + d}, {k.data(), k.data() + k.size()}, options.alpha};
}

TEST(JointModel, PosteriorEqualsTheDenseEquationsOfTheReleases) {
  TestRng rng(seed + 1);
  for (const CounterKind kind : {CounterKind::kEpochs, CounterKind::kBlt}) {
    for (const int d : {1, 3, 6}) {
      JointModel::Options options;
      options.counter = CounterAt(d, kind);
      options.reward_stddev = 0.8;
      options.prior_stddev = 1.3;
      options.theta_l2_max = 0.9;
      options.alpha = 0.7;
      auto model = JointModel::Create(options);
      ASSERT_THAT(model, IsOk());
      const JointCounter& counter = (*model)->counter();
      CounterEncoder encoder(counter.design());
      CounterDecoder decoder(counter.design());
      const Stream stream = RandomStream(d, 600, rng);
      SeededBits model_bits(4), bits(4);
      int repaired = 0;
      for (std::size_t t = 0; t < stream.x.size(); ++t) {
        const auto changed = (*model)->Apply(RawInteraction(stream.x[t], stream.r[t]), model_bits);
        ASSERT_THAT(changed, IsOk());
        auto release = encoder.Step(counter.Clip(RawInteraction(stream.x[t], stream.r[t])), bits);
        ASSERT_THAT(release, IsOk());
        ASSERT_THAT(decoder.Push(*release), IsOk());
        ASSERT_EQ(*changed, decoder.covered() == t + 1);  // at the ends of epochs, or every step
        if (!*changed) continue;
        const JointSums sums = counter.Read(decoder);
        const NodePosterior expected = DensePosterior(options, sums);
        const NodePosterior& posterior = (*model)->posterior();
        for (int i = 0; i < d; ++i) {
          ASSERT_NEAR(posterior.mean[i], expected.mean[i], 1e-9) << t;
          for (int j = 0; j < d; ++j)
            ASSERT_NEAR(posterior.covariance[i * d + j], expected.covariance[i * d + j], 1e-9);
        }
        EXPECT_EQ(posterior.alpha, 0.7);
        EXPECT_EQ((*model)->covered(), t + 1);
        Eigen::MatrixXd s(d, d);
        for (int i = 0; i < d; ++i) {
          for (int j = 0; j <= i; ++j) s(i, j) = s(j, i) = sums.gram[i * (i + 1) / 2 + j];
        }
        repaired += s.selfadjointView<Eigen::Lower>().eigenvalues()[0] < 0 ? 1 : 0;
      }
      EXPECT_EQ((*model)->grams_repaired(), repaired);
      if (d > 1) {
        EXPECT_GT(repaired, 0);  // at epsilon 1 the first grams are not semidefinite
      }
    }
  }
}

TEST(JointModel, RefreshShareSkipsReleases) {
  JointModel::Options options;
  options.counter = CounterAt(2, CounterKind::kBlt);
  options.refresh_share = 0.5;
  auto model = JointModel::Create(options);
  ASSERT_THAT(model, IsOk());
  SeededBits bits(5);
  std::vector<std::uint64_t> refreshed;
  for (int t = 0; t < 30; ++t) {
    if (*(*model)->Apply(RawInteraction({1, 0}, 1), bits)) refreshed.push_back(t + 1);
  }
  EXPECT_EQ(refreshed, (std::vector<std::uint64_t>{1, 2, 3, 5, 8, 12, 18, 27}));
  EXPECT_EQ((*model)->refreshes(), refreshed.size());
}

TEST(JointModel, GoesOnFromASavedStateWithTheSameBits) {
  TestRng rng(seed + 2);
  for (const CounterKind kind : {CounterKind::kEpochs, CounterKind::kBlt}) {
    JointModel::Options options;
    options.counter = CounterAt(4, kind);
    options.refresh_share = 0.1;
    auto model = JointModel::Create(options);
    ASSERT_THAT(model, IsOk());
    const Stream stream = RandomStream(4, 300, rng);
    SeededBits bits(6);
    for (int t = 0; t < 150; ++t)
      ASSERT_THAT((*model)->Apply(RawInteraction(stream.x[t], stream.r[t]), bits), IsOk());
    auto restored = JointModel::Restore(options, (*model)->Save());
    ASSERT_THAT(restored, IsOk());
    SeededBits left(7), right(7);
    for (int t = 150; t < 300; ++t) {
      EXPECT_EQ((*restored)->posterior().mean, (*model)->posterior().mean);
      EXPECT_EQ((*restored)->posterior().covariance, (*model)->posterior().covariance);
      const RawInteraction event(stream.x[t], stream.r[t]);
      EXPECT_EQ(*(*model)->Apply(event, left), *(*restored)->Apply(event, right));
    }
    EXPECT_EQ((*restored)->grams_repaired(), (*model)->grams_repaired());
    EXPECT_EQ((*restored)->refreshes(), (*model)->refreshes());

    JointModel::Options other = options;
    other.counter.epsilon = {2};
    EXPECT_THAT(JointModel::Restore(other, (*model)->Save()),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    JointModel::State torn = (*model)->Save();
    torn.decoder.back() ^= std::byte{1};
    EXPECT_THAT(JointModel::Restore(options, torn), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(JointModel, AFailedSourceReleasesNothing) {
  JointModel::Options options;
  options.counter = CounterAt(3, CounterKind::kBlt);
  auto model = JointModel::Create(options);
  ASSERT_THAT(model, IsOk());
  FailingBits dry(8);
  EXPECT_THAT((*model)->Apply(RawInteraction({1, 0, 0}, 1), dry),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ((*model)->events(), 0);
  SeededBits bits(3);
  EXPECT_THAT((*model)->Apply(RawInteraction({1, 0, 0}, 1), bits), IsOk());
  EXPECT_EQ((*model)->events(), 1);
}

TEST(JointModel, EveryEventIsOneStepWhateverItHolds) {
  JointModel::Options options;
  options.counter = CounterAt(2, CounterKind::kEpochs);
  options.counter.step_cap = 40;
  auto model = JointModel::Create(options);
  ASSERT_THAT(model, IsOk());
  SeededBits bits(3);
  const std::vector<std::pair<std::vector<double>, std::optional<double>>> events = {
      {{kNan, 1}, 1.0}, {{1, 0}, kNan}, {{1}, 1.0}, {{1e300, 1e300}, 1e300}, {{0, 0}, {}}};
  for (int t = 0; t < 40; ++t) {
    const auto& [x, r] = events[t % events.size()];
    ASSERT_THAT((*model)->Apply(RawInteraction(x, r), bits), IsOk());
    EXPECT_EQ((*model)->events(), t + 1);
  }
  for (const double m : (*model)->posterior().mean) EXPECT_TRUE(std::isfinite(m));
  EXPECT_THAT((*model)->Apply(RawInteraction({1, 0}, 1), bits),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(JointModel, NamesTheOptionThatIsOutOfRange) {
  const auto refuses = [](auto change, const char* text) {
    JointModel::Options options;
    options.counter = CounterAt(2, CounterKind::kEpochs);
    change(options);
    EXPECT_THAT(JointModel::Create(options), StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  refuses([](auto& o) { o.counter.epsilon = {kNan}; }, "epsilon must be in");
  refuses([](auto& o) { o.counter.epsilon = {0}; }, "epsilon must be in");
  refuses([](auto& o) { o.counter.delta = {kNan}; }, "delta must be in");
  refuses([](auto& o) { o.counter.delta = {1}; }, "delta must be in");
  refuses([](auto& o) { o.counter.kind = CounterKind::kTree; }, "kind must be epochs or blt");
  refuses([](auto& o) { o.counter.dimension = 0; }, "dimension must be in");
  refuses([](auto& o) { o.counter.context_l2_max = kNan; }, "context_l2_max must be in");
  refuses([](auto& o) { o.counter.reward_abs_max = -1; }, "reward_abs_max must be in");
  refuses([](auto& o) { o.reward_stddev = kNan; }, "reward_stddev must be in");
  refuses([](auto& o) { o.prior_stddev = 0; }, "prior_stddev must be in");
  refuses([](auto& o) { o.theta_l2_max = kInfinity; }, "theta_l2_max must be in");
  refuses([](auto& o) { o.refresh_share = kNan; }, "refresh_share must be in");
  refuses([](auto& o) { o.alpha = -1; }, "alpha must be in");
}

// Epochs beat blt wherever the run is long; blt alone says anything before the first epoch ends.
TEST(JointChoice, TakesEpochsForLongRunsAndBltForTheShortest) {
  JointModel::Options options;
  options.counter = CounterAt(2, CounterKind::kEpochs, 30);
  options.counter.horizon = 31;
  EXPECT_EQ(*ChooseJointCounter(options, 31), CounterKind::kBlt);
  options.counter = CounterAt(5, CounterKind::kEpochs);
  options.counter.step_cap = 1 << 24;
  for (const std::uint64_t horizon : {100'000, 5'000'000}) {
    options.counter.horizon = horizon;
    EXPECT_EQ(*ChooseJointCounter(options, horizon), CounterKind::kEpochs);
  }
  EXPECT_THAT(PredictJoint(options, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "horizon must be in"));
}

TEST(ThompsonSampler, DrawsMeanAndFactorOfTheCovariance) {
  // K = L L' with L = [[2, 0], [1, 3]].
  const NodePosterior posterior{{10, 20}, {4, 2, 2, 10}, 0};
  const ThompsonSampler sampler(posterior, 0.5);
  std::vector<double> theta(2);
  sampler.Draw(std::vector<double>{0, 0}, theta);
  EXPECT_EQ(theta, posterior.mean);
  sampler.Draw(std::vector<double>{1, 0}, theta);
  EXPECT_EQ(theta, (std::vector<double>{11, 20.5}));
  sampler.Draw(std::vector<double>{0, 2}, theta);
  EXPECT_EQ(theta, (std::vector<double>{10, 23}));
}

TEST(ThompsonSampler, TakesASingularCovariance) {
  const NodePosterior posterior{{0, 0}, {1, 1, 1, 1}, 0};
  std::vector<double> theta(2);
  ThompsonSampler(posterior, 1).Draw(std::vector<double>{1.5, 7}, theta);
  EXPECT_EQ(theta, (std::vector<double>{1.5, 1.5}));
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--seed="))
      bandana::seed = std::strtoull(argument.substr(7).data(), nullptr, 10);
  }
  std::printf("--seed=%llu\n", static_cast<unsigned long long>(bandana::seed));
  return RUN_ALL_TESTS();
}
