// The audit of every mechanism, and of the mutants that few trials catch. Seeds are fixed: the run
// is deterministic. AlphaOf("audit_mechanisms") is shared out over the mechanisms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "tests/support/alpha_registry.h"
#include "tests/support/statistics.h"
#include "tools/audit/registry.h"
#include "tools/audit/runner.h"

namespace bandana::audit {
namespace {

using testing::AlphaOf;

AuditResult Audit(std::string_view name, double epsilon, std::uint64_t trials, double alpha) {
  const auto subject = FindSubject(name);
  EXPECT_TRUE(subject.ok()) << subject.status();
  const auto result = RunAudit(
      *subject,
      {.claim = {{epsilon}, {1e-5}}, .trials = trials, .alpha = alpha, .threads = 2, .seed = 31});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(AuditResult{});
}

TEST(AuditStatTest, NoProvenMechanismExceedsItsClaim) {
  constexpr double kEpsilons[] = {1, 4};
  const double alpha = AlphaOf("audit_mechanisms") / (2.0 * Subjects().size());
  for (const Subject& subject : Subjects()) {
    if (subject.standing != Standing::kProven) continue;
    for (const double epsilon : kEpsilons) {
      EXPECT_FALSE(Audit(subject.name, epsilon, 2'000, alpha).violated)
          << subject.name << " at " << epsilon;
    }
  }
}

// An audit without power proves nothing: the sharp ones come near the claim at 1e6 trials.
TEST(AuditStatTest, SharpAuditsReachNineTenthsOfTheClaim) {
  for (const std::string_view name :
       {"randomized-response", "stochastic-rounding", "laplace", "gaussian"}) {
    const AuditResult result = Audit(name, 1, 1'000'000, 1e-6);
    EXPECT_GE(result.lower.value, 0.9) << name;
    EXPECT_LE(result.lower.value, 1) << name;
  }
}

struct MutantCase {
  const char* name;
  double epsilon;
  std::uint64_t trials;
};

class MutantTest : public ::testing::TestWithParam<MutantCase> {};

TEST_P(MutantTest, IsCaught) {
  EXPECT_TRUE(Audit(GetParam().name, GetParam().epsilon, GetParam().trials, 1e-6).violated);
}

INSTANTIATE_TEST_SUITE_P(Mutants, MutantTest,
                         ::testing::Values(MutantCase{"mutant-missing-sqrt-2", 4, 10'000},
                                           MutantCase{"mutant-half-width", 4, 1'000},
                                           MutantCase{"mutant-no-clipping", 4, 1'000},
                                           MutantCase{"mutant-whole-percent", 4, 100'000},
                                           MutantCase{"mutant-unclipped-bit", 1, 10'000},
                                           MutantCase{"mutant-window-share", 1, 100'000},
                                           MutantCase{"mutant-window-of-reward", 1, 1'000},
                                           MutantCase{"mutant-joint-l2-laplace", 1, 20'000},
                                           MutantCase{"mutant-redrawn-loss", 4, 10'000},
                                           MutantCase{"mutant-timed-direction", 1, 10'000},
                                           MutantCase{"mutant-redrawn-report", 1, 5'000},
                                           MutantCase{"mutant-unlifted", 1, 100'000},
                                           MutantCase{"mutant-other-tree", 4, 10'000},
                                           MutantCase{"mutant-table-off-by-one", 4, 10'000},
                                           MutantCase{"mutant-later-epochs", 4, 10'000},
                                           MutantCase{"mutant-address-without-step", 1, 1'000},
                                           MutantCase{"mutant-unsplit-hybrid", 4, 10'000},
                                           MutantCase{"mutant-forgotten-reward", 4, 10'000},
                                           MutantCase{"mutant-sparse-one-row", 4, 10'000},
                                           MutantCase{"mutant-l2-laplace", 1, 100'000},
                                           MutantCase{"mutant-porous-laplace", 1, 1'000},
                                           MutantCase{"mutant-fresh-node-noise", 4, 10'000},
                                           MutantCase{"mutant-short-column", 4, 20'000},
                                           MutantCase{"mutant-missing-first-column", 4, 10'000},
                                           MutantCase{"mutant-joint-norm", 4, 10'000},
                                           MutantCase{"mutant-published-peeling", 4, 100'000},
                                           MutantCase{"mutant-selection-half", 4, 20'000}));

// How often the whole chain, from the draws to the verdict, calls a right mechanism wrong: at most
// alpha, here 0.05, over 1000 audits. The exact rate of the bound alone is in audit_bounds_test.
TEST(AuditStatTest, FalseAlarmsAreRarerThanAlpha) {
  constexpr int kAudits = 1000;
  constexpr double kAlpha = 0.05;
  const Subject subject = *FindSubject("randomized-response");
  std::uint64_t alarms = 0, plug_in_alarms = 0;
  for (int i = 0; i < kAudits; ++i) {
    const AuditResult result = *RunAudit(subject, {.claim = {{1}, {0}},
                                                   .trials = 400,
                                                   .alpha = kAlpha,
                                                   .seed = static_cast<std::uint64_t>(5'000 + i)});
    alarms += result.violated;
    const double p = static_cast<double>(result.hits.on_p) / 400;
    const double q = static_cast<double>(result.hits.on_q) / 400;
    plug_in_alarms += EpsilonLower({p, p, q, q}, {0}).value > 1;
  }
  const double alpha = AlphaOf("audit_false_alarms");
  EXPECT_GT(testing::BinomialUpperTail(alarms, kAudits, kAlpha), alpha) << alarms;
  // Mutant: frequencies in place of their bounds.
  EXPECT_LT(testing::BinomialUpperTail(plug_in_alarms, kAudits, kAlpha), alpha);
}

}  // namespace
}  // namespace bandana::audit
