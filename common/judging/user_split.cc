#include "common/judging/user_split.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/decisions/check_decision.h"
#include "common/judging/judge.h"
#include "common/judging/simple_policies.h"

namespace bandana {

UserSplit::UserSplit(SplitOptions options, std::vector<SplitModel> models)
    : options_(options), models_(std::move(models)) {}

bool UserSplit::RewardOf(const LoggedDecision& decision, double& reward) {
  reward = 0;
  for (const LoggedSlot& slot : decision.slots) {
    if (slot.state == RewardState::kPending) {
      first_open_ = std::min(first_open_.value_or(decision.time), decision.time);
      return false;
    }
    if (slot.state == RewardState::kUnreported && !options_.unreported) {
      error_ = absl::StrCat("decision ", decision.id,
                            ": no report came. Who reports depends on the reaction: --unreported "
                            "VALUE says what such decisions count");
      return false;
    }
    reward += slot.state == RewardState::kKnown ? slot.reward : *options_.unreported;
  }
  return true;
}

void UserSplit::Add(std::size_t model, const LoggedDecision& decision) {
  if (decision.user.empty() || CheckDecision(decision)) {
    ++skipped_;
    return;
  }
  const auto slots = static_cast<double>(decision.slots.size());
  for (const LoggedSlot& slot : decision.slots) {
    const RewardScale law = slot.released ? RewardScale{slot.released->low, slot.released->high}
                                          : RewardScale{decision.range.min, decision.range.max};
    // A list has the sum over its slots.
    const RewardScale sum{std::min(law.low, law.low * slots), std::max(law.high, law.high * slots)};
    scale_ = scale_ ? RewardScale{std::min(scale_->low, sum.low), std::max(scale_->high, sum.high)}
                    : sum;
  }
  const RewardRange range{decision.range.min * slots, decision.range.max * slots};
  range_ = range_ ? RewardRange{std::min(range_->min, range.min), std::max(range_->max, range.max)}
                  : range;
  const auto [found, is_new] = users_.try_emplace(decision.user);
  User& user = found->second;
  if (is_new) {
    user.model = model;
    user.first = decision.time;
  }
  user.both = user.both || user.model != model;
  if (user.both || user.decisions == options_.decisions ||
      decision.time >= user.first + options_.horizon) {
    return;
  }
  double reward = 0;
  if (!RewardOf(decision, reward)) return;
  ++user.decisions;
  user.sum += reward;
}

std::vector<SplitUser> UserSplit::Users(absl::Time closed, SplitAnswer& answer) const {
  if (first_open_) closed = std::min(closed, *first_open_);
  std::vector<SplitUser> order;
  for (const auto& [name, user] : users_) {
    if (user.both) {
      ++answer.both;
    } else if (user.first + options_.horizon > closed) {
      ++answer.open;
    } else {
      order.push_back({name, user.model, user.first, user.sum / std::max(1u, user.decisions)});
    }
  }
  std::sort(order.begin(), order.end(), [](const SplitUser& a, const SplitUser& b) {
    return a.first != b.first ? a.first < b.first : a.name < b.name;
  });
  return order;
}

LoggedDecision SplitUnit(const SplitUser& user, const std::vector<SplitModel>& models) {
  LoggedDecision unit;
  unit.id = user.name;
  unit.time = user.first;
  unit.slots.resize(1);
  LoggedSlot& slot = unit.slots[0];
  slot.offered = static_cast<std::uint32_t>(models.size());
  for (std::uint32_t model = 0; model < slot.offered; ++model) {
    slot.ids.push_back(model);
    slot.p.push_back(models[model].share);
  }
  slot.chosen = static_cast<std::uint32_t>(user.model);
  slot.chosen_p = slot.p[slot.chosen];
  slot.state = RewardState::kKnown;
  slot.reward = user.reward;
  return unit;
}

SplitPolicies MakeSplitPolicies(std::size_t models) {
  SplitPolicies made;
  for (std::size_t model = 0; model < models; ++model) {
    made.policies.push_back(MakeConstantPolicy(absl::StrCat(model)));
    made.pairs.push_back({model});
  }
  if (models == 2) made.pairs.push_back({.policy = 1, .against = 0});
  return made;
}

SplitAnswer UserSplit::Finish(absl::Time closed) const {
  SplitAnswer answer;
  answer.skipped = skipped_;
  answer.error = error_;
  const std::vector<SplitUser> order = Users(closed, answer);
  if (!answer.error.empty()) return answer;
  JudgeOptions options;
  options.scale = scale_.value_or(RewardScale());
  options.range = range_.value_or(RewardRange());
  options.used = order.size();
  options.alpha = 1 - options_.confidence;
  SplitPolicies split = MakeSplitPolicies(models_.size());
  Judge judge(options, std::move(split.policies), split.pairs);
  std::vector<std::uint64_t> counts(models_.size());
  for (const SplitUser& user : order) {
    judge.Add(SplitUnit(user, models_));
    ++counts[user.model];
  }
  for (std::size_t pair = 0; pair < split.pairs.size(); ++pair) {
    const bool difference = pair == models_.size();
    const JudgementRow row = MakeRow(
        judge, pair,
        {.estimator = Estimator::kDr, .confidence = options_.confidence, .alpha = options.alpha});
    SplitAnswer::Value value{.users = difference ? order.size() : counts[pair],
                             .value = row.value,
                             .low = row.low,
                             .high = row.high};
    value.model =
        difference ? absl::StrCat(models_[1].name, " - ", models_[0].name) : models_[pair].name;
    if (difference) {
      answer.difference = std::move(value);
    } else {
      answer.models.push_back(std::move(value));
    }
  }
  const std::uint64_t design = DesignDecisions(order.size());
  if (order.size() <= design) {
    answer.error = absl::StrCat(order.size(), " users are closed; the first ", design,
                                " choose the interval's form");
  }
  return answer;
}

}  // namespace bandana
