#include "server/service/arm_selection.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "common/bandits/mab/arm_event.h"
#include "common/bandits/mab/arm_policy.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "common/ranking/policies/draw_arm.h"
#include "common/ranking/scoring.h"
#include "server/service/arm_set.h"
#include "server/service/catalogue_search.h"
#include "server/service/decision_rules.h"
#include "server/service/explanation.h"
#include "server/service/logged_offer.h"
#include "server/service/named_features.h"
#include "server/service/policies/choice.h"
#include "server/service/rules/compiled_rules.h"

namespace bandana::server {
namespace {

// Memory that a thread reuses from decision to decision.
struct Scratch {
  ArmBlock arms;
  NodePosterior posterior;
  ArmScores scores;
  NamedFeatures named;
  CompiledRules rules;
  ListRules list_rules;
  std::vector<double> boosts;
};

using Choose = absl::StatusOr<Chosen> (*)(const Offer& offer);

// By scores alone where nothing else decides.
absl::StatusOr<Chosen> RankArmsOf(const Offer& offer) {
  const bool plain = IsPlainRanking(offer.select) && !offer.rules.any();
  return plain ? RankByScore(offer) : RankByPolicy(offer);
}

// Models of arms: scores are the probabilities of the arms on offer, up to a factor. Where none of
// them has any, each is as likely. Errors: INVALID_ARGUMENT an arm that is no unit vector, or twice
// the same.
absl::StatusOr<Chosen> Draw(const Offer& offer) {
  const int dimension = offer.select.model.spec().public_spec.dimension;
  std::vector<double> law = offer.scores.means;
  std::vector<bool> offered(static_cast<std::size_t>(dimension));
  double total = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const int arm = ArmOf({offer.arms.arms[i], static_cast<std::size_t>(dimension)});
    if (arm < 0) return InvalidArgument("arms: arm ", i, " must be a unit vector");
    if (offered[arm]) return InvalidArgument("arms: arm ", i, " is there twice");
    offered[arm] = true;
    total += law[i];
  }
  for (double& p : law) p = total > 0 ? p / total : 1.0 / static_cast<double>(law.size());
  const int position = DrawArm(law, std::ldexp(static_cast<double>(offer.key >> 11), -53));
  Chosen chosen{.ranking = {position}, .propensities = {law[position]}, .agreed = {}};
  chosen.expects = false;
  if (offer.select.logged != nullptr) chosen.laws.push_back(std::move(law));
  return chosen;
}

void FillResponse(const Scratch& scratch, const std::vector<int>& ranking, const Decision& decision,
                  v1::SelectResponse& response) {
  const ArmBlock& arms = scratch.arms;
  const ArmScores& scores = scratch.scores;
  for (std::size_t rank = 0; rank < ranking.size(); ++rank) {
    const auto position = static_cast<std::size_t>(ranking[rank]);
    response.add_positions(static_cast<std::uint32_t>(
        arms.positions.empty() ? ranking[rank] : arms.positions[position]));
    if (!arms.ids.empty()) response.add_arm_ids(arms.ids[position]);
    response.add_scores(scores.scores[position]);
    response.add_means(scores.means[position]);
    response.add_widths(scores.widths[position]);
    response.add_propensities(decision.arms[rank].propensity);
    if (const auto& window = decision.arms[rank].window) {
      response.add_reward_windows(window->min);
      response.add_reward_windows(window->max);
    }
  }
}

// Scores every arm on offer, and chooses of them.
absl::StatusOr<Chosen> ChooseOfAll(Choose choose, const Selecting& select,
                                   const Catalogue& catalogue, const ServedPosterior& posterior,
                                   std::uint64_t key, Scratch& scratch) {
  const CompiledRules& compiled = scratch.rules;
  const PublicSpec& rules = select.model.spec().public_spec;
  const FeatureBounds bounds{.dimension = rules.dimension,
                             .l2_max = rules.feature_l2_max,
                             .reject = rules.reject_features,
                             .zero_when_not_finite = ModeOf(rules.mode).hides_contexts};
  BANDANA_RETURN_IF_ERROR(scratch.named.Load(select.request.arms(), bounds, select.arms_max,
                                             compiled.offer, catalogue, scratch.arms));
  if (select.request.arms().has_inline_arms()) {
    select.model.CountVectors(scratch.arms.arms.size(), scratch.arms.clipped);
  }
  posterior.Score({.node = select.node, .keys = select.keys},
                  {.features = scratch.arms.arms, .keys = scratch.arms.keys}, scratch.posterior,
                  scratch.scores);
  ReadBoosts(compiled, catalogue, scratch.arms, scratch.boosts);
  for (std::size_t i = 0; i < scratch.boosts.size(); ++i) {
    scratch.scores.scores[i] += scratch.boosts[i];
  }
  FindListRules(compiled, catalogue, scratch.arms, scratch.list_rules);
  return choose({.select = select,
                 .posterior = posterior,
                 .arms = scratch.arms,
                 .scores = scratch.scores,
                 .scratch = scratch.posterior,
                 .rules = scratch.list_rules,
                 .key = key,
                 .boosts = scratch.boosts});
}

// As a ranking of all, where a search finds the best: they fill the scratch, in order.
std::optional<Chosen> SearchBest(const Selecting& select, const Catalogue& catalogue,
                                 const ServedPosterior& posterior, std::uint64_t key,
                                 Scratch& scratch) {
  const CompiledRules& compiled = scratch.rules;
  if (!IsPlainRanking(select) || !compiled.plain_list()) return std::nullopt;
  const v1::ArmSet& arms = select.request.arms();
  if (!IsForSearch(arms, select.arms_max, catalogue, compiled.offer)) return std::nullopt;
  const ArmFilter filter = FilterOf(arms.catalogue_query(), compiled.offer);
  const auto found = SearchArms({.filter = filter,
                                 .named = scratch.named,
                                 .catalogue = catalogue,
                                 .posterior = posterior,
                                 .whom = {.node = select.node, .keys = select.keys},
                                 .top_k = RanksOf(select.request),
                                 .tie_key = key,
                                 .boosts = compiled.boosts},
                                scratch.posterior, scratch.arms, scratch.scores);
  if (!found) return std::nullopt;
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(found->ties, 1));
  const std::vector<double>& scores = scratch.scores.scores;
  Chosen best;
  for (std::size_t i = 0; i < scratch.arms.arms.size(); ++i) {
    best.ranking.push_back(static_cast<int>(i));
    best.propensities.push_back(FirstProbability(i, scores[i], scores[0], share));
  }
  best.offered = found->arms;
  if (select.logged != nullptr) best.laws.push_back(best.propensities);
  return best;
}

using Search = decltype(&SearchBest);

std::optional<Chosen> SearchNothing(const Selecting&, const Catalogue&, const ServedPosterior&,
                                    std::uint64_t, Scratch&) {
  return std::nullopt;
}

absl::Status ChooseArms(Search search, Choose choose, const Selecting& select, Decision& decision,
                        v1::SelectResponse& response) {
  thread_local Scratch scratch;
  const ModelSpec& spec = select.model.spec();
  const PublicSpec& rules = spec.public_spec;
  // Held until the end: an ArmBlock may point into it.
  const std::shared_ptr<const Catalogue> catalogue = select.model.catalogue();
  const std::shared_ptr<const ServedPosterior> posterior = select.model.posterior();
  std::uint64_t key = 0;
  std::memcpy(&key, decision.id.data(), sizeof key);
  BANDANA_RETURN_IF_ERROR(scratch.named.Begin(rules, select.request));
  BANDANA_RETURN_IF_ERROR(CompileRules(select, *catalogue, scratch.rules));
  std::optional<Chosen> found = search(select, *catalogue, *posterior, key, scratch);
  if (!found) {
    BANDANA_ASSIGN_OR_RETURN(found,
                             ChooseOfAll(choose, select, *catalogue, *posterior, key, scratch));
  }
  const Chosen& chosen = *found;
  const std::vector<int>& ranking = chosen.ranking;
  if (select.request.shown() >= ranking.size()) {
    return InvalidArgument("shown: must be below the number of arms, ", ranking.size(), ", got ",
                           select.request.shown());
  }
  decision.arms.resize(ranking.size());
  const auto d = static_cast<std::size_t>(rules.dimension);
  const std::size_t parts = scratch.arms.keys.size() / scratch.arms.arms.size();
  const RewardReports* const rewards = rules.made->rewards();
  for (std::size_t rank = 0; rank < ranking.size(); ++rank) {
    const auto position = static_cast<std::size_t>(ranking[rank]);
    const double* x = scratch.arms.arms[position];
    SealedArm& arm = decision.arms[rank];
    arm.propensity = chosen.propensities[rank];
    arm.agreed.reset();
    if (rank < chosen.agreed.size()) arm.agreed = chosen.agreed[rank];
    arm.features.assign(x, x + d);
    arm.keys.assign(select.keys.begin(), select.keys.end());
    const auto own = std::span(scratch.arms.keys).subspan(position * parts, parts);
    arm.keys.insert(arm.keys.end(), own.begin(), own.end());
    if (parts > 0 && !scratch.arms.names.empty() && Learns(select.request)) {
      select.model.NoteName(own[0], scratch.arms.names[position]);
    }
    arm.window.reset();
    if (rewards == nullptr) continue;
    arm.window = rewards->WindowFor(scratch.scores.means[position], scratch.scores.widths[position],
                                    spec.reward_stddev);
  }
  FillResponse(scratch, ranking, decision, response);
  scratch.named.Fill(scratch.arms, *catalogue, ranking, response);
  if (select.request.explain()) {
    FillExplanations({.rules = rules,
                      .posterior = *posterior,
                      .whom = {.node = select.node, .keys = select.keys},
                      .arms = scratch.arms,
                      .ranking = ranking,
                      .means = scratch.scores.means},
                     scratch.posterior, response);
  }
  if (SealedRanksOf(select.request) < RanksOf(select.request)) {
    decision.arms = {std::move(decision.arms[select.request.shown()])};
  }
  if (select.logged != nullptr) {
    FillOffer(select, scratch.arms, scratch.scores, chosen, decision, *select.logged);
    select.logged->version = posterior->version();
  }
  if (select.explored != nullptr) *select.explored = chosen.explored;
  response.set_arms_clipped(static_cast<std::uint32_t>(scratch.arms.clipped));
  select.model.CountValues(scratch.named.counts());
  response.set_posterior_version(posterior->version());
  return absl::OkStatus();
}

}  // namespace

absl::Status RankArms(const Selecting& select, Decision& decision, v1::SelectResponse& response) {
  return ChooseArms(SearchBest, RankArmsOf, select, decision, response);
}

absl::Status DrawArms(const Selecting& select, Decision& decision, v1::SelectResponse& response) {
  if (select.request.explain()) {
    return InvalidArgument("explain: the model draws its arms by chance, no score has parts");
  }
  return ChooseArms(SearchNothing, Draw, select, decision, response);
}

}  // namespace bandana::server
