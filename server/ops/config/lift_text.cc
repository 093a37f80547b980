#include "server/ops/config/lift_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/design/judgeable.h"
#include "common/judging/lift_forecast.h"
#include "common/judging/lift_monitor.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana::server {
namespace {

constexpr int kArms = 10;
constexpr double kOthers = 0.1;     // of the reward range: what all arms but the best bring
constexpr double kLift = 0.1;       // of what uniform brings
constexpr double kCannotTimes = 5;  // so many times the decisions of uniform_mix 0.1
constexpr double kRemedyShare = 0.1;

// The law over arms of these expected rewards, of which the model is sure.
std::vector<double> LawOf(const SelectionRule& rule, const std::vector<double>& means) {
  std::vector<double> draws;
  for (int draw = 0; draw < rule.draws(); ++draw) {
    draws.insert(draws.end(), means.begin(), means.end());
  }
  const std::vector<std::uint8_t> cold(rule.favours_cold() ? means.size() : 0, 0);
  std::vector<int> left(means.size());
  std::iota(left.begin(), left.end(), 0);
  std::vector<double> law;
  rule.Law({.means = means, .scores = means, .draws = draws, .cold = cold}, left, law);
  return law;
}

std::vector<double> Means(const RewardRange& range, double gap) {
  std::vector<double> means(kArms, range.min + kOthers * range.width());
  means[0] += gap * range.width();
  return means;
}

// The gap of the best arm, a share of the range, at which the policy brings a tenth more than
// uniform; nothing where no gap does.
std::optional<double> GapOfLift(const SelectionRule& rule, const RewardRange& range) {
  const auto enough = [&](double gap) {
    const double best = LawOf(rule, Means(range, gap))[0];
    return gap * (best - 1.0 / kArms) >= kLift * (kOthers + gap / kArms);
  };
  double low = 0;
  double high = 1 - kOthers;
  if (!enough(high)) return std::nullopt;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<double> Decisions(const SelectionRule& rule, const ModelSpec& spec) {
  const RewardRange& range = spec.public_spec.reward_range;
  const RewardRange logged = ReleasedRange(spec).value_or(range);
  const std::optional<double> gap = GapOfLift(rule, range);
  if (!gap) return std::nullopt;
  std::vector<double> means = Means(range, *gap);
  const std::vector<double> law = LawOf(rule, means);
  if (*std::ranges::min_element(law) <= 0) return std::nullopt;
  const double sought = kLift * (kOthers + *gap / kArms) * range.width() / logged.width();
  for (double& mean : means) mean = (mean - logged.min) / logged.width();
  return DecisionsToSee(law, means, sought, LiftMonitor::kPlanned, LiftMonitor::LogThreshold());
}

std::string Rounded(double decisions) {
  const double unit = std::pow(10, std::floor(std::log10(decisions)) - 1);
  return absl::StrFormat("%.0f", std::round(decisions / unit) * unit);
}

}  // namespace

std::string LiftText(const ModelSpec& spec) {
  std::string why = WhyNoLift(spec);
  if (!why.empty() || spec.policy == nullptr) {
    return why.empty() ? "of every decision, beside uniform and the arm listed first" : why;
  }
  const RewardRange& range = spec.public_spec.reward_range;
  const std::vector<double> sure = LawOf(*spec.policy, Means(range, 1 - kOthers));
  const double least = *std::ranges::min_element(sure);
  if (least <= 0) {
    return "bounds alone: the policy gives some arms no chance. A uniform_share above 0 gives "
           "every arm one";
  }
  const std::optional<double> decisions = Decisions(*spec.policy, spec);
  const std::optional<double> remedy = Decisions(*MakeUniformMix(kRemedyShare), spec);
  std::string text =
      absl::StrFormat("weights up to %.3g (%d arms); a lift of 10 %% is ", 1 / least, kArms);
  if (decisions && (!remedy || *decisions <= kCannotTimes * *remedy)) {
    return absl::StrCat(text, "seen after some ", Rounded(*decisions), " decisions");
  }
  absl::StrAppend(&text, "NOT seen",
                  decisions ? absl::StrCat(" before some ", Rounded(*decisions), " decisions")
                            : ": the policy differs too little from uniform");
  if (remedy) {
    absl::StrAppend(&text, ". A uniform_share of 0.1 takes ", Rounded(*remedy));
  }
  return text;
}

}  // namespace bandana::server
