#include "client/abi/src/error.h"

#include <algorithm>
#include <cstring>

#include "common/base/status.h"

namespace bandana::abi {
namespace {

constexpr std::size_t kErrorBytes = 512;
thread_local char last_error[kErrorBytes];

}  // namespace

std::int32_t Returned(const absl::Status& status) {
  if (status.ok()) return 0;
  const std::string_view message = ToStd(status.message());
  const std::size_t size = std::min(message.size(), kErrorBytes - 1);
  std::memcpy(last_error, message.data(), size);
  last_error[size] = '\0';
  return static_cast<std::int32_t>(status.code());
}

const char* LastError() { return last_error; }

}  // namespace bandana::abi
