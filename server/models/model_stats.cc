#include "server/models/model_stats.h"

#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "common/accounting/composition.h"
#include "common/accounting/zcdp.h"
#include "common/design/wire_messages.h"

namespace bandana::server {

void FillCounters(const Counters::Values& values, v1::GetStatsResponse& stats) {
  stats.set_reports_applied(values[Counters::kApplied]);
  stats.set_reports_duplicate(values[Counters::kDuplicate]);
  stats.set_features_clipped(values[Counters::kFeaturesClipped]);
  stats.set_rewards_clipped(values[Counters::kRewardsClipped]);
  auto& rejected = *stats.mutable_reports_rejected();
  if (values[Counters::kExpired] > 0) rejected["expired"] = values[Counters::kExpired];
  for (int i = v1::RejectReason_MIN; i <= v1::RejectReason_MAX; ++i) {
    const auto reason = static_cast<v1::RejectReason>(i);
    const std::uint64_t count = values[Counters::Rejected(reason)];
    if (count > 0) rejected[absl::AsciiStrToLower(v1::RejectReason_Name(reason))] = count;
  }
}

void FillProgress(const ApplyLoop& loop, const LogReader& log, v1::GetStatsResponse& stats) {
  stats.set_posterior_version(loop.posterior()->version());
  stats.set_applied_sequence(loop.applied());
  stats.set_log_sequence(log.last().sequence);
  const ApplyLoop::Figures figures = loop.figures();
  stats.set_nodes(static_cast<std::uint32_t>(figures.nodes));
  stats.set_grams_repaired(figures.grams_repaired);
  if (figures.best_arm) stats.set_best_arm(*figures.best_arm);
}

void FillEffects(const ModelSpec& spec, const EffectsPosterior* effects, std::uint64_t freed_before,
                 v1::GetStatsResponse& stats) {
  if (effects == nullptr) return;
  const EffectsPosterior::Figures figures = effects->figures();
  v1::EffectsStats& out = *stats.mutable_effects();
  out.set_bytes(figures.bytes);
  out.set_pairs(figures.pairs);
  out.set_pairs_max(spec.effects->pairs_max);
  out.set_freed(figures.freed - freed_before);
  for (std::size_t t = 0; t < figures.blocks.size(); ++t) {
    v1::EffectStats& effect = *out.add_effects();
    effect.set_name(spec.effects->terms[t].effect.name);
    effect.set_blocks(figures.blocks[t]);
    effect.set_prior_variance(figures.prior_variances[t]);
    effect.set_weight(figures.weights[t]);
  }
}

void FillDecisionLog(const DecisionLog* decisions, v1::GetStatsResponse& stats) {
  if (decisions == nullptr) return;
  const DecisionLog::Figures figures = decisions->figures();
  v1::DecisionLogStats& out = *stats.mutable_decision_log();
  out.set_lines(figures.lines);
  out.set_lost(figures.lost);
  out.set_bytes(figures.bytes);
  if (figures.oldest == absl::InfiniteFuture()) return;
  out.mutable_oldest()->set_seconds(absl::ToUnixSeconds(figures.oldest));
}

void FillRefusals(const std::vector<LastingRefusal>& refusals, v1::GetStatsResponse& stats) {
  for (const LastingRefusal& refusal : refusals) {
    v1::Refusal& out = *stats.add_refusals();
    out.set_reason(std::string(NameOf(refusal.reason)));
    out.set_text(refusal.text);
    out.set_remedy(refusal.remedy);
  }
}

namespace {

double UserEpsilon(const PublicSpec& spec, const LedgerFacts& facts) {
  const std::uint64_t k = facts.events_of_one;
  if (k == 0) return 0;
  if (facts.event && facts.event->rho) {
    const auto sum = ZcdpEpsilon({facts.event->rho->value * static_cast<double>(k)}, spec.delta);
    return sum.ok() ? sum->value : std::numeric_limits<double>::infinity();
  }
  if (!facts.stream) return static_cast<double>(k) * spec.epsilon.value;
  const auto epsilon = ZcdpEpsilon(GroupZcdp(*facts.stream, k), spec.delta);
  return epsilon.ok() ? epsilon->value : std::numeric_limits<double>::infinity();
}

}  // namespace

v1::GetLedgerResponse LedgerOf(const PublicSpec& spec, const LedgerFacts& facts,
                               const Ledger& debited) {
  v1::GetLedgerResponse ledger;
  ledger.set_mode(ToProto(spec.mode));
  ledger.set_mechanism(ToProto(spec.mechanism));
  ledger.set_guarantee(spec.guarantee);
  ledger.set_epsilon_per_event(spec.epsilon.value);
  ledger.set_delta_per_event(spec.delta.value);
  if (facts.events > 0) {
    ledger.set_epsilon_spent_event(spec.epsilon.value);
    ledger.set_delta_spent_event(spec.delta.value);
  }
  ledger.set_events(facts.events);
  ledger.set_events_of_one_user_max(facts.events_of_one);
  ledger.set_epsilon_spent_user(UserEpsilon(spec, facts));
  ledger.set_epoch(facts.epoch);
  ledger.set_research(spec.research);
  if (facts.debits.debits()) {
    debited.Fill(spec.delta.value, facts.debits.principal(), ledger);
  } else if (facts.event) {
    const auto totals = Compose(PrivacyTotals{}, *facts.event, facts.events_of_one);
    if (totals.ok()) FillReadings(*totals, spec.delta.value, *ledger.mutable_user());
  }
  return ledger;
}

}  // namespace bandana::server
