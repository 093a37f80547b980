// The server's side of the table of mechanisms: one row beside each of mechanism_table.h.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "common/design/server_mechanism.h"
#include "common/promise/mechanism_table.h"

namespace bandana {

inline void AllowModel(const ModelSpec&, const FieldChecks&) {}

// Why counters refuse half_life: they release sums over all their steps together.
inline constexpr std::string_view kReleasesSums =
    "its releases are sums over all events, from which none can be taken away";

struct ServerMechanismRow {
  const MechanismRow* policy = nullptr;                 // what both sides know
  std::vector<std::string_view> families = {"linear"};  // by name: whose models may have it
  // Further checks of a configuration with it, which has no mistakes so far.
  void (*check)(const ModelSpec& spec, const FieldChecks& checks) = AllowModel;
  // Why its models cannot forget (ModelConfig.half_life), said of the mechanism; "": they can, as
  // far as their family does.
  std::string_view keeps = kReleasesSums;
  // Whether each event is released by itself, with a value of its own.
  bool releases_events() const { return keeps.empty(); }
  // Rewards are clipped to windows that follow from the posterior's widths.
  bool windows_of_widths = false;
  std::string_view field = "privacy";  // where it is said that a mechanism cannot be made
  std::string_view remark;             // for people who ask why it is in force
  // Requires a policy that Mechanism can be made from. Errors: INVALID_ARGUMENT.
  MadeServerMechanism (*make)(const ModelSpec& spec) = nullptr;
};

// In the order of Mechanisms().
std::span<const ServerMechanismRow> ServerMechanisms();
// The row of a mechanism, of a policy's mechanism. Requires one that is for the mode.
const ServerMechanismRow& ServerRowOf(MechanismId id, Mode mode);
const ServerMechanismRow& ServerRowOf(const PublicSpec& spec);
// Whether models of the family may have it.
bool Serves(const ServerMechanismRow& row, std::string_view family);
// AUTO's choice without a planner: the first row for mode and family, or for the mode where none is
// for both. Requires a private mode.
const MechanismRow& DefaultMechanism(Mode mode, std::string_view family);

}  // namespace bandana
