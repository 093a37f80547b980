// Modes: who sees what of an event, and who draws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/limits.h"
#include "common/features/value_log.h"
#include "common/promise/kinds.h"

namespace bandana {

namespace wire {
struct Model;
}  // namespace wire
class FieldChecks;
class Mechanism;
struct MechanismRow;
struct PublicSpec;

// One row per mode.
struct ModeRow {
  Mode mode = Mode::kNonPrivate;
  bool is_private = false;
  bool device_draws = false;            // the device makes what the server may see of an event
  bool server_draws = false;            // the server sees raw rewards and adds the noise
  bool hides_contexts = false;          // contexts are private, as rewards are
  bool contexts_on_device = false;      // the server sees neither contexts nor arms
  ValueRule values = ValueRule::kOpen;  // how named values are taken that are no values
  // Whether decisions are numbered in a row, so that a remembered one takes a bit. Where the server
  // keeps raw rewards the entries of the log have random bytes of their own (Salted).
  bool numbers_decisions = false;
  // Decisions that are remembered at most, where a configuration does not say.
  std::uint64_t decisions_open_max = kRandomIdsMaxDefault;
  // Messages where a model of the mode refuses something; empty where it does not.
  std::string_view no_select;     // to choose an arm
  std::string_view no_catalogue;  // to keep arms
  std::string_view no_users;      // to say what it believes of one user
  std::string_view no_policy;     // a policy that draws arms, of its configuration
  std::string_view no_slots;      // several arms of one decision, each an event
  // Couplings whose models may be of the mode, all where it is empty, and what is said of others.
  std::span<const std::string_view> couplings;
  std::string_view couplings_message;
  std::string_view words;  // for people: what the server sees
  // Takes what a policy in force says of it.
  void (*check_policy)(const wire::Model& model, PublicSpec& spec,
                       const FieldChecks& checks) = nullptr;
  // Makes a mechanism as its devices need it. Errors: INVALID_ARGUMENT.
  absl::StatusOr<std::shared_ptr<const Mechanism>> (*make_on_device)(
      const MechanismRow& row, const PublicSpec& spec) = nullptr;
  // Names and values that the identities of its models have.
  std::span<const std::pair<std::string_view, std::string_view>> identity;
};

// nullptr: not one that this version knows.
const ModeRow* FindMode(Mode mode);
// The row of a model's mode. Requires one that this version knows.
const ModeRow& ModeOf(Mode mode);

// Nothing is true of modes that this version does not know.
bool IsPrivateMode(Mode mode);
bool IsLocalMode(Mode mode);    // ModeRow::device_draws
bool IsCentralMode(Mode mode);  // ModeRow::server_draws
bool HidesContexts(Mode mode);
bool NamesGrace(Mode mode);  // a policy with a reward window has a line for its grace
std::uint64_t DecisionsOpenMaxOf(Mode mode);  // ModeRow::decisions_open_max

// ModeRow::check_policy; a mistake where this version does not know the mode.
void CheckPolicyOfMode(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks);

}  // namespace bandana
