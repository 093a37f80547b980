#include "tests/support/judging_world.h"

#include <algorithm>
#include <cmath>

namespace bandana::testing {
namespace {

constexpr double kShare = 0.1;
constexpr double kGamma = 20;
constexpr int kDraws = 100;

void MixUniform(double share, const std::vector<bool>& taken, std::vector<double>& law) {
  const auto left = static_cast<double>(std::count(taken.begin(), taken.end(), false));
  for (std::size_t arm = 0; arm < law.size(); ++arm) {
    law[arm] = taken[arm] ? 0 : share / left + (1 - share) * law[arm];
  }
}

std::size_t BestOf(const std::vector<double>& scores, const std::vector<bool>& taken) {
  std::size_t best = scores.size();
  for (std::size_t arm = 0; arm < scores.size(); ++arm) {
    if (!taken[arm] && (best == scores.size() || scores[arm] > scores[best])) best = arm;
  }
  return best;
}

}  // namespace

const char* NameOf(WorldLaw law) {
  constexpr const char* kNames[] = {"uniform", "uniform_mix", "softmax", "inverse_gap", "thompson"};
  return kNames[static_cast<int>(law)];
}

JudgingWorld::JudgingWorld(const WorldOptions& options)
    : options_(options), rng_(options.seed * 64 + static_cast<std::uint64_t>(options.law)) {
  constexpr double kBases[] = {0.03, 0.1, 0.3};
  base_ = kBases[options.seed % 3];
  if (options.epsilon > 0) low_ = -1 / (std::exp(options.epsilon) - 1);
  for (Means& means : means_) {
    for (double& mean : means) mean = std::min(0.95, base_ * std::exp(0.6 * rng_.Normal()));
  }
  for (Means& weights : weights_) {
    for (double& weight : weights) weight = std::exp(1.2 * rng_.Normal());
  }
}

double JudgingWorld::PosteriorMean(int arm) const {
  const auto c = static_cast<std::size_t>(context_), a = static_cast<std::size_t>(arm);
  return std::clamp(sums_[c][a] / (counts_[c][a] + 1), 0.0, 1.0);
}

std::vector<double> JudgingWorld::LawOf(const std::vector<double>& q,
                                        const std::vector<bool>& taken) {
  const auto c = static_cast<std::size_t>(context_);
  std::vector<double> law(kArms, 0), scores(kArms);
  const double deviation = std::sqrt(base_ - low_ * (1 - low_));  // about that of a value
  const auto width = [&](std::size_t arm) { return deviation / std::sqrt(counts_[c][arm] + 1); };
  switch (options_.law) {
    case WorldLaw::kUniform:
      MixUniform(1, taken, law);
      break;
    case WorldLaw::kUniformMix:
      for (std::size_t arm = 0; arm < kArms; ++arm) scores[arm] = q[arm] + width(arm);
      law[BestOf(scores, taken)] = 1;
      MixUniform(kShare, taken, law);
      break;
    case WorldLaw::kSoftmax:
      for (std::size_t arm = 0; arm < kArms; ++arm) law[arm] = taken[arm] ? 0 : weights_[c][arm];
      break;
    case WorldLaw::kInverseGap: {
      const std::size_t best = BestOf(q, taken);
      const auto left = static_cast<double>(std::count(taken.begin(), taken.end(), false));
      double rest = 1;
      for (std::size_t arm = 0; arm < kArms; ++arm) {
        if (taken[arm] || arm == best) continue;
        law[arm] = 1 / (left + kGamma * (q[best] - q[arm]));
        rest -= law[arm];
      }
      law[best] = rest;
      break;
    }
    case WorldLaw::kThompson:
      for (int draw = 0; draw < kDraws; ++draw) {
        for (std::size_t arm = 0; arm < kArms; ++arm) {
          scores[arm] = q[arm] + width(arm) * rng_.Normal();
        }
        law[BestOf(scores, taken)] += 1.0 / kDraws;
      }
      MixUniform(kShare, taken, law);
      break;
  }
  double sum = 0;
  for (const double p : law) sum += p;
  for (double& p : law) p /= sum;
  return law;
}

int JudgingWorld::Draw(const std::vector<double>& law) {
  double u = rng_.Uniform();
  int last = 0;
  for (int arm = 0; arm < kArms; ++arm) {
    if (law[static_cast<std::size_t>(arm)] <= 0) continue;
    last = arm;
    u -= law[static_cast<std::size_t>(arm)];
    if (u < 0) break;
  }
  return last;
}

double JudgingWorld::Released(bool click) {
  if (options_.epsilon <= 0) return click ? 1 : 0;
  const double keep = 1 / (1 + std::exp(-options_.epsilon));
  const bool said = rng_.Uniform() < keep ? click : !click;
  return said ? 1 - low_ : low_;
}

double JudgingWorld::VarianceOf(int arm) const {
  const double mean = means()[static_cast<std::size_t>(arm)];
  // A value is `low` or 1 - low and its mean is the mean reward.
  return (mean - low_) * (1 - low_ - mean);
}

void JudgingWorld::Next(LoggedDecision& decision) {
  context_ = rng_.Index(kContexts);
  decision.id = "d" + std::to_string(number_);
  decision.time = absl::FromUnixSeconds(1'700'000'000 + static_cast<std::int64_t>(number_++));
  decision.slots.resize(options_.slots);
  std::vector<double> q(kArms);
  for (int arm = 0; arm < kArms; ++arm) q[static_cast<std::size_t>(arm)] = PosteriorMean(arm);
  std::vector<bool> taken(kArms, false);
  for (LoggedSlot& slot : decision.slots) {
    slot.offered = kArms;
    slot.ids = {0, 1, 2, 3, 4};
    slot.q = q;
    slot.p = LawOf(q, taken);
    slot.chosen = static_cast<std::uint32_t>(Draw(slot.p));
    slot.chosen_p = slot.p[slot.chosen];
    taken[slot.chosen] = true;
  }
  bool stopped = false;
  const auto c = static_cast<std::size_t>(context_);
  for (LoggedSlot& slot : decision.slots) {
    const bool click = !stopped && rng_.Uniform() < means_[c][slot.chosen];
    stopped = stopped || (click && options_.click_stops);
    slot.state = RewardState::kKnown;
    slot.reward = Released(click);
    if (options_.epsilon > 0) slot.released = ReleaseLaw{options_.epsilon, low_, 1 - low_};
    sums_[c][slot.chosen] += slot.reward;
    counts_[c][slot.chosen] += 1;
  }
}

double JudgingWorld::Value(const std::vector<double>& law) const {
  double value = 0;
  for (std::size_t arm = 0; arm < kArms; ++arm) value += law[arm] * means()[arm];
  return value;
}

int JudgingWorld::best() const {
  return static_cast<int>(std::max_element(means().begin(), means().end()) - means().begin());
}

}  // namespace bandana::testing
