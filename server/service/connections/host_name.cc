#include "server/service/connections/host_name.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kPrivateZones[] = {".internal", ".local", ".localhost", ".home.arpa"};

bool HasPort(std::string_view host) {
  return host.rfind(':') != std::string_view::npos && !host.ends_with(']');
}

std::string Lower(std::string_view text) { return absl::AsciiStrToLower(ToAbsl(text)); }

bool IsIp(const std::string& name) {
  in6_addr unused;
  if (!name.starts_with('[')) return ::inet_pton(AF_INET, name.c_str(), &unused) == 1;
  return name.ends_with(']') &&
         ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &unused) == 1;
}

std::string NameOfMachine() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return Lower(name);
}

}  // namespace

std::string_view NameOfHost(std::string_view host) {
  return HasPort(host) ? host.substr(0, host.rfind(':')) : host;
}

bool IsLoopbackHost(std::string_view host) {
  const std::string name = Lower(host);
  const auto address = ParseAddress(HasPort(name) ? name : absl::StrCat(name, ":80"));
  return address.ok() && IsLoopback(*address);
}

bool IsOwnHost(const Address& listen, std::string_view host) {
  if (IsLoopbackHost(host)) return true;
  if (IsLoopback(listen)) return false;
  std::string name = Lower(NameOfHost(host));
  if (name.ends_with('.')) name.pop_back();
  if (name.empty()) return false;
  if (IsIp(name) || name == Lower(listen.host) || name == NameOfMachine()) return true;
  return name.find_first_of(".:") == std::string::npos ||
         std::ranges::any_of(kPrivateZones,
                             [&](std::string_view zone) { return name.ends_with(zone); });
}

}  // namespace bandana::server
