#include "server/service/transport/exchange.h"

#include "common/base/status.h"

namespace bandana::server::exchange_internal {

absl::Status NameOne(std::string_view field, const std::string& model, std::string& name) {
  if (name.empty()) name = model;
  if (name == model) return absl::OkStatus();
  return InvalidArgument(ToAbsl(field), ": must be empty or the one of the path");
}

}  // namespace bandana::server::exchange_internal
