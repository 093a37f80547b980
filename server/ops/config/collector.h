// Where traces go (--trace_collector).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/address.h"

namespace bandana::server {

struct TraceCollector {
  Address address;
  std::string path = "/v1/traces";
};
// From `http://HOST:PORT` with a path or none. HOST is 127.0.0.1, [::1] or localhost: spans go
// without TLS, so only to an agent on this machine. Errors: INVALID_ARGUMENT.
absl::StatusOr<TraceCollector> ParseCollector(std::string_view url);

}  // namespace bandana::server
