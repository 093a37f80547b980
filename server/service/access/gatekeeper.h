// Who may come in: access rules, and the rates that go with them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/shared_cell.h"
#include "server/service/access/access.h"
#include "server/service/access/jwt_callers.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/access/rate_limit.h"

namespace grpc {
class ServerContextBase;
}

namespace bandana::server {

struct Admittance {
  absl::Status status;
  Caller caller;               // when OK, or of a known caller
  absl::Duration retry_after;  // with RESOURCE_EXHAUSTED: when the caller's rate allows a call
};

// Threads: all methods are safe.
class Gatekeeper {
 public:
  Gatekeeper(AccessRules rules, const Clock& clock);

  // Replaces the rules. Calls that were let in go on under the old ones; every later call, on any
  // connection, meets the new ones. A principal whose name and rate stay keeps what it has used of
  // its rate, and one whose name and quota stay what it has used of that.
  void Replace(AccessRules rules);

  // Identifies the caller, checks its roles, and counts the call against its rate, in this order: a
  // call that is refused for another reason costs nothing. Rpcs with a rate of their own cost the
  // others nothing. A bearer token that no principal has may
  // be one that an issuer of the rules has signed. Errors: of Identify, ReadJwt, VerifyJwt and
  // AuthorizeRpc; RESOURCE_EXHAUSTED.
  Admittance Admit(const grpc::ServerContextBase& context, const RpcRule* rule);
  Admittance Admit(const Credentials& credentials, const RpcRule* rule);

  // Whether Admit would let such a caller in, were its rate endless. It costs nothing of a rate.
  absl::Status Knows(const Credentials& credentials, const RpcRule& rule);

  // Reads the key files of issuers that have changed. Returns a line per file that was taken, and
  // per key that was left out of it, and the errors of those that were not: their former keys stay
  // in use. One thread at a time.
  struct KeyNews {
    std::vector<std::string> taken;
    std::vector<std::string> left_out;
    std::vector<std::string> failed;
  };
  KeyNews LookAtKeys();

 private:
  // Rules and what belongs to them; never changed.
  struct RuleSet {
    AccessRules rules;
    bool by_certificate = false;                    // some principal is
    std::vector<std::shared_ptr<CallRates>> rates;  // by principal; the last is of all others

    std::vector<std::shared_ptr<NewUserQuota>> quotas;  // by principal; null: unlimited
    std::vector<std::shared_ptr<JwtCallers>> issuers;   // by jwt_issuers

    // The subjects of the issuer with this name and audience; null: none.
    JwtCallers* IssuerLike(const JwtIssuerRules& rules) const;
    // The quota of the principal with this name and quota; null: none.
    std::shared_ptr<NewUserQuota> QuotaOf(const Principal& principal) const;
    // The limit of the principal with this name and rate; null: none.
    std::shared_ptr<CallRates> RateOf(const Principal& principal) const;
  };
  // `before` may be null.
  std::shared_ptr<const RuleSet> MakeRuleSet(AccessRules rules, const RuleSet* before) const;

  // A caller, its rate, and whether it has a role that the rpc demands.
  struct Known {
    absl::Status status;
    Caller caller;
    CallRates* rate = nullptr;  // of the caller, which owns it
  };
  static Known Recognize(const std::shared_ptr<const RuleSet>& set, const Credentials& credentials,
                         const RpcRule* rule);
  Admittance Admit(const std::shared_ptr<const RuleSet>& set, const Credentials& credentials,
                   const RpcRule* rule);

  const Clock& clock_;
  std::map<std::string, std::string> key_troubles_;  // of LookAtKeys: told, by path
  SharedCell<const RuleSet> current_;
};

}  // namespace bandana::server
