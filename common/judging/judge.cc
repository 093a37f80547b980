#include "common/judging/judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/judging/simple_policies.h"

namespace bandana {
namespace {

bool SameArm(const LoggedSlot& a, std::size_t at, const LoggedSlot& b, std::size_t other) {
  if (!a.names.empty() || !b.names.empty()) {
    return !a.names.empty() && !b.names.empty() && a.names[at] == b.names[other];
  }
  return (a.ids.empty() ? at : a.ids[at]) == (b.ids.empty() ? other : b.ids[other]);
}

// Marks the arms of `view` that were chosen in the slots before.
void MarkTaken(SlotView& view) {
  view.taken.assign(view.at == 0 ? 0 : view.slot().arms(), 0);
  for (std::size_t before = 0; before < view.at; ++before) {
    const LoggedSlot& earlier = view.decision->slots[before];
    for (std::size_t arm = 0; arm < view.taken.size(); ++arm) {
      if (SameArm(view.slot(), arm, earlier, earlier.chosen)) view.taken[arm] = 1;
    }
  }
}

}  // namespace

Judge::Judge(JudgeOptions options, std::vector<std::unique_ptr<JudgedPolicy>> policies,
             std::vector<JudgedPair> pairs)
    : options_(options),
      policies_(std::move(policies)),
      logging_(MakeLoggingPolicy()),
      pairs_(std::move(pairs)),
      log_threshold_(std::log(2 / options.alpha)),
      design_(DesignDecisions(options.used)),
      laws_(policies_.size()),
      failures_(policies_.size()),
      judgements_(pairs_.size()) {}

void Judge::SetPredictions(const LoggedSlot& logged, JudgedSlot& judged) {
  judged.q01.clear();
  if (!judged.whole) return;
  const RewardScale& scale = options_.scale;
  judged.q01.resize(logged.p.size());
  if (logged.q.empty()) own_predictions_ = true;
  for (std::size_t arm = 0; arm < judged.q01.size(); ++arm) {
    if (logged.q.empty()) {
      judged.q01[arm] = means_.Predict(logged, arm);
    } else {
      const double q = std::clamp(logged.q[arm], options_.range.min, options_.range.max);
      judged.q01[arm] = std::clamp(scale.To01(q), 0.0, 1.0);
    }
  }
}

void Judge::SetUnit(const LoggedDecision& decision) {
  unit_.count = decision.slots.size();
  if (unit_.slots.size() < unit_.count) unit_.slots.resize(unit_.count);
  for (std::size_t at = 0; at < unit_.count; ++at) {
    const LoggedSlot& logged = decision.slots[at];
    JudgedSlot& judged = unit_.slots[at];
    judged.view.decision = &decision;
    judged.view.at = at;
    MarkTaken(judged.view);
    judged.whole = logged.whole_law();
    judged.y = logged.state == RewardState::kKnown ? logged.reward : options_.unreported;
    judged.y01 = std::clamp(options_.scale.To01(judged.y), 0.0, 1.0);
    SetPredictions(logged, judged);
  }
}

absl::Status Judge::SetLaws(JudgedPolicy& policy, UnitLaws& laws) {
  laws.defined = true;
  if (laws.slots.size() < unit_.count) laws.slots.resize(unit_.count);
  bool reached = true;  // the policy may have filled the slots before as they are
  for (std::size_t at = 0; at < unit_.count && laws.defined; ++at) {
    const JudgedSlot& judged = unit_.slots[at];
    UnitLaws::Slot& slot = laws.slots[at];
    JudgedPolicy& asked = reached ? policy : *logging_;
    if (judged.whole) {
      BANDANA_ASSIGN_OR_RETURN(laws.defined, asked.Law(judged.view, slot.law));
      if (laws.defined) slot.chance = slot.law[judged.view.slot().chosen];
    } else {
      slot.law.clear();
      BANDANA_ASSIGN_OR_RETURN(laws.defined, asked.Chance(judged.view, slot.chance));
    }
    // To leave it out would look at the draws of the slots before.
    if (!laws.defined && at > 0) {
      return FailedPrecondition(policy.name(), ": chooses nothing in slot ", at, " of decision ",
                                judged.view.decision->id,
                                ", though it may have filled those before");
    }
    reached = reached && slot.chance > 0;
  }
  return absl::OkStatus();
}

void Judge::AddPair(const JudgedPair& pair, bool design, PairJudgement& judgement) {
  const UnitLaws& one = laws_[pair.policy];
  const UnitLaws* two = pair.against < 0 ? nullptr : &laws_[static_cast<std::size_t>(pair.against)];
  if (!one.defined || (two != nullptr && !two->defined)) {
    ++judgement.undefined;
    return;
  }
  pair_unit_.Set(unit_, one, two, options_.lists);
  judgement.all.Add(pair_unit_, options_.scale);
  if (!design) judgement.tail.Add(pair_unit_, options_.scale);
  const double mean01 = reward01_.count() > 0 ? reward01_.mean() : 0.5;
  for (const bool predictions : {false, true}) {
    PairJudgement::Sides& sides = predictions ? judgement.dr : judgement.ips;
    for (const bool upper : {false, true}) {
      if (!design) {
        AnytimeBound& bound = upper ? sides.upper : sides.lower;
        bound.Add(pair_unit_.Step(upper, bound.k(), predictions));
        continue;
      }
      BoundDesign& choice = upper ? sides.upper_design : sides.lower_design;
      choice.CountDecision();
      for (std::size_t cut = 0; cut < BoundDesign::kCuts.size(); ++cut) {
        choice.Add(cut,
                   pair_unit_.DesignSquare(upper, BoundDesign::kCuts[cut], predictions, mean01));
      }
    }
  }
}

void Judge::EndDesign() {
  const double planned = static_cast<double>(options_.used) - static_cast<double>(design_);
  propensities_.EndDesign(planned);
  for (PairJudgement& judgement : judgements_) {
    for (PairJudgement::Sides* sides : {&judgement.ips, &judgement.dr}) {
      sides->lower = sides->lower_design.Choose(planned, log_threshold_);
      sides->upper = sides->upper_design.Choose(planned, log_threshold_);
    }
  }
}

void Judge::Ask(std::size_t policy) {
  if (failures_[policy].ok()) failures_[policy] = SetLaws(*policies_[policy], laws_[policy]);
  if (!failures_[policy].ok()) laws_[policy].defined = false;
}

void Judge::Add(const LoggedDecision& decision) {
  if (count_ == design_) EndDesign();
  const bool design = count_++ < design_;
  SetUnit(decision);
  for (std::size_t at = 0; at < policies_.size(); ++at) Ask(at);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    AddPair(pairs_[pair], design, judgements_[pair]);
  }
  propensities_.Add(unit_, design);
  for (std::size_t at = 0; at < unit_.count; ++at) {
    const JudgedSlot& judged = unit_.slots[at];
    reward01_.Add(judged.y01);
    if (judged.view.slot().q.empty() && judged.view.slot().arms() > 0) {
      means_.Add(judged.view.slot(), judged.y01);
    }
  }
  for (std::size_t at = 0; at < policies_.size(); ++at) {
    if (failures_[at].ok()) failures_[at] = policies_[at]->Learn(decision);
  }
}

void Judge::Finish() {
  for (std::size_t at = 0; at < policies_.size(); ++at) {
    if (failures_[at].ok()) failures_[at] = policies_[at]->EndOfLog();
  }
}

}  // namespace bandana
