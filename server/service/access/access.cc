#include "server/service/access/access.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

absl::StatusOr<Caller> CallerOfToken(const AccessRules& rules, std::string_view authorization) {
  const std::optional<std::string_view> token = BearerToken(authorization);
  if (!token) return absl::UnauthenticatedError("authorization: must be `Bearer TOKEN`");
  const Sha256Digest digest = Sha256Of(*token);
  Caller caller;
  for (const Principal& principal : rules.principals) {
    if (!principal.token_digest) continue;
    const bool same =
        CRYPTO_memcmp(digest.data(), principal.token_digest->data(), digest.size()) == 0;
    caller.principal = same ? &principal : caller.principal;
  }
  if (caller.principal == nullptr) {
    return absl::UnauthenticatedError("authorization: the token is not known here");
  }
  return caller;
}

Caller CallerOfSubjects(const AccessRules& rules, const std::vector<std::string_view>& subjects) {
  for (const Principal& principal : rules.principals) {
    if (principal.certificate_subject.empty()) continue;
    const auto found = std::find(subjects.begin(), subjects.end(), principal.certificate_subject);
    if (found != subjects.end()) return {.principal = &principal};
  }
  return {};
}

}  // namespace

std::string_view NameOf(const Caller& caller) {
  if (caller.principal == nullptr) return "anonymous";
  const Principal& principal = *caller.principal;
  return principal.shown_name.empty() ? principal.name : principal.shown_name;
}

std::optional<std::string_view> BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(ToAbsl(authorization), ToAbsl(kScheme))) return std::nullopt;
  return authorization.substr(kScheme.size());
}

absl::StatusOr<Caller> Identify(const AccessRules& rules, const Credentials& credentials) {
  if (credentials.authorization.size() > 1) {
    return absl::UnauthenticatedError("authorization: must be given once");
  }
  if (!credentials.authorization.empty()) {
    return CallerOfToken(rules, credentials.authorization.front());
  }
  return CallerOfSubjects(rules, credentials.subjects);
}

absl::Status AuthorizeRpc(const AccessRules& rules, const Caller& caller, const RpcRule* rule) {
  if (rule == nullptr) return absl::PermissionDeniedError("nobody may call this");
  if (rule->scope == Scope::kOpen) return absl::OkStatus();
  if (caller.principal == nullptr) {
    if (rules.anonymous_roles.Intersects(rule->any_of)) return absl::OkStatus();
    return absl::UnauthenticatedError(
        "this call needs a bearer token or a client certificate that the server knows");
  }
  if (!caller.principal->roles.Intersects(rule->any_of)) {
    return absl::PermissionDeniedError("the caller does not have the role that this call needs");
  }
  if (rule->scope == Scope::kWholeServer && !caller.principal->models.empty()) {
    return absl::PermissionDeniedError("the caller is bound to some models; this concerns all");
  }
  return absl::OkStatus();
}

absl::Status AuthorizeModel(const Caller& caller, std::string_view model) {
  if (caller.principal == nullptr || caller.principal->models.empty()) return absl::OkStatus();
  const std::vector<std::string>& models = caller.principal->models;
  if (std::find(models.begin(), models.end(), model) != models.end()) return absl::OkStatus();
  return absl::PermissionDeniedError("model: not one that the caller may name");
}

}  // namespace bandana::server
