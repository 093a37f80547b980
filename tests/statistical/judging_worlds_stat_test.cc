// Estimates and intervals on logs of models that learn, against values that are known. Short: 40
// worlds per cell; with BANDANA_JUDGING_SEEDS=2000 the table of docs/design/judging_measured.md,
// with BANDANA_JUDGING_FIRST=2001 on seeds that no rule was made by.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "common/judging/moments.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/judging_cells.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr double kEpsilons[] = {0, 5, 2, 1};

int NumberOr(const char* variable, int otherwise) {
  const char* number = std::getenv(variable);
  return number == nullptr ? otherwise : std::atoi(number);
}
int Seeds() { return NumberOr("BANDANA_JUDGING_SEEDS", 40); }
const int kDecisions = NumberOr("BANDANA_JUDGING_DECISIONS", 2000);
int FirstSeed() { return NumberOr("BANDANA_JUDGING_FIRST", 1); }
bool Whole() { return Seeds() >= 2000; }

// Two-sided normal quantile: the z that a standard normal exceeds with probability alpha / 2.
double Quantile(double alpha) {
  double low = 0, high = 20;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > alpha ? low : high) = middle;
  }
  return high;
}

// Over the worlds of a law, an epsilon and a target.
struct Cell {
  double ips_error = 0, dr_error = 0, ips_variance = 0, dr_variance = 0;
  double term_variance = 0, true_term_variance = 0;
  std::uint64_t worlds = 0, outside = 0, shown = 0, large_inside = 0, normal_inside = 0;
  std::vector<double> ratios;

  void Add(const WorldOutcome& outcome) {
    ++worlds;
    outside += !outcome.inside;
    shown += outcome.large_shown;
    large_inside += outcome.large_inside;
    normal_inside += outcome.normal_inside;
    ips_error += outcome.ips_error;
    dr_error += outcome.dr_error;
    ips_variance += outcome.ips_variance;
    dr_variance += outcome.dr_variance;
    term_variance += outcome.term_variance;
    true_term_variance += outcome.true_term_variance;
    if (outcome.ideal > 0) ratios.push_back(outcome.width / outcome.ideal);
  }
  double z_ips() const { return ips_variance > 0 ? ips_error / std::sqrt(ips_variance) : 0; }
  double z_dr() const { return dr_variance > 0 ? dr_error / std::sqrt(dr_variance) : 0; }
  double ratio() {
    if (ratios.empty()) return 0;
    std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
    return ratios[ratios.size() / 2];
  }
};

struct CellKey {
  WorldLaw law;
  double epsilon;
  int target;
  auto operator<=>(const CellKey&) const = default;
};

// Worlds are made once for all tests.
std::map<CellKey, Cell>& Cells() {
  static std::map<CellKey, Cell> cells = [] {
    std::map<CellKey, Cell> made;
    for (const WorldLaw law : kWorldLaws) {
      for (const double epsilon : kEpsilons) {
        for (int seed = FirstSeed(); seed < FirstSeed() + Seeds(); ++seed) {
          const auto outcomes =
              RunWorld({.law = law, .epsilon = epsilon, .seed = static_cast<std::uint64_t>(seed)},
                       kDecisions);
          for (int target = 0; target < kWorldTargets; ++target) {
            // The lift of the uniform policy over itself is 0.
            if (law == WorldLaw::kUniform && target == kTargetLift) continue;
            made[{law, epsilon, target}].Add(outcomes[static_cast<std::size_t>(target)]);
          }
        }
      }
    }
    return made;
  }();
  return cells;
}

std::string NameOf(const CellKey& key) {
  return std::string(NameOf(key.law)) + ", epsilon " + std::to_string(key.epsilon) + ", " +
         NameOf(static_cast<WorldTarget>(key.target));
}

// With the seeds of the whole table, which are fixed beforehand, the error that the table declares.
double BiasAlpha() { return Whole() ? 1e-3 : AlphaOf("judging_bias"); }

TEST(JudgingWorlds, EstimatesHaveNoBias) {
  const double limit = Quantile(BiasAlpha() / (2.0 * static_cast<double>(Cells().size())));
  double largest = 0;
  for (const auto& [key, cell] : Cells()) {
    EXPECT_LT(std::abs(cell.z_ips()), limit) << NameOf(key);
    EXPECT_LT(std::abs(cell.z_dr()), limit) << NameOf(key);
    largest = std::max({largest, std::abs(cell.z_ips()), std::abs(cell.z_dr())});
  }
  std::printf("%zu cells of %d worlds, largest |z| %.2f, limit %.2f\n", Cells().size(), Seeds(),
              largest, limit);
}

TEST(JudgingWorlds, AnytimeIntervalsHoldAtEveryDecision) {
  const double alpha = AlphaOf("judging_anytime") / static_cast<double>(Cells().size());
  std::uint64_t outside = 0, worlds = 0, worst = 0;
  for (const auto& [key, cell] : Cells()) {
    // Right intervals are outside in at most 5 %.
    EXPECT_GT(BinomialUpperTail(cell.outside, cell.worlds, 0.05), alpha) << NameOf(key);
    if (Whole()) {
      EXPECT_LE(cell.outside, cell.worlds / 20) << NameOf(key);
    }
    outside += cell.outside;
    worlds += cell.worlds;
    worst = std::max(worst, cell.outside);
  }
  std::printf("outside at any decision in %.4f of %llu worlds, %.4f in the worst cell\n",
              static_cast<double>(outside) / static_cast<double>(worlds),
              static_cast<unsigned long long>(worlds), static_cast<double>(worst) / Seeds());
}

TEST(JudgingWorlds, AnytimeIntervalsAreNotMuchWider) {
  double logging = 0;
  std::map<WorldLaw, double> others;
  for (auto& [key, cell] : Cells()) {
    double& largest = key.target == kTargetLogging ? logging : others[key.law];
    largest = std::max(largest, cell.ratio());
    EXPECT_LE(cell.ratio(), key.target == kTargetLogging ? 1.9 : 2.6) << NameOf(key);
  }
  std::printf("median width over the ideal, at most: logging %.2f, others", logging);
  for (const auto& [law, largest] : others) std::printf(", under %s %.2f", NameOf(law), largest);
  std::printf("\n");
}

TEST(JudgingWorlds, LargeSampleIntervalsCoverWhereTheyAreShown) {
  // One-sided: right ones cover 94 % over all and 92.5 % in each cell at least.
  std::uint64_t shown = 0, inside = 0, hidden = 0, normal = 0;
  double worst = 1, worst_normal = 1;
  const double alpha =
      (Whole() ? 1e-3 : AlphaOf("judging_large_sample")) / static_cast<double>(Cells().size());
  for (const auto& [key, cell] : Cells()) {
    shown += cell.shown;
    inside += cell.large_inside;
    hidden += cell.worlds - cell.shown;
    normal += cell.normal_inside;
    const double covered = static_cast<double>(cell.normal_inside) / Seeds();
    worst_normal = std::min(worst_normal, covered);
    if (cell.shown == 0) continue;
    EXPECT_GT(BinomialLowerTail(cell.large_inside, cell.shown, 0.925), alpha) << NameOf(key);
    if (cell.shown >= 200) {
      worst =
          std::min(worst, static_cast<double>(cell.large_inside) / static_cast<double>(cell.shown));
    }
  }
  const double all = static_cast<double>(inside) / static_cast<double>(shown);
  EXPECT_GT(BinomialLowerTail(inside, shown, 0.94), AlphaOf("judging_large_sample"));
  std::printf(
      "large-sample: shown in %llu worlds, %.4f cover, %.4f in the worst cell of 200; not "
      "shown in %llu; were all shown: %.4f in the worst cell\n",
      static_cast<unsigned long long>(shown), all, worst, static_cast<unsigned long long>(hidden),
      worst_normal);
}

// Where a few terms make the estimate, they are often not in the sample, and no resampling of what
// is there brings them. That these intervals cover 95 % is rejected with 1e-6, and at the 84 % that
// they cover with power 0.99.
TEST(JudgingWorlds, ABootstrapIsNoWayOut) {
  constexpr int kResamples = 200;
  const int seeds = std::max(Seeds(), 300);
  struct Hidden {
    std::uint64_t worlds = 0, normal = 0, bootstrap = 0;
  };
  std::map<WorldTarget, Hidden> cells;
  for (int seed = FirstSeed(); seed < FirstSeed() + seeds; ++seed) {
    const auto outcomes =
        RunWorld({.law = WorldLaw::kUniformMix, .seed = static_cast<std::uint64_t>(seed)},
                 kDecisions, JudgingMutant::kNone, kResamples);
    for (const WorldTarget target : {kTargetOneArm, kTargetBest}) {
      const WorldOutcome& outcome = outcomes[target];
      if (outcome.large_shown) continue;
      Hidden& cell = cells[target];
      ++cell.worlds;
      cell.normal += outcome.normal_inside;
      cell.bootstrap += outcome.bootstrap_inside;
    }
  }
  for (const auto& [target, cell] : cells) {
    EXPECT_LT(BinomialLowerTail(cell.bootstrap, cell.worlds, 0.95), 1e-6) << NameOf(target);
    EXPECT_LT(BinomialLowerTail(cell.normal, cell.worlds, 0.95), 1e-6) << NameOf(target);
    const auto worlds = static_cast<double>(cell.worlds);
    std::printf(
        "uniform_mix, %s: not shown in %.0f of %d, covered by normal %.3f, bootstrap %.3f\n",
        NameOf(target), worlds, seeds, static_cast<double>(cell.normal) / worlds,
        static_cast<double>(cell.bootstrap) / worlds);
  }
}

TEST(JudgingWorlds, IntervalsWidenAsReleaseSays) {
  // 40 worlds of 2,000 decisions tell a variance to about 3 %.
  const double near = Whole() ? 0.03 : 0.08;
  for (const WorldLaw law : kWorldLaws) {
    for (const int target : {kTargetUniform, kTargetLogging}) {
      const Cell& raw = Cells().at({law, 0, target});
      for (const double epsilon : {5.0, 2.0, 1.0}) {
        const Cell& released = Cells().at({law, epsilon, target});
        const double widening = std::sqrt(released.term_variance / raw.term_variance);
        const double theory = std::sqrt(released.true_term_variance / raw.true_term_variance);
        EXPECT_NEAR(widening / theory, 1, near) << NameOf(CellKey{law, epsilon, target});
        std::printf("%s, %s: epsilon %g widens by %.3f, by the laws %.3f\n", NameOf(law),
                    NameOf(static_cast<WorldTarget>(target)), epsilon, widening, theory);
      }
    }
  }
}

double MutantZ(JudgingMutant mutant, WorldTarget target, WorldLaw law, double epsilon) {
  Cell cell;
  for (int seed = 1; seed <= 40; ++seed) {
    cell.Add(RunWorld({.law = law, .epsilon = epsilon, .seed = static_cast<std::uint64_t>(seed)},
                      kDecisions, mutant)[target]);
  }
  return mutant == JudgingMutant::kIgnoreLaw ? cell.z_ips() : cell.z_dr();
}

// Power at least 0.99: the mutant's z is 2.33 standard deviations beyond the limit.
TEST(JudgingWorlds, MutantsAreRejected) {
  const double limit = Quantile(AlphaOf("judging_bias") / (2.0 * 100)) + 2.33;
  EXPECT_GT(std::abs(MutantZ(JudgingMutant::kIgnoreLaw, kTargetUniform, WorldLaw::kUniform, 1)),
            limit);
  EXPECT_GT(std::abs(MutantZ(JudgingMutant::kSeesReward, kTargetUniform, WorldLaw::kInverseGap, 0)),
            limit);
  for (const JudgingMutant mutant : {JudgingMutant::kDropsReactions, JudgingMutant::kWritesTwice}) {
    const double z = MutantZ(mutant, kTargetLogging, WorldLaw::kUniformMix, 0);
    EXPECT_GT(std::abs(z), limit);
    std::printf("mutant of the log: |z| %.1f, limit %.1f\n", std::abs(z), limit);
  }
}

TEST(JudgingLists, PrefixAndWholeWeightsHaveNoBiasAndOwnWeightsHave) {
  const int seeds = Seeds();
  const double alpha = AlphaOf("judging_lists");
  std::uint64_t outside = 0, worlds = 0;
  double own = 0;
  for (const WorldLaw law : {WorldLaw::kUniformMix, WorldLaw::kInverseGap, WorldLaw::kThompson}) {
    for (const double epsilon : {0.0, 2.0}) {
      Moments ips[kListTargets], dr[kListTargets], whole[kListTargets], own_slot[kListTargets];
      for (int seed = 1; seed <= seeds; ++seed) {
        const auto outcomes = RunLists(
            {.law = law, .epsilon = epsilon, .seed = static_cast<std::uint64_t>(seed)}, kDecisions);
        for (std::size_t target = 0; target < kListTargets; ++target) {
          ips[target].Add(outcomes[target].ips_error);
          dr[target].Add(outcomes[target].dr_error);
          whole[target].Add(outcomes[target].whole_error);
          own_slot[target].Add(outcomes[target].own_error);
          outside += !outcomes[target].inside;
          ++worlds;
        }
      }
      const auto z = [&](const Moments& errors) {
        return errors.mean() / errors.deviation() * std::sqrt(errors.count());
      };
      const double limit = Quantile(alpha / (2 * 54.0));
      for (std::size_t target = 0; target < kListTargets; ++target) {
        EXPECT_LT(std::abs(z(ips[target])), limit) << NameOf(law) << epsilon << " " << target;
        EXPECT_LT(std::abs(z(dr[target])), limit) << NameOf(law) << epsilon << " " << target;
        EXPECT_LT(std::abs(z(whole[target])), limit) << NameOf(law) << epsilon << " " << target;
      }
      own = std::max(own, std::abs(z(own_slot[1])));
    }
  }
  std::printf("lists: outside at any decision in %llu of %llu; own-slot weights: |z| up to %.1f\n",
              static_cast<unsigned long long>(outside), static_cast<unsigned long long>(worlds),
              own);
  EXPECT_GT(BinomialUpperTail(outside, worlds, 0.05), AlphaOf("judging_anytime"));
  EXPECT_GT(own, Quantile(alpha / (2 * 54.0)) + 2.33);
}

}  // namespace
}  // namespace bandana::testing
