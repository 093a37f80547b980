// A configuration that learns from a log while it is judged by it: its value against the true value
// of what it would have chosen, on those decisions. Short: 40 worlds per cell.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "common/judging/judge.h"
#include "common/judging/moments.h"
#include "common/judging/row.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/judging_world.h"
#include "tests/support/statistics.h"
#include "tests/support/temp_dir.h"
#include "tools/replay/config_policy.h"

namespace bandana::testing {
namespace {

constexpr int kDecisions = 1000;
constexpr int kDimension = JudgingWorld::kArms * JudgingWorld::kContexts;

int Seeds() {
  const char* seeds = std::getenv("BANDANA_JUDGING_SEEDS");
  return seeds == nullptr ? 40 : std::atoi(seeds);
}

// Keeps the law that it was asked for last.
class Overheard : public JudgedPolicy {
 public:
  explicit Overheard(std::unique_ptr<JudgedPolicy> policy)
      : JudgedPolicy(policy->name()), policy_(std::move(policy)) {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    auto defined = policy_->Law(view, law);
    heard = law;
    return defined;
  }
  absl::Status Learn(const LoggedDecision& decision) override { return policy_->Learn(decision); }

  std::vector<double> heard;

 private:
  const std::unique_ptr<JudgedPolicy> policy_;
};

struct Outcome {
  double ips_error = 0, dr_error = 0;
  bool inside = true;
};

Outcome RunWorld(const std::string& config, const WorldOptions& options,
                 std::optional<double> epsilon) {
  JudgingWorld world(options);
  auto policy = MakeConfigPolicy("config", {.file = config, .epsilon = epsilon});
  EXPECT_TRUE(policy.ok()) << policy.status();
  auto overheard = std::make_unique<Overheard>(*std::move(policy));
  Overheard& heard = *overheard;
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(std::move(overheard));
  JudgeOptions judging;
  judging.used = kDecisions;
  Judge judge(judging, std::move(policies), {{0}});
  Outcome outcome;
  double truth = 0, tail = 0, count = 0;
  LoggedDecision decision;
  for (int t = 0; t < kDecisions; ++t) {
    world.Next(decision);
    LoggedSlot& slot = decision.slots[0];
    // An indicator of context and arm.
    slot.x.assign(static_cast<std::size_t>(JudgingWorld::kArms * kDimension), 0);
    for (int arm = 0; arm < JudgingWorld::kArms; ++arm) {
      const int column = world.context() * JudgingWorld::kArms + arm;
      slot.x[static_cast<std::size_t>(arm * kDimension + column)] = 1;
    }
    judge.Add(decision);
    EXPECT_TRUE(judge.failure(0).ok()) << judge.failure(0);
    const double value = world.Value(heard.heard);
    truth += value / kDecisions;
    if (static_cast<std::uint64_t>(t) < DesignDecisions(kDecisions)) continue;
    tail += value;
    ++count;
    const PairJudgement::Sides& sides = judge.judgement(0).dr;
    if (sides.lower.Excludes(tail / count, judge.log_threshold()) ||
        sides.upper.Excludes(-tail / count, judge.log_threshold())) {
      outcome.inside = false;
    }
  }
  const auto value = [&](Estimator estimator) {
    return *MakeRow(judge, 0, {estimator, IntervalKind::kLargeSample, 0.95, 0.05}).value;
  };
  outcome.ips_error = value(Estimator::kIps) - truth;
  outcome.dr_error = value(Estimator::kDr) - truth;
  return outcome;
}

TEST(ConfigPolicyStat, ValuesOfLearnersAreUnbiasedAndInside) {
  TempDir folder;
  const std::string config = folder.path() + "/candidate.textproto";
  std::ofstream(config) << "name: 'candidate' dimension: " << kDimension
                        << " shared {} reward_min: 0 reward_max: 1 reward_binary: true"
                           " reward_stddev: 0.4 mode: NON_PRIVATE"
                           " policy { uniform_mix { uniform_share: 0.1 } }";
  std::uint64_t outside = 0, worlds = 0;
  double largest = 0;
  // Two-sided 1e-6 over 12 comparisons, Student of 39 degrees.
  constexpr double kLimit = 6.5;
  for (const WorldLaw law : {WorldLaw::kUniform, WorldLaw::kUniformMix, WorldLaw::kInverseGap}) {
    for (const std::optional<double> epsilon : {std::optional<double>(), std::optional(1.0)}) {
      Moments ips, dr;
      for (int seed = 1; seed <= Seeds(); ++seed) {
        const Outcome outcome =
            RunWorld(config, {.law = law, .seed = static_cast<std::uint64_t>(seed)}, epsilon);
        ips.Add(outcome.ips_error);
        dr.Add(outcome.dr_error);
        outside += !outcome.inside;
        ++worlds;
      }
      for (const Moments* errors : {&ips, &dr}) {
        const double z =
            errors->mean() / errors->deviation() * std::sqrt(static_cast<double>(errors->count()));
        EXPECT_LT(std::abs(z), kLimit) << NameOf(law);
        largest = std::max(largest, std::abs(z));
      }
    }
  }
  std::printf("learners: largest |z| %.2f; outside at any decision in %llu of %llu\n", largest,
              static_cast<unsigned long long>(outside), static_cast<unsigned long long>(worlds));
  EXPECT_GT(BinomialUpperTail(outside, worlds, 0.05), AlphaOf("judging_anytime"));
}

}  // namespace
}  // namespace bandana::testing
