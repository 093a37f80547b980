#include "server/ops/config/collector.h"

#include "common/base/status.h"

namespace bandana::server {

absl::StatusOr<TraceCollector> ParseCollector(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  constexpr char kForm[] =
      "must be http://HOST:PORT with a path or none, HOST 127.0.0.1, [::1] or localhost: spans go "
      "without TLS, so only to an agent on this machine; got \"";
  if (!url.starts_with(kScheme)) return InvalidArgument(kForm, ToAbsl(url), "\"");
  const std::string_view rest = url.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  const absl::StatusOr<Address> address = ParseAddress(rest.substr(0, slash));
  if (!address.ok() || address->port == 0 || !IsLoopback(*address)) {
    return InvalidArgument(kForm, ToAbsl(url), "\"");
  }
  TraceCollector collector{.address = *address};
  if (slash != std::string_view::npos && rest.size() > slash + 1) {
    collector.path = std::string(rest.substr(slash));
  }
  for (const char c : collector.path) {
    if (c <= ' ' || c > '~') return InvalidArgument(kForm, ToAbsl(url), "\"");
  }
  return collector;
}

}  // namespace bandana::server
