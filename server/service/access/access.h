// Who may do what: pure functions of rules, credentials, rpc and model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/service/access/rules.h"

namespace bandana::server {

// A caller known by name. Exactly one of token_digest and certificate_subject is set. One with
// neither is nobody: the principal of a generated token before the server has opened that token.
struct Principal {
  std::string name;
  std::string shown_name;                    // in logs; empty: `name`
  std::optional<Sha256Digest> token_digest;  // SHA-256 of the bearer token
  std::string certificate_subject;           // common name or DNS alternative name
  Roles roles;
  std::vector<std::string> models;      // may be named; empty = all
  double calls_per_second = 0;          // 0 = unlimited
  std::uint32_t burst = 1;              // calls at once, >= 1
  std::uint64_t new_users_per_day = 0;  // per model; 0 = unlimited
};

class NewUserQuota;  // new_user_quota.h
class JwtKeyFile;    // jwt_keys.h

// Whose signed tokens are taken, and what their subjects may do. Each subject is a principal of its
// own, whose name no configured principal can have.
struct JwtIssuerRules {
  std::string issuer;    // iss
  std::string audience;  // in aud
  std::shared_ptr<JwtKeyFile> keys;
  Roles roles;
  std::vector<std::string> models;      // may be named; empty = all
  double calls_per_second = 0;          // of each subject; 0 = unlimited
  std::uint32_t burst = 1;              // calls at once, >= 1
  std::uint64_t new_users_per_day = 0;  // of each subject per model; 0 = unlimited
};

struct AccessRules {
  std::vector<Principal> principals;
  std::vector<JwtIssuerRules> jwt_issuers;
  Roles anonymous_roles;                  // of callers that are no principal
  double anonymous_calls_per_second = 0;  // of all of them together; 0 = unlimited
  bool generate_token = false;  // the only principal is that of a token which the server draws
};

// The credentials that a call brought with it. Views into the call.
struct Credentials {
  std::vector<std::string_view> authorization;  // every value of that metadata key
  std::vector<std::string_view> subjects;       // of a certificate that TLS has verified
};

// Null: a caller that is no principal.
struct Caller {
  const Principal* principal = nullptr;
  std::shared_ptr<const void> owner;  // of both pointers, where rules may be replaced
  NewUserQuota* new_users = nullptr;  // null: unlimited
};

// For logs. Never a credential, nor the subject of a signed token: it may be a person.
std::string_view NameOf(const Caller& caller);

// The token of an authorization `Bearer TOKEN`; nothing of another form.
std::optional<std::string_view> BearerToken(std::string_view authorization);

// Who calls, among the configured principals. A token decides alone, whatever the certificate says;
// a wrong one is an error, not an anonymous caller. Without a token, the first principal that has
// one of the certificate's subjects. Digests are compared in constant time, every principal's each
// time. Errors: UNAUTHENTICATED an authorization that is no known token.
absl::StatusOr<Caller> Identify(const AccessRules& rules, const Credentials& credentials);

// Whether the caller has a role that the rpc demands. `rule` null: an rpc without a rule. Errors:
// UNAUTHENTICATED a caller that is no principal and lacks the role; PERMISSION_DENIED a principal
// that lacks it, or is bound to models where the rpc concerns the whole server.
absl::Status AuthorizeRpc(const AccessRules& rules, const Caller& caller, const RpcRule* rule);

// Whether it may name this model. The answer does not depend on whether the model exists. Errors:
// PERMISSION_DENIED.
absl::Status AuthorizeModel(const Caller& caller, std::string_view model);

}  // namespace bandana::server
