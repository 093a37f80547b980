#include "server/service/access/new_user_quota.h"

#include <algorithm>

namespace bandana::server {

thread_local NewUserQuota* CallQuota::current_ = nullptr;

namespace {

constexpr absl::Duration kLately = absl::Seconds(10);
constexpr std::size_t kLatelyUsersMax = 1024;

}  // namespace

bool NewUserQuota::Take(std::string_view model, std::string_view user) {
  const Sha256Digest digest = Sha256Of(user);
  const absl::Time now = clock_.Steady();
  const double most = static_cast<double>(per_day_);
  const std::lock_guard lock(mutex_);
  auto bucket = buckets_.find(model);
  if (bucket == buckets_.end()) {
    bucket = buckets_.emplace(std::string(model), Bucket{.users = most, .at = now}).first;
  }
  Bucket& left = bucket->second;
  while (!left.lately.empty() && now - left.lately.front().at >= kLately) left.lately.pop_front();
  const bool counted =
      std::ranges::any_of(left.lately, [&](const Counted& one) { return one.user == digest; });
  if (counted) return true;
  const double days = absl::FDivDuration(now - left.at, absl::Hours(24));
  left.users = std::min(most, left.users + days * most);
  left.at = now;
  if (left.users < 1) return false;
  left.users -= 1;
  left.lately.push_back({digest, now});
  if (left.lately.size() > kLatelyUsersMax) left.lately.pop_front();
  return true;
}

}  // namespace bandana::server
