#include "server/api/origins.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/status.h"
#include "server/service/connections/host_name.h"

namespace bandana::server {
namespace {

constexpr std::string_view kSchemes[] = {"https://", "http://"};

std::string_view HostOf(std::string_view origin) {
  for (const std::string_view scheme : kSchemes) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return "";
}

}  // namespace

bool IsOrigin(std::string_view text) {
  const std::string_view host = HostOf(text);
  return !host.empty() && std::ranges::all_of(host, [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == ':' ||
           c == '[' || c == ']';
  });
}

Origins::Origins(std::vector<std::string> allowed, Address listen, bool tls)
    : allowed_(std::move(allowed)),
      all_(std::ranges::find(allowed_, "*") != allowed_.end()),
      listen_(std::move(listen)),
      tls_(tls) {}

bool Origins::IsOwn(std::string_view host) const { return tls_ || IsOwnHost(listen_, host); }

bool Origins::AllowsHost(const HttpCall& call) const {
  const std::string host = absl::AsciiStrToLower(ToAbsl(call.Header("host")));
  // No browser leaves the host out.
  if (all_ || host.empty() || IsOwn(host)) return true;
  return std::ranges::any_of(allowed_, [name = NameOfHost(host)](const std::string& origin) {
    return NameOfHost(HostOf(origin)) == name;
  });
}

bool Origins::Allows(const HttpCall& call) const {
  const std::string_view origin = call.Header("origin");
  if (origin.empty() || all_) return true;
  if (std::ranges::find(allowed_, origin) != allowed_.end()) return true;
  // A page that came without TLS may be that of whoever is on the way.
  if (tls_ && !origin.starts_with("https://")) return false;
  const std::string_view host = call.Header("host");
  return !host.empty() && HostOf(origin) == host && IsOwn(host);
}

bool Origins::IsPreflight(const HttpCall& call) {
  return call.method == "OPTIONS" && !call.Header("access-control-request-method").empty();
}

HttpAnswer Origins::AnswerPreflight(const HttpCall& call) const {
  HttpAnswer answer{.status = 403, .headers = {{"vary", "origin"}}, .body = ""};
  if (!Allows(call) || call.Header("origin").empty()) return answer;
  answer.status = 204;
  answer.headers.clear();
  Open(call, answer);
  answer.headers.push_back({"access-control-allow-methods", "GET, POST, PUT, DELETE"});
  answer.headers.push_back(
      {"access-control-allow-headers",
       "authorization, content-type, grpc-timeout, ocp-apim-subscription-key, traceparent, "
       "x-grpc-web, x-ms-client-request-id, x-ms-command-name, x-ms-useragent, x-user-agent"});
  answer.headers.push_back({"access-control-max-age", "7200"});
  return answer;
}

void Origins::Open(const HttpCall& call, HttpAnswer& answer) const {
  const std::string_view origin = call.Header("origin");
  if (origin.empty()) return;
  answer.headers.push_back({"access-control-allow-origin", std::string(all_ ? "*" : origin)});
  answer.headers.push_back({"vary", "origin"});
  answer.headers.push_back(
      {"access-control-expose-headers",
       "grpc-status, grpc-message, grpc-retry-pushback-ms, request-id, retry-after"});
}

}  // namespace bandana::server
