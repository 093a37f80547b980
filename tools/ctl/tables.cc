#include "tools/ctl/tables.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana {
namespace {

constexpr int kNameWidth = 22;

class Table {
 public:
  Table& Add(std::string_view name, std::string_view value, std::string_view remark = {}) {
    absl::StrAppendFormat(&text_, "%-*s  %s%s%s\n", kNameWidth, ToAbsl(name), ToAbsl(value),
                          remark.empty() ? "" : "  ", ToAbsl(remark));
    return *this;
  }
  Table& Add(std::string_view name, std::uint64_t count, std::string_view remark = {}) {
    return Add(name, std::string_view(absl::StrCat(count)), remark);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string Figure(double value) { return absl::StrFormat("%.4g", value); }

std::string Mebibytes(std::uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  return absl::StrFormat("%.3g %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// "name 3, other 4" in the order of the names; empty for an empty map.
template <typename Map>
std::string Counts(const Map& counts) {
  std::map<std::string, std::uint64_t> sorted;
  for (const auto& [name, count] : counts) sorted[OneLine(name)] = count;
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" "));
}

template <typename Value>
std::string Interval(const Value& value) {
  if (!value.has_low() || !value.has_high()) return "";
  return absl::StrCat("95 %: ", Figure(value.low()), " to ", Figure(value.high()));
}

void AddReports(const v1::GetStatsResponse& stats, Table& table) {
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : stats.reports_rejected()) rejected += count;
  table.Add("reports applied", stats.reports_applied())
      .Add("reports duplicate", stats.reports_duplicate())
      .Add("reports rejected", rejected, Counts(stats.reports_rejected()));
}

void AddRewards(const v1::GetStatsResponse& stats, Table& table) {
  if (stats.has_rewards()) {
    const v1::RewardStats& rewards = stats.rewards();
    table.Add("mean reward", Figure(rewards.mean()),
              absl::StrCat("of ", rewards.rewards(), " learnt since the start",
                           rewards.has_low() ? ", randomized; " : "", Interval(rewards)));
  }
  if (stats.has_choices() && stats.choices().decisions() > 0) {
    const v1::ChoiceStats& choices = stats.choices();
    table.Add("decisions", choices.decisions(), "since the start");
    if (choices.ranked() > 0) {
      table.Add("explored", Percent(choices.explored(), choices.ranked()),
                absl::StrCat("of ", choices.ranked(), " that the model chose"));
    }
  }
  if (stats.has_apprentice() && stats.apprentice().decisions() > 0) {
    const v1::ApprenticeStats& apprentice = stats.apprentice();
    table.Add("agrees with caller", Percent(apprentice.agreements(), apprentice.decisions()),
              absl::StrCat("of ", apprentice.decisions(), " that the caller chose"));
    if (apprentice.has_reward()) {
      table.Add("caller's mean reward", Figure(apprentice.reward()),
                apprentice.has_reward_of_agreements()
                    ? absl::StrCat(Figure(apprentice.reward_of_agreements()), " where they agree")
                    : "");
    }
  }
  for (const v1::LiftValue& value : stats.lift().values()) {
    if (value.against().empty() || !value.has_value()) continue;
    table.Add(absl::StrCat("lift over ", OneLine(value.against())),
              absl::StrFormat("%+.4g", value.value()),
              absl::StrCat("per decision, ", Interval(value), ", of ", stats.lift().decisions()));
  }
}

void AddProgress(const v1::GetStatsResponse& stats, Table& table) {
  table.Add("decisions waiting", stats.decisions_waiting(), "not learnt yet")
      .Add("decisions remembered", stats.decisions_open(),
           "so that a second report is known; each until its token ends")
      .Add("log entries", stats.log_sequence(),
           absl::StrCat(stats.applied_sequence(), " learnt, ", stats.posterior_version(),
                        " in answers"))
      .Add("epoch", stats.epoch())
      .Add("nodes", stats.nodes())
      .Add("arms", stats.arms(), "in the catalogue");
  if (stats.has_best_arm()) table.Add("best arm", stats.best_arm());
  if (stats.features_clipped() > 0) table.Add("features clipped", stats.features_clipped());
  if (stats.rewards_clipped() > 0) table.Add("rewards clipped", stats.rewards_clipped());
  if (stats.grams_repaired() > 0) table.Add("grams repaired", stats.grams_repaired());
  if (stats.has_follower()) {
    const v1::FollowerStats& follower = stats.follower();
    table.Add("follows", follower.owner().empty() ? "nobody" : OneLine(follower.owner()),
              absl::StrFormat("%.1f s behind", follower.staleness_seconds()));
  }
}

void AddUsers(const v1::GetStatsResponse& stats, Table& table) {
  if (!stats.has_user_groups()) return;
  const v1::UserGroupsStats& groups = stats.user_groups();
  table.Add("users with groups", groups.users(),
            groups.values().empty() ? "" : absl::StrCat("values: ", Counts(groups.values())));
  if (groups.decisions_without_groups() > 0) {
    table.Add("decisions of others", groups.decisions_without_groups(),
              "by users without groups, since the start");
  }
}

std::string EffectsText(const v1::GetStatsResponse& stats) {
  if (!stats.has_effects()) return "";
  const v1::EffectsStats& effects = stats.effects();
  std::string text =
      absl::StrFormat("\n%-30s %10s %15s %8s\n", "EFFECT", "LEARNT OF", "PRIOR VARIANCE", "WEIGHT");
  for (const v1::EffectStats& effect : effects.effects()) {
    absl::StrAppendFormat(&text, "%-30s %10d %15.4g %8.3g\n", OneLine(effect.name()),
                          effect.blocks(), effect.prior_variance(), effect.weight());
  }
  absl::StrAppend(&text, Mebibytes(effects.bytes()), " of memory; ", effects.pairs(),
                  " of at most ", effects.pairs_max(), " pairs; ", effects.freed(),
                  " keys freed\n");
  return text;
}

std::string FieldTable(const v1::GetStatsResponse& stats) {
  if (stats.features().empty()) return "";
  std::string text = absl::StrFormat("\n%-30s %10s %10s %10s %13s\n", "FIELD", "VALUES", "MISSING",
                                     "UNKNOWN", "OUT OF BOUNDS");
  for (const v1::FeatureFieldStats& field : stats.features()) {
    absl::StrAppendFormat(&text, "%-30s %10d %10d %10d %13d\n", OneLine(field.name()),
                          field.values(), field.missing(), field.unknown(), field.out_of_bounds());
  }
  return text;
}

void AddReading(std::string_view name, bool there, double epsilon, Table& table) {
  if (there) table.Add(name, Figure(epsilon));
}

}  // namespace

std::string DecisionLogTable(const v1::DecisionLogStats& log) {
  Table table;
  table.Add("decisions kept", log.lines(), Mebibytes(log.bytes()))
      .Add("decisions lost", log.lost(), "since the log began");
  if (log.has_oldest()) {
    table.Add("since",
              absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(log.oldest().seconds()),
                               absl::UTCTimeZone()));
  }
  return std::move(table).text();
}

std::string StatsTable(const v1::GetStatsResponse& stats) {
  Table table;
  AddReports(stats, table);
  AddRewards(stats, table);
  AddProgress(stats, table);
  AddUsers(stats, table);
  return absl::StrCat(std::move(table).text(),
                      stats.has_decision_log() ? DecisionLogTable(stats.decision_log()) : "",
                      EffectsText(stats), FieldTable(stats));
}

std::string LedgerTable(const v1::GetLedgerResponse& ledger) {
  Table table;
  table.Add("mode", v1::Mode_Name(ledger.mode()));
  if (ledger.epsilon_per_event() == 0) {
    table.Add("events", ledger.events(), "accepted; none of them is private");
    return std::move(table).text();
  }
  table.Add("mechanism", v1::Mechanism_Name(ledger.mechanism()))
      .Add("guarantee", OneLine(ledger.guarantee()),
           ledger.research() ? "research: beyond the policy caps" : "")
      .Add("per event", absl::StrCat("epsilon ", Figure(ledger.epsilon_per_event())),
           absl::StrCat("delta ", Figure(ledger.delta_per_event())))
      .Add("events", ledger.events(), "accepted")
      .Add("spent by an event", absl::StrCat("epsilon ", Figure(ledger.epsilon_spent_event())),
           "at most")
      .Add("events of one user", ledger.events_of_one_user_max(), "at most, over all epochs")
      .Add("spent by a user", absl::StrCat("epsilon ", Figure(ledger.epsilon_spent_user())),
           "at most")
      .Add("epoch", ledger.epoch());
  if (ledger.has_user()) {
    const v1::LedgerReadings& user = ledger.user();
    AddReading("  as pure epsilon", user.has_epsilon_pure(), user.epsilon_pure(), table);
    AddReading("  as Gaussian noise", user.has_epsilon_gaussian(), user.epsilon_gaussian(), table);
    AddReading("  as zCDP", user.has_epsilon_zcdp(), user.epsilon_zcdp(), table);
  }
  std::string text = std::move(table).text();
  if (ledger.entries().empty()) return text;
  absl::StrAppendFormat(&text, "\n%12s %7s %-20s %12s %12s\n", "LOG ENTRY", "EPOCH", "PRINCIPAL",
                        "EPSILON", "RHO");
  for (const v1::LedgerEntry& entry : ledger.entries()) {
    absl::StrAppendFormat(&text, "%12d %7d %-20s %12.6g %12.6g\n", entry.log_sequence(),
                          entry.epoch(), OneLine(entry.principal()), entry.epsilon(), entry.rho());
  }
  return text;
}

}  // namespace bandana
