#include "common/decisions/joined_decision.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace bandana {
namespace {

// The place in `ranks` of the arm that was shown; their number where none is it.
std::size_t ShownRank(const StoredDecision& stored, std::uint32_t mark) {
  const std::size_t named = stored.shown - stored.first_rank;
  if (mark == 0 || stored.ranks.empty() || stored.ranks[named].mark == mark) return named;
  const auto rank = std::ranges::find(stored.ranks, mark, &StoredRank::mark);
  return static_cast<std::size_t>(rank - stored.ranks.begin());
}

// The reward, and the law that it was released by, of what an entry has.
void TakeReward(const SegmentHeader& header, const std::optional<StoredWindow>& window,
                double value, LoggedSlot& slot) {
  if (header.form == RewardForm::kCentredShare) {
    value = header.range.min + (header.range.max - header.range.min) / 2 + value * slot.chosen_p;
  }
  slot.state = RewardState::kKnown;
  slot.reward = value;
  if (!(header.epsilon > 0)) return;
  slot.released = ReleaseLaw{.epsilon = header.epsilon, .low = header.low, .high = header.high};
  if (!window) return;
  slot.reward = value / window->scale;
  slot.released->low = window->low;
  slot.released->high = window->high;
  slot.released->clipped = header.clipped;
}

// Predictions have 32 bits, whose doubles have 17 digits. All readers get the nearest multiple of
// this power of ten, at most 1e-7 of the range, which has few.
class Rounding {
 public:
  explicit Rounding(const RewardRange& range) : range_(range) {
    while (parts_ * (range.max - range.min) < 1e7 && parts_ < 1e15) parts_ *= 10;
  }
  double Of(float q) const {
    return std::clamp(std::round(static_cast<double>(q) * parts_) / parts_, range_.min, range_.max);
  }

 private:
  const RewardRange range_;
  double parts_ = 1;  // of a unit; a power of ten, which is exact
};

void TakeArms(const StoredDecision& stored, const StoredSlot& from, std::uint32_t chosen,
              const Rounding& rounding, LoggedSlot& slot) {
  const std::size_t n = stored.arms();
  const std::size_t d = stored.features.size() / n;
  // Arms of a list that have neither id nor name are their positions, so each slot has all.
  const bool positions = stored.slots.size() > 1 && stored.ids.empty() && stored.names.empty();
  slot = LoggedSlot{};
  std::uint32_t left_out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (from.law[i] == kNotOffered && i != chosen && !positions) {
      ++left_out;
      continue;
    }
    if (i == chosen) slot.chosen = static_cast<std::uint32_t>(slot.p.size());
    slot.p.push_back(std::max(from.law[i], 0.0));
    if (!stored.ids.empty()) slot.ids.push_back(stored.ids[i]);
    if (!stored.names.empty()) slot.names.push_back(stored.names[i]);
    if (!stored.q.empty()) slot.q.push_back(rounding.Of(stored.q[i]));
    const auto x = stored.features.begin() + static_cast<std::ptrdiff_t>(i * d);
    slot.x.insert(slot.x.end(), x, x + static_cast<std::ptrdiff_t>(d));
  }
  slot.offered = stored.offered - left_out;
  slot.chosen_p = slot.p[slot.chosen];
  if (!stored.baseline) return;
  slot.baseline = true;
  slot.own_law = slot.p;
  std::ranges::fill(slot.p, 0.0);
  slot.p[slot.chosen] = slot.chosen_p = 1;
}

}  // namespace

void DecisionOutcome::Add(const RewardRow& row) {
  active = active || row.kind != RewardKind::kShown;
  if (row.mark != 0) mark = row.mark;
  if (row.kind == RewardKind::kEvent) value = row.value;
}

std::string HexOf(const StoredId& id) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(id.data()), id.size()));
}

bool Join(const SegmentHeader& header, const StoredDecision& stored, FindOutcome find,
          absl::Time now, LoggedDecision& out) {
  const auto outcome_of = [&](const StoredSlot& slot) { return find(slot.id); };
  const DecisionOutcome* const first = outcome_of(stored.slots.front());
  if (stored.deferred && (first == nullptr || !first->active)) return false;
  out.id = HexOf(stored.slots.front().id);
  out.time = stored.time;
  out.instance = HexOf(header.instance);
  out.epoch = stored.epoch;
  out.version = stored.version;
  out.user.clear();
  out.context = stored.context;
  out.range = header.range;
  out.named_rank = 0;
  const bool one = stored.slots.size() == 1;
  const std::size_t rank =
      one && first != nullptr ? ShownRank(stored, first->mark) : stored.shown - stored.first_rank;
  if (one) out.named_rank = stored.first_rank + static_cast<std::uint32_t>(rank);
  const Rounding rounding(header.range);
  out.slots.resize(stored.slots.size());
  for (std::size_t i = 0; i < stored.slots.size(); ++i) {
    LoggedSlot& slot = out.slots[i];
    const bool named = one && rank < stored.ranks.size();
    TakeArms(stored, stored.slots[i], named ? stored.ranks[rank].position : stored.slots[i].chosen,
             rounding, slot);
    const DecisionOutcome* const outcome = one ? first : outcome_of(stored.slots[i]);
    if (outcome == nullptr || !outcome->value) {
      const bool over = !stored.deferred && now >= stored.time + header.reported_within;
      if (over && header.closes_windows) return false;
      slot.state = over ? RewardState::kUnreported : RewardState::kPending;
      continue;
    }
    const std::size_t at = one ? rank : i;
    TakeReward(header, at < stored.ranks.size() ? stored.ranks[at].window : std::nullopt,
               *outcome->value, slot);
  }
  return true;
}

}  // namespace bandana
