// Which role this server takes for each model that servers share: its owner, or a follower. Leases
// decide who may try, never who may write: the store takes a change only from the owner of the
// present term.
//
// Pure: what is seen and the time go in, jobs come out. No database, thread or clock.
//
//   RoleMachine machine({.self = "10.0.0.1:50051", .asks_others = true});
//   for (const RoleJob& job : machine.Due(*view, here, leaving, clock.Steady())) ...
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/log/store_watch.h"

namespace bandana::server {

// A shared model that nobody owns is first claimed by the server whose turn it is; then by the
// others, one after the other.
inline constexpr absl::Duration kClaimInterval = absl::Milliseconds(150);
// A server must have been there for so long before it is given models.
inline constexpr absl::Duration kSettled = absl::Seconds(5);
inline constexpr absl::Duration kRetryInterval = absl::Seconds(1);  // of what failed, and aliases
inline constexpr absl::Duration kCompareInterval = absl::Seconds(5);

// A model as this server has it now.
struct ModelHere {
  enum class Role : std::uint8_t { kAbsent, kOwner, kFollower };
  Role role = Role::kAbsent;
  bool configured = false;  // else it was made at run time
  // Absent models have:
  bool passes = false;   // what keeps it from being opened may end without anybody's doing
  bool opening = false;  // somebody opens it
  bool differs = false;  // its owner computes something else
  // Owners have:
  std::int64_t term = 0;
  bool retired = false;  // it was to be handed over, and could not be followed
  // Followers have:
  bool knows = false;  // it may be owned here as far as others are concerned
  bool stale = false;  // it must be opened anew to go on
};

struct RoleJob {
  enum class Action : std::uint8_t {
    kTakeIn,         // open a model that is absent
    kStepDown,       // give up owning, and follow
    kOwnAgain,       // open it as its owner, which it still is
    kConfirm,        // ask the others whether it may be owned here
    kPromote,        // own it
    kFollowAnew,     // open the follower anew
    kTakeConfig,     // follow anew if its owner has changed its configuration
    kCompare,        // compare what it computes with its owner
    kLetGo,          // close it: another server has deleted it
    kFollowAliases,  // of no model: take over aliases, and deletions of users, of other servers
  };
  Action action;
  std::string model;
  std::string log;  // SharedModel's; empty where the store does not have the model

  bool operator==(const RoleJob&) const = default;
};

// Not thread-safe.
class RoleMachine {
 public:
  struct Options {
    std::string self;          // the address of this server
    bool asks_others = false;  // of noise that must be the same everywhere
  };
  explicit RoleMachine(Options options) : options_(std::move(options)) {}

  // The jobs that are due, at most one per model; all of them are done before the next call. `here`
  // by name. `leaving`: this server is about to end. `now`: of a steady clock.
  std::vector<RoleJob> Due(const StoreView& view, const std::map<std::string, ModelHere>& here,
                           bool leaving, absl::Time now);
  // Where servers were reached that owned models at the last call and own none any more.
  std::vector<std::string> GoneOwners(const StoreView& view);

 private:
  struct Turn {
    absl::Time free_since = absl::InfiniteFuture();  // nobody owns it
    std::string first;                               // who should own it
    absl::Time first_since;
    std::string handed_to;                       // it was given up for this server
    absl::Time tried = absl::InfinitePast();     // what had failed
    std::int64_t files = 0;                      // StateVersions::files that was looked at
    std::int64_t word_of = 0;                    // term of the owner whose word was asked for
    absl::Time asked = absl::InfinitePast();     // others, whether it may be owned here
    absl::Time compared = absl::InfinitePast();  // with the owner
  };
  using Action = RoleJob::Action;
  // One model as the view shows it, and the time of the look.
  struct Seen {
    const SharedModel& shared;
    const ModelHere* here;  // null: this server does not know the model
    std::span<const std::string> servers;
    bool leaving;
    absl::Time now;
  };

  // Whether what failed may be tried again now.
  static bool MayTry(Turn& turn, absl::Time now);
  void SeeFirst(const Seen& seen, Turn& turn) const;
  std::optional<Action> DueOf(const Seen& seen, Turn& turn) const;
  static std::optional<Action> DueOfAbsent(const Seen& seen, Turn& turn);
  std::optional<Action> DueOfOwner(const Seen& seen, Turn& turn) const;
  std::optional<Action> DueOfFollower(const Seen& seen, Turn& turn) const;
  bool MayClaim(const Seen& seen, const Turn& turn) const;
  bool MayHandOver(const Seen& seen, const Turn& turn) const;

  Options options_;
  std::map<std::string, Turn, std::less<>> turns_;  // by model
  absl::Time aliases_at_ = absl::InfinitePast();
  std::set<std::string> owners_;
};

}  // namespace bandana::server
