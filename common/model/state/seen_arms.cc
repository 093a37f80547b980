#include "common/model/state/seen_arms.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace bandana {
namespace {

constexpr std::int64_t kSecondMax = std::numeric_limits<std::uint32_t>::max();

std::uint32_t SecondOf(absl::Time time) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(absl::ToUnixSeconds(time), 0, kSecondMax));
}

}  // namespace

void SeenArms::Put(SeenKind kind, EffectKey user, Entry entry) {
  const auto [known, added] = users_.try_emplace(user);
  if (added) {
    known->second = order_.insert(order_.end(), User{.key = user});
  } else {
    order_.splice(order_.end(), order_, known->second);
  }
  known->second->newest = entry.second;
  std::vector<Entry>& arms = known->second->arms[static_cast<std::size_t>(kind)];
  std::erase_if(arms, [&](const Entry& before) { return before.arm == entry.arm; });
  if (arms.size() >= bounds_.arms_per_user) {
    arms.erase(arms.begin(),
               arms.begin() + static_cast<std::ptrdiff_t>(arms.size() + 1 - bounds_.arms_per_user));
  }
  arms.push_back(entry);
}

void SeenArms::DropUsers() {
  const std::int64_t kept = absl::ToInt64Seconds(bounds_.kept);
  const auto goes = [&](const User& user) {
    return order_.size() > bounds_.users || std::int64_t{user.newest} + kept < newest_;
  };
  while (!order_.empty() && goes(order_.front())) {
    users_.erase(order_.front().key);
    order_.pop_front();
  }
}

void SeenArms::Add(SeenKind kind, EffectKey user, std::uint32_t arm, absl::Time time) {
  const std::lock_guard lock(mutex_);
  newest_ = std::max(newest_, SecondOf(time));
  Put(kind, user, {.arm = arm, .second = newest_});
  DropUsers();
}

void SeenArms::Forget(std::span<const EffectKey> keys) {
  const std::lock_guard lock(mutex_);
  for (const EffectKey key : keys) {
    const auto known = users_.find(key);
    if (known == users_.end()) continue;
    order_.erase(known->second);
    users_.erase(known);
  }
}

std::vector<SeenArms::Seen> SeenArms::Of(SeenKind kind, EffectKey user, absl::Time from) const {
  std::vector<Seen> seen;
  const std::lock_guard lock(mutex_);
  const auto known = users_.find(user);
  if (known == users_.end()) return seen;
  for (const Entry& entry : known->second->arms[static_cast<std::size_t>(kind)]) {
    const absl::Time time = absl::FromUnixSeconds(entry.second);
    if (time >= from) seen.push_back({.arm = entry.arm, .time = time});
  }
  return seen;
}

std::uint64_t SeenArms::users() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

void SeenArms::Encode(ByteWriter& out) const {
  const std::lock_guard lock(mutex_);
  out.U32(newest_);
  out.U64(order_.size());
  for (const User& user : order_) {
    out.U64(user.key);
    for (const std::vector<Entry>& arms : user.arms) {
      out.U32(static_cast<std::uint32_t>(arms.size()));
      for (const Entry& entry : arms) {
        out.U32(entry.arm);
        out.U32(entry.second);
      }
    }
  }
}

bool SeenArms::Decode(ByteReader& in) {
  const std::lock_guard lock(mutex_);
  order_.clear();
  users_.clear();
  newest_ = in.U32();
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const EffectKey user = in.U64();
    // Both kinds in the order in which they came.
    std::vector<Entry> kinds[2];
    for (std::vector<Entry>& arms : kinds) {
      for (std::uint32_t n = in.U32(); n > 0 && in.ok(); --n) {
        const std::uint32_t arm = in.U32();
        arms.push_back({.arm = arm, .second = in.U32()});
      }
    }
    std::uint32_t newest = 0;
    for (std::size_t kind = 0; kind < 2; ++kind) {
      for (const Entry& entry : kinds[kind]) {
        newest = std::max(newest, entry.second);
        Put(static_cast<SeenKind>(kind), user, entry);
      }
    }
    if (const auto known = users_.find(user); known != users_.end()) known->second->newest = newest;
    DropUsers();
  }
  return in.ok();
}

}  // namespace bandana
