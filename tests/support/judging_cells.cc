#include "tests/support/judging_cells.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/judging/judge.h"
#include "common/judging/row.h"
#include "common/judging/simple_policies.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kAlpha = 0.05;
constexpr double kNormalQuantile = 1.959963984540054;

// The law of target and of what it is compared with, at the world's last decision.
void TargetLaw(WorldTarget target, const JudgingWorld& world, const LoggedSlot& slot,
               std::vector<double>& difference) {
  difference.assign(JudgingWorld::kArms, 0);
  for (std::size_t arm = 0; arm < difference.size(); ++arm) {
    switch (target) {
      case kTargetUniform:
        difference[arm] = 1.0 / JudgingWorld::kArms;
        break;
      case kTargetOneArm:
        difference[arm] = arm == 0 ? 1 : 0;
        break;
      case kTargetBest:
        difference[arm] = static_cast<int>(arm) == world.best() ? 1 : 0;
        break;
      case kTargetLogging:
        difference[arm] = slot.p[arm];
        break;
      case kTargetLift:
        difference[arm] = slot.p[arm] - 1.0 / JudgingWorld::kArms;
        break;
    }
  }
}

// Sums over the decisions of a target: its true value and the variance of one term given the past.
struct Truth {
  double value = 0, squared_value = 0;
  double tail_value = 0, tail_value01 = 0, tail_dr_variance = 0;
  double ips_variance = 0, dr_variance = 0;
  std::uint64_t tail = 0;
};

void AddTruth(const JudgingWorld& world, const LoggedSlot& slot, const RewardScale& scale,
              const std::vector<double>& law, bool tail, Truth& truth) {
  double value = 0, value01 = 0, ips2 = 0, dr2 = 0, dr1 = 0;
  for (std::size_t arm = 0; arm < law.size(); ++arm) {
    const double mean = world.means()[arm], c = law[arm] / slot.p[arm];
    const double off = mean - slot.q[arm];
    const double variance = world.VarianceOf(static_cast<int>(arm));
    value += law[arm] * mean;
    value01 += law[arm] * scale.To01(mean);
    ips2 += slot.p[arm] * c * c * (variance + mean * mean);
    dr2 += slot.p[arm] * c * c * (variance + off * off);
    dr1 += law[arm] * off;
  }
  truth.value += value;
  truth.squared_value += value * value;
  truth.ips_variance += ips2 - value * value;
  truth.dr_variance += dr2 - dr1 * dr1;
  if (!tail) return;
  truth.tail_value += value;
  truth.tail_value01 += value01;
  truth.tail_dr_variance += dr2 - dr1 * dr1;
  ++truth.tail;
}

std::vector<std::unique_ptr<JudgedPolicy>> Targets(const JudgingWorld& world) {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeUniformPolicy());
  policies.push_back(MakeConstantPolicy("0"));
  policies.push_back(
      std::make_unique<WorldPolicy>("best", [&world](const SlotView&, std::vector<double>& law) {
        law[static_cast<std::size_t>(world.best())] = 1;
      }));
  policies.push_back(MakeLoggingPolicy());
  return policies;
}

// A log that is not as decisions were. State: of one log.
class LogMutant {
 public:
  explicit LogMutant(JudgingMutant mutant) : mutant_(mutant) {}
  // Changes the line; false: it is lost.
  bool Write(LoggedDecision& decision) {
    LoggedSlot& slot = decision.slots[0];
    const bool reaction = slot.reward > 0.5;
    if (mutant_ == JudgingMutant::kWritesTwice && before_) slot.reward = 1;
    before_ = reaction;
    reactions_ += reaction;
    return mutant_ != JudgingMutant::kDropsReactions || !reaction || reactions_ % 5 != 0;
  }

 private:
  const JudgingMutant mutant_;
  bool before_ = false;  // the line before has a reaction of its own
  int reactions_ = 0;
};

// The terms of DR, one per decision, from the means that a judge has after each.
class Terms {
 public:
  void Add(double mean_so_far) {
    const auto n = static_cast<double>(terms_.size() + 1);
    terms_.push_back(mean_ + n * (mean_so_far - mean_));
    mean_ = mean_so_far;
  }
  // Whether the percentile interval of resampled means has the value.
  bool BootstrapHas(double value, int resamples, TestRng& rng) const {
    std::vector<double> means;
    for (int b = 0; b < resamples; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        sum += terms_[static_cast<std::size_t>(rng.Index(static_cast<int>(terms_.size())))];
      }
      means.push_back(sum / static_cast<double>(terms_.size()));
    }
    std::sort(means.begin(), means.end());
    const auto cut = static_cast<std::size_t>(kAlpha / 2 * resamples);
    return means[cut] <= value && value <= means[means.size() - 1 - cut];
  }

 private:
  std::vector<double> terms_;
  double mean_ = 0;
};

void Mutate(JudgingMutant mutant, LoggedDecision& decision) {
  for (LoggedSlot& slot : decision.slots) {
    if (mutant == JudgingMutant::kIgnoreLaw && slot.released) {
      slot.reward = slot.reward > 0.5 ? 1 : 0;
      slot.released.reset();
    }
    if (mutant == JudgingMutant::kSeesReward) {
      slot.q[slot.chosen] = 0.5 * slot.q[slot.chosen] + 0.5 * slot.reward;
    }
  }
}

}  // namespace

const char* NameOf(WorldTarget target) {
  constexpr const char* kNames[] = {"uniform", "one arm", "best", "logging", "lift"};
  return kNames[target];
}

std::vector<WorldOutcome> RunWorld(const WorldOptions& options, int decisions, JudgingMutant mutant,
                                   int resamples) {
  JudgingWorld world(options);
  JudgeOptions judge_options;
  const bool released = options.epsilon > 0 && mutant != JudgingMutant::kIgnoreLaw;
  const double low = released ? -1 / (std::exp(options.epsilon) - 1) : 0;
  judge_options.scale = {low, 1 - low};
  judge_options.used = static_cast<std::uint64_t>(decisions);
  judge_options.alpha = kAlpha;
  Judge judge(judge_options, Targets(world),
              {{kTargetUniform},
               {kTargetOneArm},
               {kTargetBest},
               {kTargetLogging},
               {kTargetLogging, kTargetUniform}});
  std::vector<WorldOutcome> outcomes(kWorldTargets);
  std::vector<Truth> truths(kWorldTargets);
  const std::uint64_t design = DesignDecisions(judge_options.used);
  LogMutant log(mutant);
  std::vector<Terms> terms(resamples > 0 ? kWorldTargets : 0);
  TestRng rng(options.seed);
  LoggedDecision decision;
  std::vector<double> law;
  for (int t = 0; t < decisions; ++t) {
    world.Next(decision);
    const LoggedSlot logged = decision.slots[0];
    Mutate(mutant, decision);
    if (log.Write(decision)) judge.Add(decision);
    for (std::size_t target = 0; target < terms.size(); ++target) {
      terms[target].Add(judge.judgement(target).all.dr().mean());
    }
    const bool tail = static_cast<std::uint64_t>(t) >= design;
    for (int target = 0; target < kWorldTargets; ++target) {
      TargetLaw(static_cast<WorldTarget>(target), world, logged, law);
      Truth& truth = truths[static_cast<std::size_t>(target)];
      AddTruth(world, logged, judge_options.scale, law, tail, truth);
      if (!tail) continue;
      const PairJudgement::Sides& sides = judge.judgement(static_cast<std::size_t>(target)).dr;
      const double mean = truth.tail_value01 / static_cast<double>(truth.tail);
      if (sides.lower.Excludes(mean, judge.log_threshold()) ||
          sides.upper.Excludes(-mean, judge.log_threshold())) {
        outcomes[static_cast<std::size_t>(target)].inside = false;
      }
    }
  }
  for (std::size_t target = 0; target < kWorldTargets; ++target) {
    const auto row = [&](Estimator estimator, IntervalKind interval) {
      return MakeRow(judge, target, {estimator, interval, 1 - kAlpha, kAlpha});
    };
    const Truth& truth = truths[target];
    WorldOutcome& outcome = outcomes[target];
    const double n = decisions, value = truth.value / n;
    outcome.ips_error = *row(Estimator::kIps, IntervalKind::kLargeSample).value - value;
    const JudgementRow large = row(Estimator::kDr, IntervalKind::kLargeSample);
    outcome.dr_error = *large.value - value;
    outcome.large_shown = large.low.has_value();
    outcome.large_inside = large.low && *large.low <= value && value <= *large.high;
    const double deviation = judge.judgement(target).all.dr().deviation();
    outcome.term_variance = deviation * deviation;
    outcome.true_term_variance = (truth.dr_variance + truth.squared_value) / n - value * value;
    const double half = kNormalQuantile * deviation / std::sqrt(n);
    outcome.normal_inside = std::abs(outcome.dr_error) <= half;
    outcome.bootstrap_inside = !terms.empty() && terms[target].BootstrapHas(value, resamples, rng);
    outcome.ips_variance = truth.ips_variance / (n * n);
    outcome.dr_variance = truth.dr_variance / (n * n);
    const JudgementRow anytime = row(Estimator::kDr, IntervalKind::kAnytime);
    outcome.width = *anytime.high - *anytime.low;
    const auto t = static_cast<double>(truth.tail);
    outcome.ideal = 2 * kNormalQuantile * std::sqrt(truth.tail_dr_variance) / t;
  }
  return outcomes;
}

}  // namespace bandana::testing
