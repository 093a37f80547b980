#include "server/service/transport/unfinished_calls.h"

#include <utility>

namespace bandana::server {

std::uint64_t UnfinishedCalls::Add(Finish answer) {
  const std::lock_guard lock(mutex_);
  if (closed_) return 0;
  calls_.emplace(next_, std::move(answer));
  return next_++;
}

Finish UnfinishedCalls::Take(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return nullptr;
  Finish answer = std::move(found->second);
  calls_.erase(found);
  return answer;
}

void UnfinishedCalls::Close(const absl::Status& status) {
  std::unordered_map<std::uint64_t, Finish> calls;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
  }
  for (const auto& [ticket, answer] : calls) answer(status);
}

}  // namespace bandana::server
