#include "server/api/origins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/address.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kSchemes[] = {"https://", "http://"};

std::string_view HostOf(std::string_view origin) {
  for (const std::string_view scheme : kSchemes) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return "";
}

bool IsLoopbackHost(std::string_view host) {
  const bool has_port = host.rfind(':') != std::string_view::npos && !host.ends_with(']');
  const auto address = ParseAddress(has_port ? std::string(host) : std::string(host) + ":80");
  return address.ok() && IsLoopback(*address);
}

}  // namespace

bool IsOrigin(std::string_view text) {
  const std::string_view host = HostOf(text);
  return !host.empty() && std::ranges::all_of(host, [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == ':' ||
           c == '[' || c == ']';
  });
}

Origins::Origins(std::vector<std::string> allowed, bool loopback)
    : allowed_(std::move(allowed)),
      all_(std::ranges::find(allowed_, "*") != allowed_.end()),
      loopback_(loopback) {}

bool Origins::Allows(const HttpCall& call) const {
  const std::string_view origin = call.Header("origin");
  if (origin.empty() || all_) return true;
  if (std::ranges::find(allowed_, origin) != allowed_.end()) return true;
  const std::string_view host = call.Header("host");
  return !host.empty() && HostOf(origin) == host && (!loopback_ || IsLoopbackHost(host));
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
       "x-grpc-web, x-user-agent"});
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
