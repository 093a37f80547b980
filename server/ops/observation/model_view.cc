#include "server/ops/observation/model_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/design/alias.h"
#include "common/design/mode_limits.h"
#include "common/design/user_nodes.h"
#include "common/promise/event_rule.h"
#include "common/promise/mechanism.h"

namespace bandana::server {
namespace {

constexpr int kNodesLookedAt = 64;

// A released figure: what is learnt moves it away from 0.
std::optional<double> MeanNorm(const ServedPosterior& posterior) {
  const int nodes = std::min(posterior.nodes(), kNodesLookedAt);
  if (nodes == 0) return std::nullopt;
  double sum = 0;
  NodePosterior scratch;
  for (int node = 0; node < nodes; ++node) {
    double square = 0;
    for (const double entry : posterior.Of({.node = node}, scratch).mean) square += entry * entry;
    sum += std::sqrt(square);
  }
  return sum / nodes;
}

void SetBudget(const std::optional<BudgetUse>& budget, ModelView& view) {
  if (!budget) return;
  view.budget_used = static_cast<double>(budget->used) / static_cast<double>(budget->limit);
  view.budget = absl::StrCat(
      budget->used, " of ", budget->limit,
      budget->of == BudgetUse::Of::kUser ? " events of one user" : " steps of one stream");
}

void SetUserGroups(const ModelSpec& spec, const v1::GetStatsResponse& stats, ModelView& view) {
  if (!stats.has_user_groups()) return;
  const v1::UserGroupsStats& groups = stats.user_groups();
  view.user_groups = {.users = groups.users(),
                      .users_max = static_cast<std::uint64_t>(spec.effects->users_max),
                      .decisions_without_groups = groups.decisions_without_groups(),
                      .values = {groups.values().begin(), groups.values().end()}};
}

void SetEffects(const v1::GetStatsResponse& stats, ModelView& view) {
  if (!stats.has_effects()) return;
  const v1::EffectsStats& effects = stats.effects();
  view.effects = {.bytes = effects.bytes(),
                  .pairs = effects.pairs(),
                  .pairs_max = effects.pairs_max(),
                  .freed = effects.freed(),
                  .blocks = {}};
  for (const v1::EffectStats& effect : effects.effects()) {
    view.effects->blocks.emplace_back(effect.name(), effect.blocks());
  }
}

void SetChoices(const v1::GetStatsResponse& stats, ModelView& view) {
  if (stats.has_choices()) {
    view.choices = {.decisions = stats.choices().decisions(),
                    .ranked = stats.choices().ranked(),
                    .explored = stats.choices().explored()};
  }
  if (stats.has_apprentice()) {
    view.apprentice = {.decisions = stats.apprentice().decisions(),
                       .agreements = stats.apprentice().agreements()};
  }
}

ModelView ViewOf(const ServedModel& model, const EffectLooks& looks) {
  const PublicSpec& spec = model.spec().public_spec;
  const v1::GetStatsResponse stats = model.Stats();
  ModelView view;
  view.name = spec.name;
  view.mode = ModeName(spec.mode);
  view.mechanism = spec.made->name();
  view.guarantee = spec.guarantee;
  view.plain_names = LimitsOf(spec.mode).plain_names.empty();
  view.epsilon = spec.epsilon.value;
  view.delta = spec.delta.value;
  view.research = spec.research;
  const v1::GetLedgerResponse ledger = model.Ledger();
  view.epsilon_spent_event = ledger.epsilon_spent_event();
  view.epsilon_spent_user = ledger.epsilon_spent_user();
  view.users_unknown = PoolsUsers(model.spec());
  SetBudget(model.Budget(), view);
  view.rewards = model.rewards();
  view.places = model.places();
  view.learnt = model.learnt_rewards();
  SetChoices(stats, view);
  if (!view.rewards) view.posterior_norm = MeanNorm(*model.posterior());
  const v1::LedgerReadings& user = ledger.user();
  if (user.has_epsilon_pure()) view.epsilon_principal["pure"] = user.epsilon_pure();
  if (user.has_epsilon_gaussian()) view.epsilon_principal["gaussian"] = user.epsilon_gaussian();
  if (user.has_epsilon_zcdp()) view.epsilon_principal["zcdp"] = user.epsilon_zcdp();
  view.dimension = spec.dimension;
  view.nodes = stats.nodes();
  view.arms = stats.arms();
  view.epoch = stats.epoch();
  view.reports_applied = stats.reports_applied();
  view.reports_duplicate = stats.reports_duplicate();
  view.reports_rejected = {stats.reports_rejected().begin(), stats.reports_rejected().end()};
  // The two counters are read one after the other: an entry applied in between must not make the
  // lag negative.
  view.log_sequence = std::max(stats.log_sequence(), stats.applied_sequence());
  view.applied_sequence = stats.applied_sequence();
  view.posterior_version = stats.posterior_version();
  view.log_queue = model.log_queue();
  view.decisions_open = stats.decisions_open();
  view.decisions_waiting = stats.decisions_waiting();
  view.closes_windows = ClosesWindows(model.spec().public_spec);
  view.features_clipped = stats.features_clipped();
  for (const v1::FeatureFieldStats& field : stats.features()) {
    view.fields.push_back({.name = field.name(),
                           .values = field.values(),
                           .missing = field.missing(),
                           .unknown = field.unknown(),
                           .out_of_bounds = field.out_of_bounds()});
  }
  view.grams_repaired = stats.grams_repaired();
  SetUserGroups(model.spec(), stats, view);
  SetEffects(stats, view);
  if (stats.has_decision_log()) {
    view.decision_log = {.lines = stats.decision_log().lines(),
                         .lost = stats.decision_log().lost(),
                         .bytes = stats.decision_log().bytes()};
  }
  if (stats.has_lift()) view.lift = LiftViewOf(stats.lift());
  if (looks.values > 0 && (looks.model.empty() || looks.model == view.name))
    view.looks = model.Look(looks.values);
  for (const LastingRefusal& refusal : model.Refusals()) {
    view.refusals.push_back({.reason = std::string(NameOf(refusal.reason)),
                             .text = refusal.text,
                             .remedy = refusal.remedy,
                             .since = std::nullopt});
  }
  if (stats.has_follower()) {
    view.followed = {.owner = stats.follower().owner(),
                     .staleness_seconds = stats.follower().staleness_seconds()};
  }
  const absl::Status health = model.Health();
  view.failure = std::string(health.message());
  view.passes = Passes(health);
  return view;
}

void SetAliases(const AliasSpec& alias, std::vector<ModelView>& views) {
  double sum = 0;
  for (const AliasShare& share : alias.shares) sum += share.weight;
  for (const AliasShare& share : alias.shares) {
    const auto view = std::ranges::find(views, share.model, &ModelView::name);
    if (view == views.end()) continue;
    view->aliases.push_back(
        absl::StrCat(alias.name, absl::StrFormat(" (%.3g %%)", 100 * share.weight / sum)));
  }
}

}  // namespace

std::vector<ModelView> ViewModels(const ModelRegistry& registry, const EffectLooks& looks) {
  std::vector<ModelView> views;
  for (const auto& model : registry.List()) views.push_back(ViewOf(*model, looks));
  for (const AbsentModel& absent : registry.Absent()) {
    ModelView& view = views.emplace_back();
    view.name = absent.name;
    view.failure = std::string(absent.why.message());
    view.passes = absent.opening;
    if (absent.opening) continue;
    view.refusals.push_back({.reason = std::string(kClosedReason),
                             .text = view.failure,
                             .remedy = "it is tried again each minute where the reason may pass; "
                                       "SIGHUP tries all",
                             .since = std::nullopt});
  }
  // The two lists are read one after the other: a model that was opened in between is in both, and
  // the open one comes first.
  std::stable_sort(views.begin(), views.end(),
                   [](const ModelView& a, const ModelView& b) { return a.name < b.name; });
  const auto same = [](const ModelView& a, const ModelView& b) { return a.name == b.name; };
  views.erase(std::unique(views.begin(), views.end(), same), views.end());
  for (const AliasSpec& alias : registry.ListAliases()) SetAliases(alias, views);
  return views;
}

}  // namespace bandana::server
