// How the arms of one decision are chosen once they are scored: by UCB, by the model's policy, for
// several slots, or by the caller itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ranking/policies/list_rules.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"
#include "common/ranking/served_posterior.h"
#include "server/service/arm_set.h"
#include "server/service/selection.h"

namespace bandana::server {

// Scored arms on offer, and what they were scored by: released values, which alone may decide.
struct Offer {
  const Selecting& select;
  const ServedPosterior& posterior;
  const ArmBlock& arms;
  const ArmScores& scores;
  NodePosterior& scratch;
  const ListRules& rules;
  std::uint64_t key = 0;  // random bits of the decision
  // Added to what the policy chooses by; none, or one per arm. They are part of `scores` already.
  std::span<const double> boosts = {};
};

// The chosen ones of the arms on offer, best first; per slot where there are slots.
struct Chosen {
  std::vector<int> ranking;          // positions among those on offer
  std::vector<double> propensities;  // SelectResponse.propensities
  // With a baseline, one per arm of the caller's own, first in the ranking: whether the model would
  // have chosen it.
  std::vector<bool> agreed;
  // Where the decision is logged: the model's own law of the first rank, or of each slot, n
  // probabilities, kArmLeftOut for an arm that it could not get. After a search, of the arms found.
  std::vector<std::vector<double>> laws;
  int offered = 0;  // after a search: how many arms were on offer; else 0
  // Whether the model's first arm is not among those that it expects most of, boosts included;
  // nothing where the caller, or a search, chose.
  std::optional<bool> explored;
  bool expects = true;  // scores have the rewards that the model expects
};

// How many arms the request asks for: its slots, or its top_k.
int RanksOf(const v1::SelectRequest& request);
// So many of them have their arm in the token: all, or the one that is shown where they are more
// than kSealedRanksMax.
int SealedRanksOf(const v1::SelectRequest& request);

// Whether arms are chosen by their scores alone, unless rules of the list say more: a search that
// finds the best will do.
bool IsPlainRanking(const Selecting& select);

// The best scores first. Ties fall by the key.
absl::StatusOr<Chosen> RankByScore(const Offer& offer);
// By the policy of the model and the rules of the list, for its slots, then the caller's baseline.
// Draws by SystemBits. Errors: INVALID_ARGUMENT more slots than arms or than the rules allow, a
// baseline that is no arm on offer, too many arms for draws of the posterior; UNAVAILABLE no
// randomness.
absl::StatusOr<Chosen> RankByPolicy(const Offer& offer);

}  // namespace bandana::server
