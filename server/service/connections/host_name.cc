#include "server/service/connections/host_name.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/address.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

bool HasPort(std::string_view host) {
  return host.rfind(':') != std::string_view::npos && !host.ends_with(']');
}

}  // namespace

std::string_view NameOfHost(std::string_view host) {
  return HasPort(host) ? host.substr(0, host.rfind(':')) : host;
}

bool IsLoopbackHost(std::string_view host) {
  const std::string name = absl::AsciiStrToLower(ToAbsl(host));
  const auto address = ParseAddress(HasPort(name) ? name : absl::StrCat(name, ":80"));
  return address.ok() && IsLoopback(*address);
}

}  // namespace bandana::server
