#include "server/service/access/new_user_quota.h"

#include <algorithm>
#include <functional>

namespace bandana::server {

thread_local NewUserQuota* CallQuota::current_ = nullptr;

namespace {

constexpr std::size_t kLately = 1024;  // users; so many become known in some milliseconds

}  // namespace

bool NewUserQuota::Take(std::string_view model, std::string_view user) {
  const std::size_t hash = std::hash<std::string_view>()(user);
  const absl::Time now = clock_.Now();
  const double most = static_cast<double>(per_day_);
  const std::lock_guard lock(mutex_);
  auto bucket = buckets_.find(model);
  if (bucket == buckets_.end()) {
    bucket = buckets_.emplace(std::string(model), Bucket{.users = most, .at = now}).first;
  }
  Bucket& left = bucket->second;
  const bool counted =
      !user.empty() && std::find(left.lately.begin(), left.lately.end(), hash) != left.lately.end();
  if (counted) return true;
  // A clock that was set back adds nothing.
  const double days =
      absl::FDivDuration(std::max(now - left.at, absl::ZeroDuration()), absl::Hours(24));
  left.users = std::min(most, left.users + days * most);
  left.at = now;
  if (left.users < 1) return false;
  left.users -= 1;
  if (!user.empty()) left.lately.push_back(hash);
  if (left.lately.size() > kLately) left.lately.pop_front();
  return true;
}

}  // namespace bandana::server
