// The best arms of a query to the catalogue, without scoring every arm that it matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"
#include "common/ranking/served_posterior.h"
#include "server/models/catalogue/catalogue.h"
#include "server/service/arm_set.h"
#include "server/service/named_features.h"
#include "server/service/rules/compiled_rules.h"

namespace bandana::server {

// From so many matching arms on a search costs less than scoring them all
// (bench/million_arms_bench.cc).
inline constexpr int kSearchArmsMin = 2000;

struct CatalogueSearch {
  const ArmFilter& filter;
  const NamedFeatures& named;  // the context that the arms are in
  const Catalogue& catalogue;
  const ServedPosterior& posterior;
  Whom whom;
  int top_k = 1;
  std::uint64_t tie_key = 0;
  std::span<const CompiledBoost> boosts = {};  // they are part of the scores
};

// Whether a search is worth it: the query matches many arms, and at most arms_max.
bool IsForSearch(const v1::ArmSet& arms, int arms_max, const Catalogue& catalogue,
                 const OfferRules& offer = {});

struct SearchCount {
  int arms = 0;            // that the query matches
  std::size_t scored = 0;  // of them
  std::size_t ties = 0;    // that have the best score
};
// Fills `block` and `scores` with the best arms, best first: those that LoadArms, Score and
// RankArms would find. None where every arm has to be scored (ServedPosterior::Law,
// NamedFeatures::Fold); then both are as before.
std::optional<SearchCount> SearchArms(const CatalogueSearch& search, NodePosterior& scratch,
                                      ArmBlock& block, ArmScores& scores);

}  // namespace bandana::server
