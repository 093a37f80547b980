// Lists with boosts, pins, limits and cold arms: what is drawn follows the law that the
// propensities say, the whole list as well as its first arm.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/random/real_samplers.h"
#include "common/ranking/policies/list_rules.h"
#include "common/ranking/policies/selection_rules.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using testing::AlphaOf;
using testing::FitTest;
using testing::SeededBits;
using testing::TestRng;

constexpr int kArms = 5;
constexpr int kRanks = 3;
constexpr std::uint64_t kDraws = 1'000'000;

using Rule = std::shared_ptr<const SelectionRule>;

struct Subject {
  std::string name;
  Rule rule;
  ListRules rules;
  std::vector<double> boosts = std::vector<double>(kArms, 0.0);
  Rule mutant = nullptr;  // null: the same rule
};

// The mutant of each forgets the rules, the boosts, or the share of cold arms.
Subject Forgetful(Subject subject) {
  if (subject.mutant != nullptr) subject.rule = subject.mutant;
  subject.rules = {};
  subject.boosts.assign(kArms, 0.0);
  return subject;
}

std::vector<Subject> Subjects() {
  const ListRules pin{.pins = {{.rank = 1, .position = 2}}, .limits = {}};
  const ListRules limit{.pins = {}, .limits = {{.classes = {0, 1, 1, 0, 1}, .count = 2}}};
  const ListRules both{.pins = {{.rank = 2, .position = 0}},
                       .limits = {{.classes = {0, 1, 1, 0, 1}, .count = 2},
                                  {.classes = {-1, 0, 0, -1, -1}, .count = 1}}};
  const std::vector<double> boosts = {0.1, 0, 0.3, 0, -0.2}, none(kArms, 0.0);
  return {
      {"boosts, softmax", MakeSoftmax(0.25), {}, boosts},
      {"boosts, inverse gap", MakeInverseGap(15), {}, boosts},
      {"boosts, Thompson", MakeThompson(20, 0.1), {}, boosts},
      {"pin, softmax", MakeSoftmax(0.25), pin},
      {"limit, uniform mix", MakeUniformMix(0.5), limit},
      {"limit, Thompson", MakeThompson(20, 0.1), limit},
      {"pin, limits and boosts, softmax", MakeSoftmax(0.25), both, boosts},
      {"cold share, softmax",
       MakeColdShare(MakeSoftmax(0.25), 0.2),
       {},
       none,
       MakeColdShare(MakeSoftmax(0.25), 0.21)},
      {"cold share, UCB with a pin", MakeColdShare(MakeUcbRule(), 0.1), pin, none, MakeUcbRule()}};
}

// Values of the arms, boosted as the server boosts them.
class World {
 public:
  explicit World(const std::vector<double>& boosts) {
    TestRng rng(5);
    const std::vector<double> means = {0.3, 0.5, 0.5, 0.1, 0.45};
    const std::vector<double> scores = {0.6, 0.7, 0.7, 0.9, 0.5};
    for (int a = 0; a < kArms; ++a) {
      means_.push_back(means[a] + boosts[a]);
      scores_.push_back(scores[a] + boosts[a]);
    }
    for (int i = 0; i < 20; ++i) {
      for (int a = 0; a < kArms; ++a) draws_.push_back(means[a] + 0.2 * rng.Normal() + boosts[a]);
    }
  }
  Candidates arms() const {
    return {.means = means_, .scores = scores_, .draws = draws_, .cold = cold_};
  }

 private:
  const std::vector<std::uint8_t> cold_ = {0, 1, 0, 1, 1};
  std::vector<double> means_, scores_, draws_;
};

int CellOf(const std::vector<int>& list) {
  int cell = 0;
  for (const int position : list) cell = cell * (kArms + 1) + position + 1;
  return cell;
}

// The probability of every list, by the definition of the rules: a slow walk over all of them.
class AllLists {
 public:
  AllLists(const Subject& subject, const World& world) : subject_(subject), world_(world) {
    std::vector<int> list;
    Walk(list, 0, 1);
  }
  const std::map<int, double>& lists() const { return lists_; }

 private:
  int PinAt(int rank) const {
    for (const PinnedArm& pin : subject_.rules.pins) {
      if (pin.rank == rank) return pin.position;
    }
    return -1;
  }
  bool Fits(const std::vector<int>& list, int arm) const {
    for (const int taken : list) {
      if (taken == arm) return false;
    }
    for (const PinnedArm& pin : subject_.rules.pins) {
      if (pin.position == arm) return false;
    }
    for (const ClassLimit& limit : subject_.rules.limits) {
      if (limit.classes[arm] < 0) continue;
      int alike = 0;
      for (int other = 0; other < kArms; ++other) {
        bool in = false;
        for (const int taken : list) in = in || taken == other;
        for (const PinnedArm& pin : subject_.rules.pins) in = in || pin.position == other;
        if (in && limit.classes[other] == limit.classes[arm]) ++alike;
      }
      if (alike >= limit.count) return false;
    }
    return true;
  }
  void Walk(std::vector<int>& list, int rank, double probability) {
    if (rank == kRanks) {
      lists_[CellOf(list)] += probability;
      return;
    }
    if (const int pinned = PinAt(rank); pinned >= 0) {
      list.push_back(pinned);
      Walk(list, rank + 1, probability);
      list.pop_back();
      return;
    }
    std::vector<int> left;
    for (int arm = 0; arm < kArms; ++arm) {
      if (Fits(list, arm)) left.push_back(arm);
    }
    ASSERT_FALSE(left.empty());
    std::vector<double> law;
    subject_.rule->Law(world_.arms(), left, law);
    for (std::size_t i = 0; i < left.size(); ++i) {
      list.push_back(left[i]);
      Walk(list, rank + 1, probability * law[i]);
      list.pop_back();
    }
  }

  const Subject& subject_;
  const World& world_;
  std::map<int, double> lists_;
};

// P(X >= k + 2 sqrt(k t) + 2 t) <= exp(-t) for X chi-square with k degrees of freedom (Laurent,
// Massart 2000, lemma 1).
double TailBound(int degrees, double alpha) {
  const double t = -std::log(alpha);
  return degrees + 2 * std::sqrt(degrees * t) + 2 * t;
}

class DrawnList : public ::testing::TestWithParam<int> {};

TEST_P(DrawnList, IsWhatPropensitiesSay) {
  const Subject subject = Subjects()[GetParam()];
  const World world(subject.boosts);
  const AllLists all(subject, world);
  const Subject mutant = Forgetful(subject);
  const World mutant_world(mutant.boosts);
  const AllLists mutant_lists(mutant, mutant_world);
  // Cells of both laws, so that a list of the mutant that cannot be counts against it.
  std::map<int, std::size_t> cells;
  for (const auto& [cell, p] : all.lists()) cells.emplace(cell, cells.size());
  for (const auto& [cell, p] : mutant_lists.lists()) cells.emplace(cell, cells.size());
  std::vector<double> law(cells.size()), other(cells.size());
  for (const auto& [cell, p] : all.lists()) law[cells.at(cell)] = p;
  for (const auto& [cell, p] : mutant_lists.lists()) other[cells.at(cell)] = p;
  const double alpha = AlphaOf("list_rules_fit") / 9;  // nine subjects
  const FitTest fit = *FitTest::Create(kDraws, law, alpha / 2);
  EXPECT_GE(fit.PowerAtLeast(other), 0.99) << subject.name;

  SeededBits bits(300 + GetParam());
  RealSampler sampler(bits);
  std::vector<std::uint64_t> counts(cells.size());
  std::vector<double> first(kArms, 0.0);
  double worst = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> uniforms = {*sampler.Uniform(), *sampler.Uniform(),
                                          *sampler.Uniform()};
    const auto list = DrawList(*subject.rule, world.arms(), subject.rules, uniforms);
    std::vector<int> positions;
    double product = 1;
    for (const RankDraw& rank : list) {
      positions.push_back(rank.position);
      product *= rank.given;
    }
    const std::size_t cell = cells.at(CellOf(positions));
    ++counts[cell];
    // The stated probability of the whole list is its true one, and so is that of its first arm.
    worst = std::max(worst, std::abs(product - law[cell]));
    worst = std::max(worst, std::abs(list[0].first - list[0].given));
    first[list[0].position] = list[0].first;
  }
  EXPECT_LT(worst, 1e-15) << subject.name;
  double sum = 0;
  for (const double p : first) sum += p;
  EXPECT_NEAR(sum, 1, 1e-12) << subject.name;
  EXPECT_TRUE(fit.Accepts(counts)) << subject.name;
  double chi_square = 0;
  int degrees = -1;
  for (std::size_t cell = 0; cell < law.size(); ++cell) {
    if (law[cell] == 0) {
      EXPECT_EQ(counts[cell], 0);
      continue;
    }
    const double expected = law[cell] * kDraws;
    const double gap = static_cast<double>(counts[cell]) - expected;
    chi_square += gap * gap / expected;
    ++degrees;
  }
  std::printf("%s: chi-square %.1f, %d degrees of freedom, %d draws\n", subject.name.c_str(),
              chi_square, degrees, static_cast<int>(kDraws));
  EXPECT_LT(chi_square, TailBound(std::max(degrees, 1), alpha / 2)) << subject.name;
}

INSTANTIATE_TEST_SUITE_P(Rules, DrawnList, ::testing::Range(0, 9));

}  // namespace
}  // namespace bandana
