// The server as metrics and status page show it: plain data, collected in one pass. No reward of a
// private model but what its devices released, no count of a single user is in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/models/registry.h"
#include "server/ops/observation/lift_view.h"
#include "server/service/connections/acceptor.h"
#include "server/service/decisions/decision_index.h"

namespace bandana::server {

// Models with groups of users.
struct UserGroupsView {
  std::uint64_t users = 0;  // whose groups are kept
  std::uint64_t users_max = 0;
  std::uint64_t decisions_without_groups = 0;   // since the start
  std::map<std::string, std::uint64_t> values;  // that somebody has, by name of the group
};

// Models with a decision log.
struct DecisionLogView {
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;  // decisions that became no line, since the log began
  std::uint64_t bytes = 0;
};

// Models without privacy: decisions since the start, and how they were chosen (ChoiceStats).
struct ChoiceView {
  std::uint64_t decisions = 0;
  std::uint64_t ranked = 0;
  std::uint64_t explored = 0;
};

// Models whose decisions came with the caller's own choice, since the start.
struct ApprenticeView {
  std::uint64_t decisions = 0;
  std::uint64_t agreements = 0;
};

// Models of effects.
struct EffectsView {
  std::uint64_t bytes = 0;  // of memory that blocks take
  std::uint64_t pairs = 0;
  std::uint64_t pairs_max = 0;
  std::uint64_t freed = 0;                                    // keys, since the start
  std::vector<std::pair<std::string, std::uint64_t>> blocks;  // by effect
};

// The reason of a model that is absent (ModelRegistry::Absent).
inline constexpr std::string_view kClosedReason = "closed";

// How the values of one named feature came, since the start.
struct FieldView {
  std::string name;
  std::uint64_t values = 0;
  std::uint64_t missing = 0;
  std::uint64_t unknown = 0;
  std::uint64_t out_of_bounds = 0;
};

struct RefusalView {
  std::string reason;  // NameOf, or kClosedReason
  std::string text;
  std::string remedy;
  std::optional<absl::Time> since;  // when RefusalWatch first saw it
};

// A model that another server owns.
struct FollowedView {
  std::string owner;  // its address; empty: nobody owns the model now
  double staleness_seconds = 0;
};

struct ModelView {
  std::string name;
  // That it is behind, each with the part of the users that it takes: "feed (5 %)".
  std::vector<std::string> aliases;
  std::string mode;          // by name, as in the configuration
  std::string mechanism;     // the same, "" without privacy
  std::string guarantee;     // as in the policy
  bool plain_names = false;  // of decisions; false as well: the model is absent
  double epsilon = 0;        // per event; 0 when non-private
  double delta = 0;
  // The total of the debits of one principal, the largest over principals: by reading ("pure",
  // "gaussian", "zcdp"), those that apply.
  std::map<std::string, double> epsilon_principal;
  // Share of what one principal may spend that the fullest one has used (ReportGate::budget);
  // nothing where nothing bounds it that the server can count.
  std::optional<double> budget_used;
  std::string budget;  // "312 of 1000 events of one user"; empty as above
  double epsilon_spent_event = 0;
  double epsilon_spent_user = 0;
  bool users_unknown = false;  // events of a node count as one user's there: the truth is less
  bool research = false;
  int dimension = 0;
  std::uint32_t nodes = 0;
  std::uint32_t arms = 0;
  std::uint64_t epoch = 0;
  std::uint64_t reports_applied = 0;
  std::uint64_t reports_duplicate = 0;
  std::map<std::string, std::uint64_t> reports_rejected;  // by reason
  std::uint64_t log_sequence = 0;
  std::uint64_t applied_sequence = 0;
  std::uint64_t posterior_version = 0;
  int log_queue = 0;  // records that wait for the disk
  std::uint64_t decisions_open = 0;
  std::uint64_t decisions_waiting = 0;  // not learnt yet (GetStatsResponse)
  bool closes_windows = false;          // ClosesWindows
  std::uint64_t features_clipped = 0;
  std::vector<FieldView> fields;  // of its schema, where contexts are not private
  std::uint64_t grams_repaired = 0;
  double posterior_age_seconds = 0;     // since it last moved while entries wait; 0 when none does
  std::optional<RewardTotals> rewards;  // non-private models; for the status page only
  std::optional<RewardSums> learnt;     // where it may be told (LearntRewards)
  std::optional<ChoiceView> choices;    // non-private models
  std::optional<ApprenticeView> apprentice;
  std::optional<WindowPlaces> places;    // models whose devices clip to windows
  std::optional<double> posterior_norm;  // private models: mean of |m_u|, the first nodes
  std::optional<UserGroupsView> user_groups;
  std::vector<EffectLook> looks;  // models of effects; for the status page only
  std::optional<EffectsView> effects;
  std::optional<DecisionLogView> decision_log;
  std::optional<LiftView> lift;
  std::vector<RefusalView> refusals;     // why reports are refused now
  std::optional<FollowedView> followed;  // nothing: this server owns it
  std::string failure;                   // why reports cannot be taken, or ""
  bool passes = false;  // the failure may end by itself, and selections are served meanwhile

  std::uint64_t apply_lag() const { return log_sequence - applied_sequence; }
};

struct ServerView {
  std::string version;
  absl::Time started;
  bool starting = false;  // models of the start are being opened
  bool draining = false;
  int calls_in_flight = 0;
  double tls_expiry_seconds = 0;  // Unix time at which the present certificate ends; 0 = plaintext
  std::int64_t tls_reload_failures = 0;  // changed certificate files that were not taken
  std::int64_t access_reload_failures = 0;
  std::int64_t reload_failures = 0;  // of which something was not taken
  // Spans that the collector took, and that were dropped; nothing: nobody collects any.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> spans;
  std::uint64_t call_lines_dropped = 0;  // failed or slow calls without a line in the log
  // Since the first of those that came after the last one that was taken whole.
  std::optional<absl::Time> reload_refused;
  DecisionIndex::Figures named_decisions;
  // By listener. Those by which reports come are left out while a model hides when they do, and so
  // are the descriptors of the process.
  std::map<std::string, ConnectionStats> connections;
  bool leaves_out_descriptors = false;
  std::vector<ModelView> models;  // by name
};

// Which models of effects are looked into.
struct EffectLooks {
  std::size_t values = 0;  // how many of each effect's largest; with 0 views have no looks
  std::string model;       // this one alone; "" is all
};
std::vector<ModelView> ViewModels(const ModelRegistry& registry, const EffectLooks& looks = {});

}  // namespace bandana::server
