#include "server/service/transport/handed_calls.h"

#include <array>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {

Credentials HandedCaller::credentials() const {
  return {.authorization = {authorization.begin(), authorization.end()},
          .subjects = {subjects.begin(), subjects.end()}};
}

absl::StatusOr<std::unique_ptr<HandedCalls::Ticket>> HandedCalls::Hand(HandedCaller caller) {
  std::array<std::byte, 32> bytes;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(bytes));
  std::string text = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  {
    const std::lock_guard lock(mutex_);
    callers_.emplace(text, std::make_shared<const HandedCaller>(std::move(caller)));
  }
  return std::unique_ptr<Ticket>(new Ticket(*this, std::move(text)));
}

std::shared_ptr<const HandedCaller> HandedCalls::Find(std::string_view ticket) const {
  const std::lock_guard lock(mutex_);
  const auto found = callers_.find(std::string(ticket));
  return found == callers_.end() ? nullptr : found->second;
}

void HandedCalls::Take(const std::string& ticket) {
  const std::lock_guard lock(mutex_);
  callers_.erase(ticket);
}

}  // namespace bandana::server
