#include "server/service/access/new_user_quota.h"

#include <algorithm>

namespace bandana::server {

thread_local NewUserQuota* CallQuota::current_ = nullptr;

bool NewUserQuota::Take(std::string_view model) {
  const absl::Time now = clock_.Now();
  const double most = static_cast<double>(per_day_);
  const std::lock_guard lock(mutex_);
  auto bucket = buckets_.find(model);
  if (bucket == buckets_.end()) {
    bucket = buckets_.emplace(std::string(model), Bucket{.users = most, .at = now}).first;
  }
  Bucket& left = bucket->second;
  // A clock that was set back adds nothing.
  const double days =
      absl::FDivDuration(std::max(now - left.at, absl::ZeroDuration()), absl::Hours(24));
  left.users = std::min(most, left.users + days * most);
  left.at = now;
  if (left.users < 1) return false;
  left.users -= 1;
  return true;
}

}  // namespace bandana::server
