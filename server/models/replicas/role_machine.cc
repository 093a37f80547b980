#include "server/models/replicas/role_machine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/models/replicas/cluster.h"
#include "server/models/replicas/ranks.h"

namespace bandana::server {

std::vector<RoleJob> RoleMachine::Due(const StoreView& view,
                                      const std::map<std::string, ModelHere>& here, bool leaving,
                                      absl::Time now) {
  std::vector<RoleJob> jobs;
  for (const SharedModel& shared : view.models) {
    const std::string& name = shared.stored.name;
    const auto found = here.find(name);
    const Seen seen{.shared = shared,
                    .here = found == here.end() ? nullptr : &found->second,
                    .servers = view.servers,
                    .leaving = leaving,
                    .now = now};
    if (const auto action = DueOf(seen, turns_[name])) {
      jobs.push_back({*action, name, shared.stored.log});
    }
  }
  for (const auto& [name, model] : here) {
    const bool followed = model.role == ModelHere::Role::kFollower;
    if (!followed || model.configured || SharedIn(view, name) != nullptr) continue;
    jobs.push_back({Action::kLetGo, name, ""});
  }
  if (now >= aliases_at_ + kRetryInterval) {
    aliases_at_ = now;
    jobs.push_back({Action::kFollowAliases, "", ""});
  }
  return jobs;
}

std::vector<std::string> RoleMachine::GoneOwners(const StoreView& view) {
  std::set<std::string> now;
  for (const SharedModel& shared : view.models) {
    if (shared.owned && !shared.owner.empty()) now.insert(shared.owner);
  }
  std::vector<std::string> gone;
  std::ranges::set_difference(owners_, now, std::back_inserter(gone));
  owners_ = std::move(now);
  return gone;
}

bool RoleMachine::MayTry(Turn& turn, absl::Time now) {
  if (now < turn.tried + kRetryInterval) return false;
  turn.tried = now;
  return true;
}

void RoleMachine::SeeFirst(const Seen& seen, Turn& turn) const {
  const std::string& first =
      seen.servers.empty() ? options_.self : FirstOf(seen.shared.stored.log, seen.servers);
  if (first == turn.first) return;
  turn.first = first;
  turn.first_since = seen.now;
  turn.handed_to.clear();
}

std::optional<RoleJob::Action> RoleMachine::DueOf(const Seen& seen, Turn& turn) const {
  SeeFirst(seen, turn);
  if (seen.here == nullptr || seen.here->role == ModelHere::Role::kAbsent) {
    return DueOfAbsent(seen, turn);
  }
  const bool follows = seen.here->role == ModelHere::Role::kFollower;
  const bool free = follows && (!seen.shared.owned || seen.shared.mine);
  turn.free_since = free ? std::min(turn.free_since, seen.now) : absl::InfiniteFuture();
  return follows ? DueOfFollower(seen, turn) : DueOfOwner(seen, turn);
}

std::optional<RoleJob::Action> RoleMachine::DueOfAbsent(const Seen& seen, Turn& turn) {
  const SharedModel& shared = seen.shared;
  const ModelHere* const here = seen.here;
  // A server without a record of releases takes the word of an owner, which may serve only now.
  const bool vouched = shared.owned && !shared.owner.empty() && turn.word_of != shared.term;
  const bool passes = here == nullptr
                          ? shared.stored.made_at_run_time
                          : (here->passes || vouched) && !here->opening && !here->differs;
  if (!passes || !MayTry(turn, seen.now)) return std::nullopt;
  if (vouched) turn.word_of = shared.term;
  return Action::kTakeIn;
}

std::optional<RoleJob::Action> RoleMachine::DueOfOwner(const Seen& seen, Turn& turn) const {
  if (seen.shared.term > seen.here->term) {
    return MayTry(turn, seen.now) ? std::optional(Action::kStepDown) : std::nullopt;
  }
  if (seen.here->retired) {
    return MayTry(turn, seen.now) ? std::optional(Action::kOwnAgain) : std::nullopt;
  }
  if (!MayHandOver(seen, turn)) return std::nullopt;
  turn.handed_to = turn.first;
  return Action::kStepDown;
}

std::optional<RoleJob::Action> RoleMachine::DueOfFollower(const Seen& seen, Turn& turn) const {
  const StoredModel& stored = seen.shared.stored;
  const ModelHere& here = *seen.here;
  const bool changed = turn.files != stored.versions.files;
  turn.files = stored.versions.files;
  if (!here.knows && turn.asked + kRetryInterval <= seen.now) {
    turn.asked = seen.now;
    return Action::kConfirm;
  }
  if (here.knows && MayClaim(seen, turn)) return Action::kPromote;
  if (here.stale) {
    return MayTry(turn, seen.now) ? std::optional(Action::kFollowAnew) : std::nullopt;
  }
  if (changed && stored.made_at_run_time) return Action::kTakeConfig;
  if (options_.asks_others && turn.compared + kCompareInterval <= seen.now) {
    turn.compared = seen.now;
    return Action::kCompare;
  }
  return std::nullopt;
}

bool RoleMachine::MayClaim(const Seen& seen, const Turn& turn) const {
  if (seen.leaving) return false;
  const auto rank = static_cast<int>(RankOf(seen.shared.stored.log, seen.servers, options_.self));
  return seen.now >= turn.free_since + rank * kClaimInterval;
}

bool RoleMachine::MayHandOver(const Seen& seen, const Turn& turn) const {
  const bool settled = seen.now >= turn.first_since + kSettled;
  return seen.shared.owned && turn.first != options_.self && settled &&
         turn.handed_to != turn.first && !seen.leaving;
}

}  // namespace bandana::server
