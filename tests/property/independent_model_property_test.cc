// Independent users, who are held as their few events or as dense matrices: both forms say the same
// as a dense model of one user that saw the same events. Repeat one with
// `independent_model_property_test --seed=N`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/model.h"
#include "common/bandits/user_snapshot.h"
#include "common/ranking/scoring.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using namespace bandana::testing;

std::uint64_t seed = 20261123;

constexpr double kRelative = 1e-12;

struct Shown {
  std::vector<double> x;
  double reward = 0;
};

// A user who is shown similar things: directions around one, of any length up to 1.
std::vector<Shown> RandomEvents(int count, int d, TestRng& rng) {
  const std::vector<double> liked = rng.UnitVector(d);
  std::vector<Shown> events;
  for (int e = 0; e < count; ++e) {
    Shown& event = events.emplace_back();
    event.x = rng.UnitVector(d);
    const double share = rng.Uniform();
    const double length = 0.2 + 0.8 * rng.Uniform();
    double square = 0;
    for (int i = 0; i < d; ++i) {
      event.x[i] = share * liked[i] + (1 - share) * event.x[i];
      square += event.x[i] * event.x[i];
    }
    for (double& v : event.x) v *= length / std::sqrt(square);
    event.reward = rng.Uniform();
  }
  return events;
}

Event EventOf(int node, const Shown& shown) {
  return {.node = node, .features = shown.x, .reward = shown.reward};
}

std::unique_ptr<BanditModel> Independent(BanditModel::Options options, int nodes) {
  options.nodes_max = nodes;
  auto model = BanditModel::Create(options, Coupling::Independent()).value();
  for (int u = 0; u < nodes; ++u) EXPECT_THAT(model->AddNode().status(), IsOk());
  return model;
}

const UserNode& UserOf(const ServedPosterior& shown, int node) {
  return dynamic_cast<const UserSnapshot&>(shown).user(node);
}

// Compares the snapshot's scores of random arms, and the node in full, with the dense posterior.
void ExpectSame(const ServedPosterior& shown, int node, const NodePosterior& dense, int d,
                TestRng& rng) {
  constexpr int kArms = 11;
  std::vector<std::vector<double>> arms;
  std::vector<const double*> x;
  for (int a = 0; a < kArms; ++a) arms.push_back(rng.UnitVector(d));
  for (const auto& arm : arms) x.push_back(arm.data());
  ArmScores expected;
  ScoreArms(dense, x, expected);
  NodePosterior scratch;
  ArmScores scores;
  shown.Score({.node = node}, {.features = x}, scratch, scores);
  ArmScores expanded;
  ScoreArms(shown.Of({.node = node}, scratch), x, expanded);
  // A mean near 0 is a small difference: what counts is the length of the mean vector.
  double size = 0;
  for (const double m : dense.mean) size += m * m;
  size = std::sqrt(size);
  for (const ArmScores* const got : {&scores, &expanded}) {
    for (int a = 0; a < kArms; ++a) {
      EXPECT_NEAR(got->means[a], expected.means[a], kRelative * size);
      EXPECT_NEAR(got->widths[a], expected.widths[a], kRelative * expected.widths[a]);
      EXPECT_NEAR(got->scores[a], expected.scores[a],
                  kRelative * (size + dense.alpha * expected.widths[a]));
    }
  }
}

BanditModel::Options OptionsOf(int d, double s2, double tau2) {
  BanditModel::Options options{.dimension = d, .observation_variance = s2, .prior_variance = tau2};
  options.exploration.kind = ExplorationRule::Kind::kConfidence;
  return options;
}

class IndependentModelTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, IndependentModelTest, ::testing::Values(1, 2, 3, 25, 64));

TEST_P(IndependentModelTest, BothFormsScoreAsTheDensePosteriorAtEachEvent) {
  const int d = GetParam();
  TestRng rng(seed + d);
  for (const auto& [s2, tau2] : {std::pair(1.0, 1.0), {0.25, 3.0}, {4.0, 0.01}}) {
    const BanditModel::Options options = OptionsOf(d, s2, tau2);
    const auto users = Independent(options, 3);
    const auto dense = BanditModel::Create(options, Coupling::Shared()).value();
    const std::vector<Shown> events = RandomEvents(d + 6, d, rng);
    for (std::size_t k = 0; k <= events.size(); ++k) {
      SCOPED_TRACE(::testing::Message() << "d " << d << ", events " << k);
      const NodePosterior reference = dense->Posterior(0);
      const auto shown = users->Show(k);
      EXPECT_EQ(shown->version(), k);
      EXPECT_EQ(UserOf(*shown, 1).few(), k <= static_cast<std::size_t>(d) / 2);
      ExpectSame(*shown, 1, reference, d, rng);
      EXPECT_NEAR(users->Posterior(1).alpha, reference.alpha, kRelative * reference.alpha);
      // The sums are those of plain addition, to the bit.
      EXPECT_EQ(users->statistics(1).gram, dense->statistics(0).gram);
      EXPECT_EQ(users->statistics(1).moment, dense->statistics(0).moment);
      EXPECT_EQ(users->events(1), k);
      // So are they after a checkpoint, of which the posterior is made anew.
      const auto restored = Independent(options, 3);
      ASSERT_THAT(restored->Restore({users->statistics(0), users->statistics(1)}), IsOk());
      EXPECT_EQ(restored->statistics(1).gram, dense->statistics(0).gram);
      EXPECT_EQ(restored->statistics(1).moment, dense->statistics(0).moment);
      EXPECT_EQ(UserOf(*restored->Show(1), 1).few(), k <= static_cast<std::size_t>(d) / 2);
      ExpectSame(*restored->Show(1), 1, reference, d, rng);
      if (k == events.size()) break;
      users->Apply(std::vector{EventOf(1, events[k])});
      dense->Apply(std::vector{EventOf(0, events[k])});
      // A restored user goes on from there.
      restored->Apply(std::vector{EventOf(1, events[k])});
      EXPECT_EQ(restored->statistics(1).gram, dense->statistics(0).gram);
      EXPECT_EQ(restored->statistics(1).moment, dense->statistics(0).moment);
      ExpectSame(*restored->Show(2), 1, dense->Posterior(0), d, rng);
    }
  }
}

// However events are put together into blocks.
TEST_P(IndependentModelTest, BlocksOfManyUsersSayTheSameAsEventByEvent) {
  const int d = GetParam();
  constexpr int kUsers = 5;
  TestRng rng(seed + 100 + d);
  const BanditModel::Options options = OptionsOf(d, 0.5, 1.5);
  const auto one_by_one = Independent(options, kUsers);
  const auto in_blocks = Independent(options, kUsers);
  const std::vector<Shown> shown = RandomEvents(4 * d + 40, d, rng);
  std::vector<Event> events;
  for (const Shown& event : shown) events.push_back(EventOf(rng.Index(kUsers), event));
  for (const Event& event : events) one_by_one->Apply({&event, 1});
  for (std::size_t at = 0; at < events.size();) {
    const auto count = std::min(events.size() - at, static_cast<std::size_t>(1 + rng.Index(40)));
    in_blocks->Apply(std::span(events).subspan(at, count));
    at += count;
  }
  EXPECT_EQ(in_blocks->events(), events.size());
  for (int u = 0; u < kUsers; ++u) {
    ExpectSame(*in_blocks->Show(1), u, one_by_one->Posterior(u), d, rng);
    EXPECT_EQ(in_blocks->statistics(u).gram, one_by_one->statistics(u).gram);
    EXPECT_EQ(in_blocks->statistics(u).moment, one_by_one->statistics(u).moment);
  }
}

TEST(IndependentModel, EqualEventsAndEventsOfNothingAreFew) {
  const int d = 6;
  TestRng rng(seed + 200);
  const BanditModel::Options options = OptionsOf(d, 0.5, 1.5);
  const Shown nothing{.x = std::vector<double>(d, 0.0), .reward = 1};
  const Shown same{.x = rng.UnitVector(d), .reward = 0.5};
  for (const std::vector<Shown>& events :
       {std::vector{nothing, nothing}, {same, same, same}, {same, nothing, same}}) {
    const auto users = Independent(options, 1);
    const auto dense = BanditModel::Create(options, Coupling::Shared()).value();
    for (const Shown& event : events) {
      users->Apply(std::vector{EventOf(0, event)});
      dense->Apply(std::vector{EventOf(0, event)});
    }
    EXPECT_TRUE(UserOf(*users->Show(1), 0).few());
    ExpectSame(*users->Show(1), 0, dense->Posterior(0), d, rng);
    const auto restored = Independent(options, 1);
    ASSERT_THAT(restored->Restore({users->statistics(0)}), IsOk());
    ExpectSame(*restored->Show(1), 0, dense->Posterior(0), d, rng);
    EXPECT_EQ(restored->statistics(0).gram, dense->statistics(0).gram);
  }
}

// Where the prior is 1e12 times as wide as the noise, events would give K without digits.
TEST(IndependentModel, AWidePriorIsHeldDense) {
  const int d = 8;
  TestRng rng(seed + 300);
  const auto users = Independent(OptionsOf(d, 1e-6, 1e6), 1);
  const auto dense = BanditModel::Create(OptionsOf(d, 1e-6, 1e6), Coupling::Shared()).value();
  const std::vector<Shown> events = RandomEvents(3, d, rng);
  for (const Shown& event : events) {
    users->Apply(std::vector{EventOf(0, event)});
    dense->Apply(std::vector{EventOf(0, event)});
  }
  EXPECT_FALSE(UserOf(*users->Show(1), 0).few());
  const NodePosterior got = users->Posterior(0);
  EXPECT_EQ(got.mean, dense->Posterior(0).mean);
  EXPECT_EQ(got.covariance, dense->Posterior(0).covariance);
}

// Sums that no such events have: the moment of a direction that was never shown.
TEST(IndependentModel, SumsThatFewEventsDoNotGiveAreHeldDense) {
  const BanditModel::Options options = OptionsOf(4, 1, 2);
  const auto users = Independent(options, 1);
  NodeStatistics odd{.gram = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, .moment = {1, 1, 0, 0}, .events = 1};
  ASSERT_THAT(users->Restore({odd}), IsOk());
  EXPECT_FALSE(UserOf(*users->Show(1), 0).few());
  EXPECT_NEAR(users->Posterior(0).mean[1], 2, 1e-12);  // tau^2 beta / s2
  EXPECT_EQ(users->statistics(0).moment, odd.moment);
}

TEST(IndependentModel, ShowSharesWhatDidNotChange) {
  const int d = 25;
  TestRng rng(seed + 400);
  const auto users = Independent(OptionsOf(d, 1, 1), 200);
  const std::vector<Shown> events = RandomEvents(20, d, rng);
  users->Apply(std::vector{EventOf(3, events[0]), EventOf(4, events[1]), EventOf(150, events[2])});
  const auto first = users->Show(1);
  const std::vector<double> before = users->Posterior(3).mean;
  users->Apply(std::vector{EventOf(3, events[3])});
  const auto second = users->Show(2);
  users->Apply(std::vector{EventOf(3, events[4])});
  EXPECT_EQ(&UserOf(*second, 4), &UserOf(*first, 4));
  EXPECT_EQ(&UserOf(*second, 150), &UserOf(*first, 150));
  EXPECT_NE(&UserOf(*second, 3), &UserOf(*first, 3));
  NodePosterior scratch;
  EXPECT_EQ(first->Of({.node = 3}, scratch).mean, before);
  EXPECT_NE(second->Of({.node = 3}, scratch).mean, before);
  EXPECT_EQ(UserOf(*second, 3).events(), 2u);
  // Users without events, and those who are not known, are one object.
  EXPECT_EQ(&UserOf(*second, 5), &UserOf(*first, 199));
  EXPECT_EQ(&UserOf(*second, -1), &UserOf(*second, 5));
  EXPECT_EQ(&UserOf(*second, 1 << 30), &UserOf(*second, 5));
  EXPECT_EQ(second->nodes(), 200);
}

TEST(IndependentModel, AUserOfFewEventsCostsKTimesD) {
  const int d = 25;
  TestRng rng(seed + 500);
  const BanditModel::Options options = OptionsOf(d, 1, 1);
  const ComponentScale scale{d, 1, 1};
  const auto users = Independent(options, 1);
  const std::vector<Shown> events = RandomEvents(100, d, rng);
  std::vector<double> bytes;  // after each event
  for (const Shown& event : events) {
    users->Apply(std::vector{EventOf(0, event)});
    bytes.push_back(static_cast<double>(UserOf(*users->Show(1), 0).bytes(scale)));
  }
  for (int k = 1; k <= d / 2; ++k) {
    EXPECT_LE(bytes[k - 1], 8 * (k * (d + 2) + k * (k + 1) / 2) + 112) << k;
    EXPECT_GE(bytes[k - 1], 8 * k * d) << k;  // else the test measures nothing
  }
  EXPECT_LE(bytes[99], 8 * (d * (d + 1) + 2 * d) + 112);
  // By Zipf's law over a million users with ten events each: a user has Poisson many.
  constexpr int kUsers = 1'000'000;
  double harmonic = 0;
  for (int u = 1; u <= kUsers; ++u) harmonic += 1.0 / u;
  double sum = 0;
  double known = 0;
  for (int u = 1; u <= kUsers; u += u < 1000 ? 1 : 97) {
    const double weight = u < 1000 ? 1 : 97;
    const double rate = 10.0 * kUsers / (harmonic * u);
    double probability = std::exp(-rate);
    known += weight * (1 - probability);
    double rest = 1 - probability;
    for (int k = 1; k <= 99; ++k) {
      probability *= rate / k;
      sum += weight * probability * bytes[k - 1];
      rest -= probability;
    }
    sum += weight * std::max(0.0, rest) * bytes[99];
  }
  EXPECT_LE(sum / known, 1500);  // 4000 are asked for
}

TEST(NodeTree, CopiesDoNotSeeEachOthersChanges) {
  const auto number = [](int n) { return std::make_shared<const int>(n); };
  NodeTree<int> tree;
  EXPECT_EQ(tree.at(0), nullptr);
  tree.Set(70'000, number(1));
  EXPECT_EQ(tree.at(69'999), nullptr);
  EXPECT_EQ(tree.at(70'001), nullptr);
  EXPECT_EQ(tree.at(1), nullptr);
  EXPECT_EQ(*tree.at(70'000), 1);
  NodeTree<int> copy = tree.Share();
  tree.Set(70'000, number(2));
  tree.Set(5, number(3));
  EXPECT_EQ(*tree.at(70'000), 2);
  EXPECT_EQ(*copy.at(70'000), 1);
  EXPECT_EQ(copy.at(5), nullptr);
  copy.Set(70'001, number(4));
  EXPECT_EQ(tree.at(70'001), nullptr);
  const NodeTree<int> again = tree.Share();
  tree.Set(70'000, nullptr);
  EXPECT_EQ(*again.at(70'000), 2);
  EXPECT_EQ(again.at(10'000'000), nullptr);
  tree.Clear();
  EXPECT_EQ(tree.at(5), nullptr);
  EXPECT_EQ(*again.at(5), 3);
}

// Against a plain array, with copies taken at random and kept.
TEST(NodeTree, EqualsAnArrayThroughManyCopies) {
  TestRng rng(seed + 600);
  constexpr int kNodes = 9000;
  NodeTree<int> tree;
  std::vector<int> array(kNodes, -1);
  std::vector<std::pair<NodeTree<int>, std::vector<int>>> copies;
  for (int step = 0; step < 3000; ++step) {
    const int node = rng.Index(rng.Index(3) == 0 ? kNodes : 40);
    tree.Set(static_cast<std::size_t>(node), std::make_shared<const int>(step));
    array[node] = step;
    if (rng.Index(100) == 0) copies.emplace_back(tree.Share(), array);
    if (rng.Index(100) == 0 && !copies.empty()) {  // a copy changes by itself
      auto& [copy, expected] = copies[rng.Index(static_cast<int>(copies.size()))];
      copy.Set(7, std::make_shared<const int>(-7));
      expected[7] = -7;
    }
  }
  copies.emplace_back(tree.Share(), array);
  ASSERT_GT(copies.size(), 10u);
  for (const auto& [copy, expected] : copies) {
    for (int node = 0; node < kNodes; ++node) {
      const int* const at = copy.at(static_cast<std::size_t>(node));
      ASSERT_EQ(at == nullptr ? -1 : *at, expected[node]) << node;
    }
  }
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 7) == "--seed=") bandana::seed = std::strtoull(argv[i] + 7, nullptr, 10);
  }
  std::printf("--seed=%llu\n", static_cast<unsigned long long>(bandana::seed));
  return RUN_ALL_TESTS();
}
