#include "server/service/logged_offer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/sha256.h"
#include "common/design/family.h"
#include "common/promise/mechanism.h"
#include "common/promise/reward_reports.h"
#include "common/ranking/policies/list_rules.h"
#include "server/service/context_json.h"
#include "server/service/decision_rules.h"

namespace bandana::server {
namespace {

static_assert(kArmLeftOut == kNotOffered);

// Positions of the arms that are kept, ascending: at most `most`, `first` among them, then the
// likeliest.
std::vector<int> KeptArms(const Chosen& chosen, std::span<const int> first, std::size_t most) {
  const std::size_t arms = chosen.laws.front().size();
  std::vector<int> kept(arms);
  std::iota(kept.begin(), kept.end(), 0);
  if (arms <= most) return kept;
  std::vector<double> worth(arms);
  for (const std::vector<double>& law : chosen.laws) {
    for (std::size_t i = 0; i < law.size(); ++i) worth[i] += std::max(law[i], 0.0);
  }
  for (const int position : first) worth[position] = std::numeric_limits<double>::infinity();
  const auto more = [&](int a, int b) {
    return worth[a] > worth[b] || (worth[a] == worth[b] && a < b);
  };
  const std::size_t stay = std::max(most, first.size());
  std::ranges::nth_element(kept, kept.begin() + static_cast<std::ptrdiff_t>(stay - 1), more);
  kept.resize(stay);
  std::ranges::sort(kept);
  return kept;
}

// The ids of the arms on offer, by place; nothing where not every arm has one.
std::vector<std::uint32_t> IdsOf(const v1::SelectRequest& request, const ArmBlock& arms) {
  std::vector<std::uint32_t> ids = arms.ids;
  const auto& given = request.arms().inline_arms().ids();
  for (std::size_t i = 0; !given.empty() && i < arms.arms.size(); ++i) {
    const std::size_t position =
        arms.positions.empty() ? i : static_cast<std::size_t>(arms.positions[i]);
    ids.push_back(given[static_cast<int>(position)]);
  }
  if (std::ranges::count(ids, kNoArmId) > 0) ids.clear();
  return ids;
}

// Arms that have neither ids nor names are their positions.
void FillNames(const v1::SelectRequest& request, const ArmBlock& arms, const std::vector<int>& kept,
               StoredDecision& out) {
  out.ids.clear();
  out.names.clear();
  if (!arms.names.empty()) {
    for (const int i : kept) out.names.emplace_back(arms.names[i]);
    return;
  }
  const std::vector<std::uint32_t> ids = IdsOf(request, arms);
  for (const int i : kept) {
    if (!ids.empty()) out.ids.push_back(ids[i]);
  }
}

void FillPredictions(const PublicSpec& rules, const std::vector<double>& means,
                     const std::vector<int>& kept, StoredDecision& out) {
  out.q.clear();
  for (const int i : kept) {
    if (std::isnan(means[i])) return out.q.clear();  // the estimate makes no sense
    out.q.push_back(
        static_cast<float>(std::clamp(means[i], rules.reward_range.min, rules.reward_range.max)));
  }
}

void FillContexts(const Selecting& select, const ArmBlock& arms, const std::vector<int>& kept,
                  StoredDecision& out) {
  out.features.clear();
  out.context.clear();
  const ModelSpec& spec = select.model.spec();
  if (!spec.decision_log->contexts) return;
  const v1::SelectRequest& request = select.request;
  if (request.arms().has_inline_arms() || !arms.names.empty()) {
    for (const int i : kept) {
      out.features.insert(out.features.end(), arms.arms[i],
                          arms.arms[i] + spec.public_spec.dimension);
    }
  }
  if (request.has_context()) AppendContext(request.context(), out.context);
}

// Where an event of the arm would be read, or nothing.
std::optional<StoredWindow> WindowOf(const ModelSpec& spec,
                                     const std::optional<RewardRange>& window) {
  const RewardReports* const rewards = spec.public_spec.made->rewards();
  if (rewards == nullptr || !window) return std::nullopt;
  const auto read = [&](std::uint32_t output) {
    return rewards->Read({.output = output, .window = window}, spec.reward_stddev);
  };
  const auto low = read(0);
  const auto high = read(rewards->outputs() - 1);
  const auto* const least = std::get_if<RewardEvent>(&low);
  const auto* const most = std::get_if<RewardEvent>(&high);
  if (least == nullptr || most == nullptr) return std::nullopt;
  const double scale = FamilyOf(spec).Weigh(*least).scale;
  return StoredWindow{.low = std::min(least->value, most->value),
                      .high = std::max(least->value, most->value),
                      .scale = scale};
}

// As an entry of the arm's event has it.
std::uint32_t MarkOf(const SealedArm& arm, double scale) {
  const auto bytes = [](const auto& numbers) { return AsChars(std::as_bytes(std::span(numbers))); };
  if (scale == 1) return ArmMark(bytes(arm.features), bytes(arm.keys));
  std::vector<double> scaled = arm.features;
  for (double& value : scaled) value *= scale;
  return ArmMark(bytes(scaled), bytes(arm.keys));
}

void FillRanks(const ModelSpec& spec, const std::vector<int>& places, const Decision& decision,
               StoredDecision& out) {
  out.ranks.clear();
  for (std::size_t i = 0; i < decision.arms.size(); ++i) {
    const SealedArm& arm = decision.arms[i];
    StoredRank& rank = out.ranks.emplace_back();
    rank.position = static_cast<std::uint32_t>(places[i]);
    rank.window = WindowOf(spec, arm.window);
    if (decision.arms.size() > 1) rank.mark = MarkOf(arm, rank.window ? rank.window->scale : 1);
  }
  const bool windows = std::ranges::all_of(
      out.ranks, [](const StoredRank& rank) { return rank.window.has_value(); });
  if (windows) return;
  for (StoredRank& rank : out.ranks) rank.window.reset();
  if (out.ranks.size() == 1) out.ranks.clear();
}

}  // namespace

bool IsLogged(const SelectingModel& model, const v1::SelectRequest& request) {
  return model.spec().decision_log.has_value() && Learns(request);
}

void FillOffer(const Selecting& select, const ArmBlock& arms, const ArmScores& scores,
               const Chosen& chosen, const Decision& decision, StoredDecision& out) {
  const ModelSpec& spec = select.model.spec();
  const std::size_t n = chosen.laws.front().size();
  // A token that carries one rank alone carries the one that is shown.
  const bool alone = decision.arms.size() < chosen.ranking.size();
  out.shown = select.request.shown();
  out.first_rank = alone ? out.shown : 0;
  std::vector<int> sealed;
  for (std::size_t i = 0; i < decision.arms.size(); ++i) {
    sealed.push_back(chosen.ranking[out.first_rank + i]);
  }
  std::vector<int> needed = sealed;
  if (alone) needed.push_back(chosen.ranking.front());
  const std::vector<int> kept =
      KeptArms(chosen, needed, static_cast<std::size_t>(spec.decision_log->arms_max));
  std::vector<std::uint32_t> place(n);  // by position
  for (std::size_t i = 0; i < kept.size(); ++i) place[kept[i]] = static_cast<std::uint32_t>(i);
  out.offered = static_cast<std::uint32_t>(chosen.offered > 0 ? chosen.offered : n);
  out.baseline = !chosen.agreed.empty();
  FillNames(select.request, arms, kept, out);
  out.q.clear();
  if (chosen.expects) FillPredictions(spec.public_spec, scores.means, kept, out);
  FillContexts(select, arms, kept, out);
  out.slots.resize(chosen.laws.size());
  for (std::size_t slot = 0; slot < chosen.laws.size(); ++slot) {
    StoredSlot& to = out.slots[slot];
    to.chosen = place[chosen.ranking[slot]];
    to.law.clear();
    for (const int i : kept) to.law.push_back(chosen.laws[slot][i]);
  }
  for (int& position : sealed) position = static_cast<int>(place[position]);
  FillRanks(spec, sealed, decision, out);
}

void FillSlots(std::span<const Decision> slots, StoredDecision& out) {
  const Decision& first = slots.front();
  out.time = first.time;
  out.epoch = first.epoch;
  out.deferred = first.deferred;
  for (std::size_t i = 0; i < slots.size(); ++i) out.slots[i].id = slots[i].id;
}

}  // namespace bandana::server
