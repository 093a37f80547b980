#include "server/ops/config/config_summary.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/features_config.h"
#include "common/design/server_mechanism.h"
#include "common/promise/event_rule.h"
#include "common/ranking/policies/selection_rule.h"
#include "server/ops/config/lift_text.h"

namespace bandana::server {
namespace {

// An application that is opened once a day.
constexpr absl::Duration kStartsApart = absl::Hours(24);

std::string RewardsText(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  return absl::StrFormat(
      "[%g, %g]%s (%s)%s", out.reward_range.min, out.reward_range.max,
      out.reward_binary ? ", binary" : "", spec.reject_rewards ? "reject" : "clip",
      out.link == Link::kLogistic ? ", expected 1 / (1 + e^-z) of z = x . theta" : "");
}

std::string ReportingText(const PublicSpec& spec) {
  if (spec.reward_window) {
    return absl::StrFormat(
        "one event per decision, at the close of a window of %s, default reward %g",
        absl::FormatDuration(spec.reward_window->duration), spec.reward_window->default_reward);
  }
  if (spec.one_per_decision) return "the caller guarantees one report per decision";
  return "a report counts when it comes";
}

// The conditions for devices that send at starts of the application alone
// (docs/sdk/decisions.md). Two lines, or none.
std::vector<std::string> AtStartLines(const PublicSpec& spec) {
  if (!DeviceClosesWindows(spec)) return {};
  const absl::Duration needed = spec.reward_window->duration + kStartsApart;
  return {
      "Leave::kAtStart: the window must outlast what a reaction does to the process",
      absl::StrCat("token_lifetime ", absl::FormatDuration(spec.token_lifetime),
                   spec.token_lifetime < needed ? " is SHORT: " : " is enough: ",
                   "the window and a day to the next start are ", absl::FormatDuration(needed))};
}

std::string DecisionLogText(const ModelSpec& spec) {
  const DecisionLogSpec& log = *spec.decision_log;
  return absl::StrCat("kept for ", absl::FormatDuration(log.keep), ", in at most ",
                      log.bytes_max >> 20, " MiB, ", log.contexts ? "with" : "without",
                      " contexts, with pseudonyms of users");
}

std::string ModelSummary(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  std::string text = absl::StrCat("model ", out.name, "\n");
  const auto line = [&](std::string_view name, const std::string& value) {
    absl::StrAppendFormat(&text, "  %-10s %s\n", std::string(name), value);
  };
  line("mode", absl::StrCat(ModeName(out.mode), ": ", ToAbsl(out.made->mode().words)));
  for (const auto& [name, value] : spec.mechanism->Summary(spec)) line(name, value);
  line("coupling", CouplingOf(spec.config).words(spec));
  line("users", UserNodesOf(spec).Words(spec));
  line("features", FamilyOf(spec).Features(spec));
  for (const std::string& block : FeatureLines(out)) line("  entries", block);
  line("rewards", RewardsText(spec));
  if (spec.policy != nullptr) line("policy", spec.policy->words());
  if (spec.effects && spec.effects->cold_events > 0) {
    line("cold arms", absl::StrCat("until they have ", spec.effects->cold_events, " events"));
  }
  if (spec.effects && spec.effects->seen) {
    const SeenBounds& seen = *spec.effects->seen;
    line("seen", absl::StrCat("arms that users were shown: ", seen.arms_per_user, " of each of ",
                              seen.users, " users, for ", absl::FormatDuration(seen.kept)));
  }
  line("reporting", ReportingText(out));
  if (spec.decision_log) line("decisions", DecisionLogText(spec));
  if (spec.decision_log || spec.policy != nullptr) line("lift", LiftText(spec));
  for (const std::string& text : AtStartLines(out)) line("  leave", text);
  if (spec.half_life > absl::ZeroDuration()) {
    line("forgets",
         absl::StrCat("an event counts half after ", absl::FormatDuration(spec.half_life)));
  }
  if (const std::string note = FamilyOf(spec).Note(spec); !note.empty()) line("note", note);
  if (const std::string warning = Warning(spec); !warning.empty()) line("WARNING", warning);
  return text;
}

}  // namespace

std::string ModelLine(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  return absl::StrCat(out.made->Line(out), "; ", CouplingOf(spec.config).words(spec),
                      ", dimension ", out.dimension);
}

std::string AliasLine(const AliasSpec& alias) {
  std::string line = absl::StrCat("alias ", alias.name, ":");
  for (const AliasShare& share : alias.shares) {
    absl::StrAppend(&line, " ", share.model);
    if (alias.shares.size() > 1) absl::StrAppend(&line, ":", share.weight);
  }
  return line;
}

std::string Warning(const ModelSpec& spec) { return spec.mechanism->Warning(spec.public_spec); }

std::string Summary(const ServerSpec& spec) {
  std::string text =
      absl::StrCat("listen ", ToString(spec.listen), ", http ", ToString(spec.http_listen),
                   ", data_dir ", spec.data_dir, ", ", spec.models.size(), " models\n");
  if (spec.admin_listen)
    absl::StrAppend(&text, "admin_listen ", ToString(*spec.admin_listen), "\n");
  if (spec.api) text += ApiSummary(*spec.api);
  if (spec.peers) text += PeersSummary(*spec.peers);
  text += SecuritySummary(spec.tls, spec.access);
  for (const ModelSpec& model : spec.models) text += ModelSummary(model);
  for (const AliasSpec& alias : spec.aliases) absl::StrAppend(&text, AliasLine(alias), "\n");
  return text;
}

}  // namespace bandana::server
