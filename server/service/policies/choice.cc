#include "server/service/policies/choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "common/bandits/joint/posterior_draws.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/selection_policy.h"
#include "common/random/buffered_bits.h"
#include "common/ranking/policies/selection_rules.h"
#include "server/service/tokens/random_buffer.h"

namespace bandana::server {
namespace {

const SelectionRule& RuleOf(const ModelSpec& spec) {
  static const auto& ucb = *new std::shared_ptr<const SelectionRule>(MakeUcbRule());
  return spec.policy == nullptr ? *ucb : *spec.policy;
}

// Uniform on [0, 1), 53 bits each, of nothing but the system's generator.
absl::Status FillUniforms(std::span<double> out) {
  std::array<std::uint64_t, kTopKMax> words;
  const std::span<std::uint64_t> used = std::span(words).first(out.size());
  for (std::size_t i = 0; i < used.size(); i += kSealedRanksMax) {
    const std::size_t part = std::min<std::size_t>(kSealedRanksMax, used.size() - i);
    BANDANA_RETURN_IF_ERROR(FillRandom(std::as_writable_bytes(used.subspan(i, part))));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::ldexp(static_cast<double>(used[i] >> 11), -53);
  }
  return absl::OkStatus();
}

absl::Status DrawPosterior(const Offer& offer, int draws, std::vector<double>& out) {
  const std::size_t n = offer.arms.arms.size();
  // Each rank goes over all draws.
  const auto ranks = static_cast<std::uint64_t>(RanksOf(offer.select.request));
  const std::uint64_t most =
      kPosteriorDrawsMax * kSealedRanksMax /
      (static_cast<std::uint64_t>(draws) * std::max<std::uint64_t>(ranks, kSealedRanksMax));
  if (n > most) {
    return InvalidArgument("arms: Thompson sampling of ", draws, " draws takes at most ", most,
                           " arms per decision, got ", n);
  }
  RealSampler sampler(BufferedBits());
  BANDANA_RETURN_IF_ERROR(DrawRewards(
      offer.posterior, {.node = offer.select.node, .keys = offer.select.keys},
      {.features = offer.arms.arms, .keys = offer.arms.keys}, draws, sampler, offer.scratch, out));
  if (offer.boosts.empty()) return absl::OkStatus();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += offer.boosts[i % n];
  return absl::OkStatus();
}

// Errors: UNAVAILABLE the model does not count events.
absl::Status FindCold(const Offer& offer, std::vector<std::uint8_t>& cold) {
  const std::shared_ptr<const ArmEventCounts> events = offer.select.model.arm_events();
  const std::size_t n = offer.arms.arms.size();
  const std::size_t parts = offer.arms.keys.size() / n;
  if (events == nullptr || parts == 0)
    return Unavailable("the model does not count events of arms");
  events->FindCold(offer.arms.keys, parts, cold);
  return absl::OkStatus();
}

// The means that a policy goes by.
std::span<const double> MeansFor(const Offer& offer, std::vector<double>& boosted) {
  if (offer.boosts.empty()) return offer.scores.means;
  boosted = offer.scores.means;
  for (std::size_t i = 0; i < boosted.size(); ++i) boosted[i] += offer.boosts[i];
  return boosted;
}

// The arms of the caller's own choice, in order; none without a baseline.
absl::StatusOr<std::vector<int>> BaselineOf(const v1::SelectRequest& request,
                                            const ArmBlock& block) {
  const std::size_t arms = block.arms.size();
  std::vector<int> own;
  const auto take = [&](std::string_view field, std::uint32_t position) -> absl::Status {
    if (block.left_out) {
      const auto found = std::ranges::find(block.positions, static_cast<int>(position));
      if (found == block.positions.end()) {
        return InvalidArgument(ToAbsl(field), ": no arm on offer has position ", position);
      }
      position = static_cast<std::uint32_t>(found - block.positions.begin());
    }
    if (position >= arms) {
      return InvalidArgument(ToAbsl(field), ": must be below the number of arms, ", arms, ", got ",
                             position);
    }
    if (std::ranges::count(own, static_cast<int>(position)) > 0) {
      return InvalidArgument(ToAbsl(field), ": has position ", position, " twice");
    }
    own.push_back(static_cast<int>(position));
    return absl::OkStatus();
  };
  if (request.has_baseline()) BANDANA_RETURN_IF_ERROR(take("baseline", request.baseline()));
  for (const std::uint32_t position : request.slot_baselines()) {
    BANDANA_RETURN_IF_ERROR(take("slot_baselines", position));
  }
  return own;
}

// Whether more was expected of another arm on offer than of this one.
bool Explores(std::span<const double> means, int first) {
  return std::ranges::any_of(means, [best = means[first]](double mean) { return mean > best; });
}

// The caller's own arms come first whatever the model says; then the others, as the model ranks
// them.
Chosen PutFirst(const std::vector<int>& own, Chosen model) {
  Chosen chosen{.ranking = own,
                .propensities = std::vector<double>(own.size(), 1),
                .agreed = {},
                .laws = std::move(model.laws)};
  for (std::size_t i = 0; i < own.size(); ++i) chosen.agreed.push_back(own[i] == model.ranking[i]);
  for (const int position : model.ranking) {
    if (chosen.ranking.size() == model.ranking.size()) break;
    if (std::ranges::count(own, position) > 0) continue;
    chosen.ranking.push_back(position);
    chosen.propensities.push_back(0);
  }
  return chosen;
}

}  // namespace

int RanksOf(const v1::SelectRequest& request) {
  const std::uint32_t asked = request.slots() > 0 ? request.slots() : request.top_k();
  return static_cast<int>(std::max(asked, 1u));
}

int SealedRanksOf(const v1::SelectRequest& request) {
  const int ranks = RanksOf(request);
  return ranks <= kSealedRanksMax ? ranks : 1;
}

bool IsPlainRanking(const Selecting& select) {
  const v1::SelectRequest& request = select.request;
  return select.model.spec().policy == nullptr && request.slots() == 0 && !request.has_baseline();
}

absl::StatusOr<Chosen> RankByScore(const Offer& offer) {
  const std::vector<double>& scores = offer.scores.scores;
  Chosen chosen{.ranking = bandana::RankArms(scores, RanksOf(offer.select.request), offer.key),
                .propensities = {},
                .agreed = {}};
  const double share = ShareOfBest(scores);
  for (std::size_t rank = 0; rank < chosen.ranking.size(); ++rank) {
    chosen.propensities.push_back(
        FirstProbability(rank, scores[chosen.ranking[rank]], scores[chosen.ranking[0]], share));
  }
  thread_local std::vector<double> boosted;
  chosen.explored = Explores(MeansFor(offer, boosted), chosen.ranking[0]);
  if (offer.select.logged == nullptr) return chosen;
  std::vector<double>& law = chosen.laws.emplace_back();
  const double best = scores[chosen.ranking[0]];
  for (const double score : scores) law.push_back(score == best ? share : 0);
  law[chosen.ranking[0]] = share;  // also where no score is a number
  return chosen;
}

absl::StatusOr<Chosen> RankByPolicy(const Offer& offer) {
  thread_local std::vector<double> draws;
  const v1::SelectRequest& request = offer.select.request;
  const SelectionRule& rule = RuleOf(offer.select.model.spec());
  const std::size_t n = offer.arms.arms.size();
  if (request.slots() > n) {
    return InvalidArgument("slots: must be at most the number of arms, ", n, ", got ",
                           request.slots());
  }
  draws.clear();
  if (rule.draws() > 0) BANDANA_RETURN_IF_ERROR(DrawPosterior(offer, rule.draws(), draws));
  std::array<double, kTopKMax> uniforms;
  const std::size_t ranks = std::min(n, static_cast<std::size_t>(RanksOf(request)));
  const std::span<double> used = std::span(uniforms).first(ranks);
  BANDANA_RETURN_IF_ERROR(FillUniforms(used));
  Chosen chosen;
  thread_local std::vector<double> boosted;
  thread_local std::vector<std::uint8_t> cold;
  if (rule.favours_cold()) BANDANA_RETURN_IF_ERROR(FindCold(offer, cold));
  const Candidates arms{.means = MeansFor(offer, boosted),
                        .scores = offer.scores.scores,
                        .draws = draws,
                        .cold = cold};
  const int slots = std::max(static_cast<int>(request.slots()), 1);
  if (offer.select.logged != nullptr) chosen.laws.resize(static_cast<std::size_t>(slots));
  for (const RankDraw& draw : DrawList(rule, arms, offer.rules, used, chosen.laws)) {
    chosen.ranking.push_back(draw.position);
    chosen.propensities.push_back(request.slots() > 0 ? draw.given : draw.first);
  }
  if (request.slots() > chosen.ranking.size()) {
    return InvalidArgument("rules.at_most: leaves ", chosen.ranking.size(), " arms for ",
                           request.slots(), " slots");
  }
  chosen.explored = Explores(arms.means, chosen.ranking[0]);
  BANDANA_ASSIGN_OR_RETURN(const std::vector<int> own, BaselineOf(request, offer.arms));
  return own.empty() ? std::move(chosen) : PutFirst(own, std::move(chosen));
}

}  // namespace bandana::server
