#include "server/api/routes.h"

#include "absl/strings/ascii.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kModels = "/v1/models/";
constexpr std::string_view kGetModelMethod = "GetModel";

// Those of the methods of Handlers; health is asked for by gRPC alone.
bool IsRouted(const Rpc& rpc) {
  return rpc.make_exchange != nullptr && rpc.rule.scope != Scope::kOpen;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

std::string VerbOf(const Rpc& rpc) {
  if (!IsRouted(rpc) || rpc.method() == kGetModelMethod) return "";
  std::string verb(rpc.method());
  if (verb.starts_with("Get")) verb.erase(0, 3);
  verb[0] = absl::ascii_tolower(static_cast<unsigned char>(verb[0]));
  return verb;
}

std::vector<const Rpc*> RoutedRpcs() {
  std::vector<const Rpc*> rpcs;
  for (const Rpc& rpc : QueueRpcs()) {
    if (IsRouted(rpc)) rpcs.push_back(&rpc);
  }
  return rpcs;
}

std::optional<ModelPath> ModelPathOf(std::string_view path) {
  if (!path.starts_with(kModels)) return std::nullopt;
  const std::string_view rest = path.substr(kModels.size());
  const std::size_t colon = rest.find(':');
  ModelPath parts{.model = std::string(rest.substr(0, colon)), .verb = ""};
  if (colon != std::string_view::npos) parts.verb = std::string(rest.substr(colon + 1));
  if (parts.model.empty() || parts.model.find('/') != std::string::npos) return std::nullopt;
  if (parts.verb.empty() && colon != std::string_view::npos) return std::nullopt;
  return parts;
}

std::optional<Route> FindRoute(std::string_view path) {
  const std::optional<std::string> plain = Unescaped(path);
  if (!plain) return std::nullopt;
  std::optional<ModelPath> parts = ModelPathOf(*plain);
  if (!parts) return std::nullopt;
  Route route{.model = std::move(parts->model), .method = parts->verb.empty() ? "GET" : "POST"};
  for (const Rpc* rpc : RoutedRpcs()) {
    if (VerbOf(*rpc) == parts->verb) route.rpc = rpc;
  }
  return route.rpc == nullptr ? std::nullopt : std::make_optional(std::move(route));
}

const Rpc* FindGrpcWebRpc(std::string_view path) {
  if (!path.starts_with('/')) return nullptr;
  const Rpc* const rpc = FindRpc(path.substr(1));
  return rpc == nullptr || !IsRouted(*rpc) ? nullptr : rpc;
}

}  // namespace bandana::server
