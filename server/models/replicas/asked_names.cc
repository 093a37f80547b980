#include "server/models/replicas/asked_names.h"

#include <functional>

namespace bandana::server {
namespace {

// So long a name that nobody knew is remembered: whoever asks again within it is told.
constexpr absl::Duration kAskedFor = absl::Seconds(3);

}  // namespace

bool AskedNames::MayBeNew(std::string_view name, absl::Time now) {
  const std::size_t hash = std::hash<std::string_view>()(name);
  const std::lock_guard lock(mutex_);
  Asked& asked = asked_[hash % asked_.size()];
  const bool again = asked.name == hash && now - asked.at < kAskedFor;
  if (!again) asked = {.name = hash, .at = now};
  return !again || looked_at_ < asked.at;
}

void AskedNames::Looked(absl::Time began) {
  const std::lock_guard lock(mutex_);
  looked_at_ = began;
}

}  // namespace bandana::server
