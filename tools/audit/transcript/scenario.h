// One schedule of the transcript audit: what happens in both worlds, and the one thing in which
// they differ. A function of its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/audit/transcript/caller_api.h"
#include "tools/audit/transcript/combination.h"

namespace bandana::audit {

inline constexpr int kUsers = 3;  // named by their numbers

struct Reaction {
  double at = 0;                // window lengths after the decision; from 1 on it comes too late
  std::optional<double> value;  // missing counts as the default
};

// In what the two worlds differ.
enum class Differs {
  kReaction,  // one reaction: its value, its absence, or its moment
  kRound      // what one decision offers: context, arms and their number; in modes that hide it
};

struct Choice {
  int number = -1;  // in the scenario; -1: of a reader
  int user = 0;
  int arms = 0;
  std::vector<double> features;  // arms x 3
  int top_k = 1;
  int shown = 0;
  // Callers who name decisions: under a name that others can guess.
  bool plain_name = false;
  // Features that the second world offers in their place, perhaps of other arms: the target's,
  // where the round differs.
  std::optional<std::vector<double>> other_features;
  // The reactions in the first and in the second world: equal, but for the scenario's target.
  std::optional<Reaction> reactions[2];
  // Both worlds: the decision's user reports once more, so many window lengths after the decision.
  std::optional<Reaction> repeat;
};

enum class Act {
  kSelect,
  kRead,           // other users and operators look at the server
  kReadPages,      // metrics, status page, export
  kLook,           // a thief copies the device's store and the server's folder
  kSleep,          // the device does nothing for `amount` window lengths
  kDeviceClock,    // its wall clock is set by `amount` window lengths
  kServerClock,    // the server's
  kRestartDevice,  // amount >= 0.5: under the policy that the peer names now
  kKillDevice,
  kRestartServer,
  kKillServer,
  kOpenEpoch,
  kPeerEpoch,   // the peer names a larger epoch
  kPeerPolicy,  // the peer names another policy, and refuses reports of this one
  kEntropy,     // draws fail from now on (amount < 0.5), or no longer
  kCheckpoint,
  kFullDisk,    // the device's (amount < 0.5) or the server's, until something needs its space
  kRefresh,     // the device fetches the user's posterior
  kUpdate,      // Admin.UpdateModel: the change of the table of settings that stands at `amount`
  kDelete,      // Admin.DeleteUsers: the user who stands at `amount`
  kAlias,       // Admin.PutAlias or DeleteAlias: the move that stands at `amount`
  kGuess,       // a second caller asks for the choice, as the first world does, under its name
  kForeground,  // the application comes to the front: a start, of its process or of another one
};

// The effect of the reaction that differs on the device's process, in the world in which it comes.
enum class ProcessLife {
  kUntouched,  // nothing; reports leave when they are due
  kEnds,       // until the next kForeground
  kRestarts,   // another one begins at once
  kSleeps,     // for half a window
};

struct Step {
  absl::Duration after;  // since the step before
  Act act = Act::kRead;
  double amount = 0;
  int choice = 0;  // kSelect
};

struct Scenario {
  std::uint64_t seed = 0;
  const Combination* combination = nullptr;
  absl::Duration window;  // one_per_decision: the unit of delays
  absl::Duration token_lifetime;
  absl::Duration posterior_interval;
  int queue_reports_max = 0;
  bool drops_when_full = false;
  int deliveries_in_flight_max = 1;
  int reports_per_delivery_max = 1;
  // The model is asked for by an alias, which an operator moves between it and another one.
  bool aliased = false;
  // The rights and rates of the one principal that calls.
  CallRate rate;
  double trouble = 0;  // chance that a call is delayed, lost, repeated or answered falsely
  std::vector<Step> steps;
  std::vector<Choice> choices;
  int target = 0;  // the choice that differs
  Differs differs = Differs::kReaction;
  std::string difference;  // value, absence, moment; features, arms
  // Another than kUntouched: reports leave at starts alone.
  ProcessLife life = ProcessLife::kUntouched;
};

Scenario ScenarioOf(std::uint64_t seed);
// The choices of the first or the second world, each with what is offered there.
std::vector<Choice> ChoicesIn(const Scenario& scenario, int side);
// For a reader who wants to follow one seed.
std::string Describe(const Scenario& scenario);

}  // namespace bandana::audit
