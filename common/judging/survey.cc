#include "common/judging/survey.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "common/base/status.h"
#include "common/decisions/check_decision.h"

namespace bandana {
namespace {

bool Has(const LoggedDecision& decision, RewardState state) {
  return std::any_of(decision.slots.begin(), decision.slots.end(),
                     [state](const LoggedSlot& slot) { return slot.state == state; });
}

}  // namespace

std::uint64_t Survey::HashOf(const LoggedDecision& decision) {
  return absl::Hash<std::string>()(decision.id);
}

void Survey::Stop(std::string_view line, std::string_view why) {
  if (stop_.empty()) stop_ = absl::StrCat(ToAbsl(line), ": ", ToAbsl(why));
}

std::string_view Survey::ReasonOfItself(const LoggedDecision& decision) const {
  if (const auto problem = CheckDecision(decision)) return problem->reason;
  const bool choice = std::any_of(decision.slots.begin(), decision.slots.end(),
                                  [](const LoggedSlot& slot) { return slot.offered > 1; });
  return choice ? std::string_view() : skip_reason::kSingleArm;
}

void Survey::LookAtRewards(const LoggedDecision& decision, std::string_view line) {
  range_ = any_ ? RewardRange{std::min(range_.min, decision.range.min),
                              std::max(range_.max, decision.range.max)}
                : decision.range;
  for (const LoggedSlot& slot : decision.slots) {
    if (!slot.released) {
      if (slot.state == RewardState::kKnown) raw_ = true;
      continue;
    }
    if (!released_) {
      epsilon_ = slot.released->epsilon;
      scale_ = {slot.released->low, slot.released->high};
    }
    released_ = true;
    clipped_ = clipped_ || slot.released->clipped;
    epsilons_differ_ = epsilons_differ_ || slot.released->epsilon != epsilon_;
    scale_.low = std::min(scale_.low, slot.released->low);
    scale_.high = std::max(scale_.high, slot.released->high);
  }
  if (raw_ && released_) Stop(line, "released: the log mixes raw and released rewards");
  if (clipped_ && !options_.clipped) {
    Stop(line,
         "released: the rewards are those of CENTRED_RANDOMIZER, unbiased for a reward clipped to "
         "a window around the model's own prediction; --clipped asks for the value of clipped "
         "rewards");
  }
}

void Survey::LookAtTime(const LoggedDecision& decision, std::string_view line) {
  from_ = from_ ? std::min(*from_, decision.time) : decision.time;
  to_ = to_ ? std::max(*to_, decision.time) : decision.time;
  if (Has(decision, RewardState::kPending)) {
    first_open_ = first_open_ ? std::min(*first_open_, decision.time) : decision.time;
  } else if (Has(decision, RewardState::kUnreported)) {
    if (unreported_count_++ == 0) unreported_line_ = line;
  }
}

std::string_view Survey::Look(const LoggedDecision& decision, std::string_view line) {
  if (decision.named_rank > 0) {
    Stop(line, absl::StrCat("slot: the report named rank ", decision.named_rank,
                            " of a ranking, whose law is not in the line; log lists of slots"));
  }
  const std::string_view reason = ReasonOfItself(decision);
  if (!reason.empty()) return reason;
  if (any_ && decision.instance != instance_) {
    Stop(line, absl::StrCat("instance: is ", decision.instance, ", and of the lines before ",
                            instance_, "; judge the log of each model by itself"));
  }
  if (any_ && decision.epoch != epoch_) {
    Stop(line, absl::StrCat("epoch: is ", decision.epoch, ", and of the lines before ", epoch_,
                            "; judge each epoch by itself, by --from and --to of the export"));
  }
  LookAtRewards(decision, line);
  LookAtTime(decision, line);
  instance_ = decision.instance;
  epoch_ = decision.epoch;
  any_ = true;
  lists_ = lists_ || decision.slots.size() > 1;
  predictions_ = predictions_ || !decision.slots[0].q.empty();
  const std::uint64_t hash = HashOf(decision);
  hashes_[hash >> 56].push_back(hash);
  return "";
}

absl::Status Survey::EndLook() {
  for (std::vector<std::uint64_t>& hashes : hashes_) {
    std::sort(hashes.begin(), hashes.end());
    for (std::size_t i = 1; i < hashes.size(); ++i) {
      const bool again = !twice_.empty() && twice_.back() == hashes[i];
      if (hashes[i] == hashes[i - 1] && !again) twice_.push_back(hashes[i]);
    }
    hashes = {};
  }
  if (!released_) scale_ = {range_.min, range_.max};
  if (epsilons_differ_) epsilon_.reset();
  if (!stop_.empty()) return absl::FailedPreconditionError(stop_);
  if (options_.unreported &&
      !(*options_.unreported >= range_.min && *options_.unreported <= range_.max)) {
    return FailedPrecondition("--unreported must be in the range of rewards, [", range_.min, ", ",
                              range_.max, "], got ", *options_.unreported);
  }
  if (unreported_count_ > 0 && !options_.unreported) {
    return FailedPrecondition(
        unreported_line_, ": reward: no report came for this decision and ", unreported_count_ - 1,
        " more. Who reports depends on the reaction, so they are not left out: --unreported VALUE "
        "says what they count");
  }
  return absl::OkStatus();
}

bool Survey::Repeated(const LoggedDecision& decision) {
  if (twice_.empty()) return false;
  const std::uint64_t hash = HashOf(decision);
  if (!std::binary_search(twice_.begin(), twice_.end(), hash)) return false;
  std::vector<std::string>& ids = seen_[hash];
  if (std::find(ids.begin(), ids.end(), decision.id) != ids.end()) return true;
  ids.push_back(decision.id);
  return false;
}

std::string_view Survey::Reason(const LoggedDecision& decision) {
  if (const std::string_view reason = ReasonOfItself(decision); !reason.empty()) return reason;
  if (Repeated(decision)) return skip_reason::kDuplicate;
  if (first_open_ && decision.time >= *first_open_) return skip_reason::kPending;
  return "";
}

std::string_view Survey::reward() const {
  return clipped_ ? "clipped" : released_ ? "released" : "raw";
}

}  // namespace bandana
