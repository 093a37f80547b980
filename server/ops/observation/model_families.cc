#include "server/ops/observation/model_families.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "common/base/limits.h"

namespace bandana::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// One family under construction.
class Family {
 public:
  Family(MetricType type, std::string name, std::string help) {
    family_.type = type;
    family_.name = std::move(name);
    family_.help = std::move(help);
  }
  Family& Add(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (family_.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  void MoveTo(std::vector<MetricFamily>& out) {
    if (!family_.metric.empty()) out.push_back(std::move(family_));
  }

 private:
  MetricFamily family_;
};

void AddSingle(MetricType type, const char* name, const char* help, double value,
               std::vector<MetricFamily>& out) {
  Family(type, name, help).Add({}, value).MoveTo(out);
}

// One number of each model that has a `Part`: the model itself, or an optional member of it.
template <typename Part>
struct PartMetric {
  MetricType type;
  const char* name;
  const char* help;
  double (*value)(const Part&);
};
using ModelMetric = PartMetric<ModelView>;

template <typename Part, std::size_t kCount>
void AppendMetrics(const std::vector<ModelView>& models, std::optional<Part> ModelView::*part,
                   const PartMetric<Part> (&metrics)[kCount], std::vector<MetricFamily>& out) {
  for (const PartMetric<Part>& metric : metrics) {
    Family family(metric.type, metric.name, metric.help);
    for (const ModelView& model : models) {
      if (const auto& of = model.*part) family.Add({{"model", model.name}}, metric.value(*of));
    }
    family.MoveTo(out);
  }
}

static_assert(kAppendQueueMax == 16384);  // in a help text

const ModelMetric kModelMetrics[] = {
    {MetricType::Counter, "bandana_model_reports_applied_total",
     "Reports accepted, each decision once; of private models with a reward window: windows closed",
     [](const ModelView& m) { return static_cast<double>(m.reports_applied); }},
    {MetricType::Counter, "bandana_model_reports_duplicate_total",
     "Reports of decisions that were reported before",
     [](const ModelView& m) { return static_cast<double>(m.reports_duplicate); }},
    {MetricType::Counter, "bandana_model_features_clipped_total",
     "Feature vectors that were scaled down to feature_l2_max",
     [](const ModelView& m) { return static_cast<double>(m.features_clipped); }},
    {MetricType::Counter, "bandana_model_grams_repaired_total",
     "Released Gram matrices that were not positive semidefinite and were made so, since the start",
     [](const ModelView& m) { return static_cast<double>(m.grams_repaired); }},
    {MetricType::Gauge, "bandana_model_log_sequence", "Last durable log entry",
     [](const ModelView& m) { return static_cast<double>(m.log_sequence); }},
    {MetricType::Gauge, "bandana_model_applied_sequence", "Last log entry in the statistics",
     [](const ModelView& m) { return static_cast<double>(m.applied_sequence); }},
    {MetricType::Gauge, "bandana_model_apply_lag_entries",
     "Durable log entries that are not in the statistics yet",
     [](const ModelView& m) { return static_cast<double>(m.apply_lag()); }},
    {MetricType::Gauge, "bandana_model_log_queue_records",
     "Records that wait for the disk; reports are answered UNAVAILABLE beyond 16384",
     [](const ModelView& m) { return static_cast<double>(m.log_queue); }},
    {MetricType::Gauge, "bandana_model_posterior_version",
     "Last log entry in the published posterior",
     [](const ModelView& m) { return static_cast<double>(m.posterior_version); }},
    {MetricType::Gauge, "bandana_model_posterior_age_seconds",
     "Time since the posterior last moved while entries wait for it; 0 when none does",
     [](const ModelView& m) { return m.posterior_age_seconds; }},
    {MetricType::Gauge, "bandana_model_epsilon_spent_event",
     "Epsilon of any one event so far, the largest",
     [](const ModelView& m) { return m.epsilon_spent_event; }},
    {MetricType::Gauge, "bandana_model_epsilon_spent_user",
     "Epsilon of all events of one user together, the largest over users; where users share a "
     "node, as if its events were one user's",
     [](const ModelView& m) { return m.epsilon_spent_user; }},
    {MetricType::Gauge, "bandana_model_decisions_open", "Decision ids remembered",
     [](const ModelView& m) { return static_cast<double>(m.decisions_open); }},
    {MetricType::Gauge, "bandana_model_decisions_waiting",
     "Decisions that are not learnt yet: their window is open, or no report of them came",
     [](const ModelView& m) { return static_cast<double>(m.decisions_waiting); }},
    {MetricType::Gauge, "bandana_model_nodes", "Users, or clusters of users, of the model",
     [](const ModelView& m) { return static_cast<double>(m.nodes); }},
    {MetricType::Gauge, "bandana_model_arms", "Arms in the catalogue",
     [](const ModelView& m) { return static_cast<double>(m.arms); }},
    {MetricType::Gauge, "bandana_model_epoch", "Privacy epoch, the first is 1",
     [](const ModelView& m) { return static_cast<double>(m.epoch); }},
    {MetricType::Gauge, "bandana_model_epsilon_per_event",
     "Epsilon of one event; 0 for a non-private model",
     [](const ModelView& m) { return m.epsilon; }},
    {MetricType::Gauge, "bandana_model_delta_per_event", "Delta of one event",
     [](const ModelView& m) { return m.delta; }},
    {MetricType::Gauge, "bandana_model_serving", "1 while the model takes reports",
     [](const ModelView& m) { return m.failure.empty() ? 1.0 : 0.0; }},
    {MetricType::Gauge, "bandana_model_owned",
     "1 where this server owns the model, 0 where it follows",
     [](const ModelView& m) { return m.followed ? 0.0 : 1.0; }},
    {MetricType::Gauge, "bandana_model_staleness_seconds",
     "Time since what is served was all that the log held; 0 where this server owns the model",
     [](const ModelView& m) { return m.followed ? m.followed->staleness_seconds : 0.0; }},
};

constexpr PartMetric<UserGroupsView> kUserGroupMetrics[] = {
    {MetricType::Gauge, "bandana_model_users_with_groups",
     "Users whose groups are kept, of models with groups of users",
     [](const UserGroupsView& of) { return static_cast<double>(of.users); }},
    {MetricType::Gauge, "bandana_model_users_with_groups_max",
     "users_max of these models; PutUsers is refused beyond it",
     [](const UserGroupsView& of) { return static_cast<double>(of.users_max); }},
    {MetricType::Counter, "bandana_model_decisions_without_groups_total",
     "Decisions for users whose groups are not kept, since the start",
     [](const UserGroupsView& of) { return static_cast<double>(of.decisions_without_groups); }},
};

void AppendUserGroups(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  AppendMetrics(models, &ModelView::user_groups, kUserGroupMetrics, out);
  Family values(MetricType::Gauge, "bandana_model_group_values",
                "Values of a group of users that somebody has, by group");
  for (const ModelView& model : models) {
    if (!model.user_groups) continue;
    for (const auto& [name, count] : model.user_groups->values) {
      values.Add({{"model", model.name}, {"group", name}}, static_cast<double>(count));
    }
  }
  values.MoveTo(out);
}

void AppendPlaces(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  Family places(MetricType::Counter, "bandana_model_released_rewards_total",
                "Randomized rewards since the start by where they lie in their windows, of models "
                "with CENTRED_RANDOMIZER: many at an end mean windows that are too narrow");
  for (const ModelView& model : models) {
    if (!model.places) continue;
    const auto add = [&](const char* place, std::uint64_t count) {
      places.Add({{"model", model.name}, {"place", place}}, static_cast<double>(count));
    };
    add("below", model.places->below);
    add("inside", model.places->inside);
    add("above", model.places->above);
  }
  places.MoveTo(out);
}

constexpr PartMetric<EffectsView> kEffectMetrics[] = {
    {MetricType::Gauge, "bandana_model_effects_bytes",
     "Memory that the blocks take, of models of effects",
     [](const EffectsView& of) { return static_cast<double>(of.bytes); }},
    {MetricType::Gauge, "bandana_model_effect_pairs",
     "Pairs of which something was learnt, of all effects of pairs",
     [](const EffectsView& of) { return static_cast<double>(of.pairs); }},
    {MetricType::Gauge, "bandana_model_effect_pairs_max",
     "pairs_max of these models; a further pair has no effect",
     [](const EffectsView& of) { return static_cast<double>(of.pairs_max); }},
    {MetricType::Counter, "bandana_model_effect_keys_freed_total",
     "Users, arms and values of groups whose effects were freed, since the start",
     [](const EffectsView& of) { return static_cast<double>(of.freed); }},
};

void AppendEffects(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  AppendMetrics(models, &ModelView::effects, kEffectMetrics, out);
  Family blocks(MetricType::Gauge, "bandana_model_effect_blocks",
                "Users, arms, values of groups or pairs of which something was learnt, by effect");
  for (const ModelView& model : models) {
    if (!model.effects) continue;
    for (const auto& [name, count] : model.effects->blocks) {
      blocks.Add({{"model", model.name}, {"effect", name}}, static_cast<double>(count));
    }
  }
  blocks.MoveTo(out);
}

constexpr PartMetric<DecisionLogView> kDecisionLogMetrics[] = {
    {MetricType::Gauge, "bandana_decision_log_lines",
     "Decisions that a decision log holds, deleted ones until their file goes",
     [](const DecisionLogView& of) { return static_cast<double>(of.lines); }},
    {MetricType::Counter, "bandana_decision_log_lost",
     "Decisions that became no line since the log began: the disk was full or slow, or the "
     "process was killed",
     [](const DecisionLogView& of) { return static_cast<double>(of.lost); }},
    {MetricType::Gauge, "bandana_decision_log_bytes", "Bytes of a decision log's files",
     [](const DecisionLogView& of) { return static_cast<double>(of.bytes); }},
};

void AppendLifts(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  Family lift(
      MetricType::Gauge, "bandana_model_lift",
      "Mean reward of a model's policy beside a uniform choice and the arm listed first, or "
      "beside nothing: value, and the ends of a 95 % interval that holds at every moment");
  for (const ModelView& model : models) {
    if (!model.lift) continue;
    for (const LiftValueView& value : model.lift->values) {
      const std::string against = value.against.empty() ? "nothing" : value.against;
      const auto add = [&](const char* bound, const std::optional<double>& figure) {
        if (!figure) return;
        lift.Add({{"model", model.name}, {"bound", bound}, {"against", against}}, *figure);
      };
      add("low", value.low);
      add("value", value.value);
      add("high", value.high);
    }
  }
  lift.MoveTo(out);
}

void AppendRewards(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  Family mean(MetricType::Gauge, "bandana_model_reward_mean",
              "Mean reward of what was learnt since the start; where devices randomize rewards an "
              "estimate, with the ends of its 95 % interval");
  Family rewards(MetricType::Counter, "bandana_model_rewards_total",
                 "Decisions whose reward was learnt since the start; non-private models");
  Family above(MetricType::Counter, "bandana_model_reward_above_min_total",
               "What these rewards add up to, each less the least reward of the model");
  Family least(MetricType::Gauge, "bandana_model_reward_min", "The least reward of the model");
  for (const ModelView& model : models) {
    if (!model.learnt) continue;
    const Labels labels = {{"model", model.name}};
    v1::RewardStats stats;
    FillRewards(*model.learnt, stats);
    const auto add = [&](const char* bound, double figure) {
      mean.Add({{"model", model.name}, {"bound", bound}}, figure);
    };
    if (stats.has_low()) add("low", stats.low());
    add("value", stats.mean());
    if (stats.has_high()) add("high", stats.high());
    if (model.learnt->noisy) continue;
    rewards.Add(labels, static_cast<double>(model.learnt->count));
    above.Add(labels, model.learnt->above_min);
    least.Add(labels, model.learnt->min);
  }
  for (Family* family : {&mean, &rewards, &above, &least}) family->MoveTo(out);
}

constexpr PartMetric<ChoiceView> kChoiceMetrics[] = {
    {MetricType::Counter, "bandana_model_decisions_total",
     "Decisions answered since the start, and learnt from; non-private models",
     [](const ChoiceView& of) { return static_cast<double>(of.decisions); }},
    {MetricType::Counter, "bandana_model_decisions_ranked_total",
     "Those whose arms neither a search nor the caller chose",
     [](const ChoiceView& of) { return static_cast<double>(of.ranked); }},
    {MetricType::Counter, "bandana_model_decisions_explored_total",
     "Ranked decisions whose first arm is not what the model expected most of",
     [](const ChoiceView& of) { return static_cast<double>(of.explored); }},
};

constexpr PartMetric<ApprenticeView> kApprenticeMetrics[] = {
    {MetricType::Counter, "bandana_model_apprentice_decisions_total",
     "Decisions since the start that the caller chose itself",
     [](const ApprenticeView& of) { return static_cast<double>(of.decisions); }},
    {MetricType::Counter, "bandana_model_apprentice_agreements_total",
     "Those of them where the model would have chosen the same arm",
     [](const ApprenticeView& of) { return static_cast<double>(of.agreements); }},
};

void AppendConnections(const ServerView& view, std::vector<MetricFamily>& out) {
  Family open(MetricType::Gauge, "bandana_connections_open", "Open connections, by listener");
  Family accepted(MetricType::Counter, "bandana_connections_accepted_total",
                  "Connections that were let in");
  Family refused(MetricType::Counter, "bandana_connections_refused_total",
                 "Connections that were reset at once, by reason");
  Family closed(
      MetricType::Counter, "bandana_connections_closed_total",
      "Connections closed for refused credentials and oversized messages (offender), or for "
      "holding a thread with what they sent (flood)");
  Family failures(MetricType::Counter, "bandana_accept_failures_total",
                  "Times that no descriptor or memory was left for a connection");
  for (const auto& [listener, stats] : view.connections) {
    open.Add({{"listener", listener}}, static_cast<double>(stats.open));
    accepted.Add({{"listener", listener}}, static_cast<double>(stats.accepted));
    for (int r = 1; r < kRefusals; ++r) {
      refused.Add(
          {{"listener", listener}, {"reason", std::string(RefusalName(static_cast<Refusal>(r)))}},
          static_cast<double>(stats.refused[r]));
    }
    closed.Add({{"listener", listener}, {"reason", "offender"}},
               static_cast<double>(stats.closed_offenders));
    closed.Add({{"listener", listener}, {"reason", "flood"}},
               static_cast<double>(stats.closed_floods));
    failures.Add({{"listener", listener}}, static_cast<double>(stats.accept_failures));
  }
  for (Family* family : {&open, &accepted, &refused, &closed, &failures}) family->MoveTo(out);
}

// The labels are bounded: the fields of a schema are configured.
void AppendFields(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  Family values(MetricType::Counter, "bandana_model_feature_values_total",
                "Values of named features that decisions and arms brought");
  Family odd(MetricType::Counter, "bandana_model_feature_values_odd_total",
             "Values of named features that were missing, unknown, or out_of_bounds");
  for (const ModelView& model : models) {
    for (const FieldView& field : model.fields) {
      values.Add({{"model", model.name}, {"field", field.name}}, static_cast<double>(field.values));
      const std::pair<const char*, std::uint64_t> kinds[] = {
          {"missing", field.missing},
          {"unknown", field.unknown},
          {"out_of_bounds", field.out_of_bounds}};
      for (const auto& [kind, count] : kinds) {
        odd.Add({{"model", model.name}, {"field", field.name}, {"kind", kind}},
                static_cast<double>(count));
      }
    }
  }
  values.MoveTo(out);
  odd.MoveTo(out);
}

}  // namespace

void AppendServerFamilies(const ServerView& view, const ProcessStats& process,
                          std::vector<MetricFamily>& out) {
  Family(MetricType::Gauge, "bandana_build_info", "1, labelled with the version")
      .Add({{"version", view.version}}, 1)
      .MoveTo(out);
  AddSingle(MetricType::Gauge, "bandana_calls_in_flight", "Calls taken in and not answered yet",
            view.calls_in_flight, out);
  const DecisionIndex::Figures& named = view.named_decisions;
  AddSingle(MetricType::Gauge, "bandana_decision_ids",
            "Decisions that callers have named, as long as they can be reported",
            static_cast<double>(named.ids), out);
  // Lengths of answers are functions of contexts.
  if (std::ranges::all_of(view.models, &ModelView::plain_names)) {
    AddSingle(MetricType::Gauge, "bandana_decision_ids_bytes", "Memory of the answers to them",
              static_cast<double>(named.bytes), out);
  }
  AddSingle(MetricType::Gauge, "bandana_decision_ids_bytes_limit",
            "limits.decision_ids_mib_max, bytes", static_cast<double>(named.bytes_max), out);
  AddSingle(MetricType::Counter, "bandana_decision_ids_refused_total",
            "Selections with a new decision_id that found no room",
            static_cast<double>(named.refused), out);
  AddSingle(MetricType::Gauge, "bandana_draining", "1 after SIGTERM", view.draining ? 1 : 0, out);
  if (view.tls_expiry_seconds > 0) {
    AddSingle(MetricType::Gauge, "bandana_tls_certificate_expiry_seconds",
              "Unix time at which the certificate in use ends", view.tls_expiry_seconds, out);
    AddSingle(MetricType::Counter, "bandana_tls_reload_failures_total",
              "Looks at changed certificate files that were not taken",
              static_cast<double>(view.tls_reload_failures), out);
  }
  AddSingle(MetricType::Counter, "bandana_access_reload_failures_total",
            "Reloads of the configuration (SIGHUP) whose access rules were not taken",
            static_cast<double>(view.access_reload_failures), out);
  AddSingle(MetricType::Counter, "bandana_reload_failures_total",
            "Reloads of the configuration (SIGHUP) of which something was not taken: see the log",
            static_cast<double>(view.reload_failures), out);
  AddSingle(MetricType::Counter, "bandana_call_lines_dropped_total",
            "Failed or slow calls that have no line in the log because there were too many",
            static_cast<double>(view.call_lines_dropped), out);
  if (view.spans) {
    AddSingle(MetricType::Counter, "bandana_trace_spans_sent_total",
              "Spans that the trace collector took", static_cast<double>(view.spans->first), out);
    AddSingle(MetricType::Counter, "bandana_trace_spans_dropped_total",
              "Spans that it did not take, or that had no place to wait",
              static_cast<double>(view.spans->second), out);
  }
  AppendConnections(view, out);
  AddSingle(MetricType::Gauge, "bandana_models", "Models served",
            static_cast<double>(view.models.size()), out);
  AddSingle(MetricType::Gauge, "process_resident_memory_bytes", "Resident memory",
            static_cast<double>(process.resident_bytes), out);
  AddSingle(MetricType::Gauge, "process_virtual_memory_bytes", "Virtual memory",
            static_cast<double>(process.virtual_bytes), out);
  if (!view.leaves_out_descriptors) {
    AddSingle(MetricType::Gauge, "process_open_fds", "Open file descriptors",
              static_cast<double>(process.open_fds), out);
  }
  AddSingle(MetricType::Gauge, "process_max_fds", "Limit of open file descriptors",
            static_cast<double>(process.max_fds), out);
  AddSingle(MetricType::Gauge, "process_threads", "Threads", static_cast<double>(process.threads),
            out);
  AddSingle(MetricType::Counter, "process_cpu_seconds_total", "User and system CPU time",
            process.cpu_seconds, out);
  AddSingle(MetricType::Gauge, "process_start_time_seconds", "Start time, Unix seconds",
            absl::ToDoubleSeconds(view.started - absl::UnixEpoch()), out);
}

void AppendModelFamilies(const std::vector<ModelView>& models, std::vector<MetricFamily>& out) {
  Family info(MetricType::Gauge, "bandana_model_info",
              "1, labelled with what the model promises; research marks parameters beyond policy");
  Family rejected(MetricType::Counter, "bandana_model_reports_rejected_total",
                  "Reports that were not accepted, by reason");
  Family budget(MetricType::Gauge, "bandana_model_budget_used_ratio",
                "Share of its events or steps that the fullest principal has used, where bounded");
  Family principal(MetricType::Gauge, "bandana_model_principal_epsilon",
                   "What the debits of one principal add up to, the largest, by reading");
  Family refuses(MetricType::Gauge, "bandana_model_not_learning",
                 "1 while the model does not learn as it should for this reason: ids, users, "
                 "budget, disk, log, clock, closed");
  for (const ModelView& model : models) {
    const auto add = [&](std::string_view reason) {
      const bool now = std::any_of(model.refusals.begin(), model.refusals.end(),
                                   [&](const auto& refusal) { return refusal.reason == reason; });
      refuses.Add({{"model", model.name}, {"reason", std::string(reason)}}, now ? 1 : 0);
    };
    for (const RefusalReason reason : kRefusalReasons) add(NameOf(reason));
    add(kClosedReason);
    for (const auto& [reading, epsilon] : model.epsilon_principal) {
      principal.Add({{"model", model.name}, {"reading", reading}}, epsilon);
    }
    if (model.budget_used) budget.Add({{"model", model.name}}, *model.budget_used);
    info.Add({{"model", model.name},
              {"mode", model.mode},
              {"mechanism", model.mechanism},
              {"guarantee", model.guarantee},
              {"research", model.research ? "true" : "false"}},
             1);
    for (const auto& [reason, count] : model.reports_rejected) {
      rejected.Add({{"model", model.name}, {"reason", reason}}, static_cast<double>(count));
    }
  }
  info.MoveTo(out);
  rejected.MoveTo(out);
  budget.MoveTo(out);
  refuses.MoveTo(out);
  principal.MoveTo(out);
  AppendUserGroups(models, out);
  AppendEffects(models, out);
  AppendMetrics(models, &ModelView::decision_log, kDecisionLogMetrics, out);
  AppendLifts(models, out);
  AppendRewards(models, out);
  AppendMetrics(models, &ModelView::choices, kChoiceMetrics, out);
  AppendMetrics(models, &ModelView::apprentice, kApprenticeMetrics, out);
  AppendPlaces(models, out);
  AppendFields(models, out);
  for (const ModelMetric& metric : kModelMetrics) {
    Family family(metric.type, metric.name, metric.help);
    for (const ModelView& model : models) family.Add({{"model", model.name}}, metric.value(model));
    family.MoveTo(out);
  }
}

}  // namespace bandana::server
