// Statistics and ledger of a model as operators see them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bandana/v1/admin.pb.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/design/model_spec.h"
#include "common/model/entries/counters.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/ledger.h"
#include "server/decisions/decision_log.h"
#include "server/log/update_log.h"
#include "server/models/admission/refusals.h"
#include "server/models/apply_loop.h"

namespace bandana::server {

// Fills the reports_*, *_clipped and rejection fields. Rejections that never happened are left out.
void FillCounters(const Counters::Values& values, v1::GetStatsResponse& stats);

// Fills `effects`, of models of effects; null for others. `freed_before`: keys that the model had
// freed when it was opened.
void FillEffects(const ModelSpec& spec, const EffectsPosterior* effects, std::uint64_t freed_before,
                 v1::GetStatsResponse& stats);

// Fills what the loop and its log say. Read newest-derived first: a later figure never appears
// smaller than one derived from it.
void FillProgress(const ApplyLoop& loop, const LogReader& log, v1::GetStatsResponse& stats);

void FillRefusals(const std::vector<LastingRefusal>& refusals, v1::GetStatsResponse& stats);

// Fills `decision_log`; null: the model keeps none.
void FillDecisionLog(const DecisionLog* decisions, v1::GetStatsResponse& stats);

struct LedgerFacts {
  std::uint64_t events = 0;         // accepted
  std::uint64_t events_of_one = 0;  // most of one node, over all epochs
  std::uint64_t epoch = 0;
  const DebitPolicy& debits;
  std::optional<Rho> stream;  // counters: cost of a stream
  // The cost of one event where nothing is debited; nullopt: nothing is promised.
  std::optional<PrivacyCost> event;
};

// Event-level reading: every event lies in one stream, or is randomized by itself, so that the
// releases compose in parallel. User-level readings: `epsilon_spent_user` is what one guarantee per
// event says of the k events of one user at once: k epsilon for the randomizer, the conversion of
// k^2 rho at delta for a counter, infinity beyond its range. Of private contexts no server knows k:
// every event counts as if it were one user's, and the device's ledger is the one to ask. `user`
// adds up what was debited to one principal, or its events where nothing is debited.
v1::GetLedgerResponse LedgerOf(const PublicSpec& spec, const LedgerFacts& facts,
                               const Ledger& debited);

}  // namespace bandana::server
