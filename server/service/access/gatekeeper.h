// Who may come in, for the calls of gRPC: access rules, and the rates that go with them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/service/access/access.h"
#include "server/service/access/rate_limit.h"

namespace grpc {
class ServerContextBase;
}

namespace bandana::server {

struct Admittance {
  absl::Status status;
  Caller caller;               // when OK
  absl::Duration retry_after;  // with RESOURCE_EXHAUSTED: when the caller's rate allows a call
};

// Threads: all methods are safe. Callers point into it.
class Gatekeeper {
 public:
  Gatekeeper(AccessRules rules, const Clock& clock);

  // Identifies the caller, checks its roles, and counts the call against its rate, in this order: a
  // call that is refused for another reason costs nothing. Errors: of Identify and AuthorizeRpc;
  // RESOURCE_EXHAUSTED.
  Admittance Admit(const grpc::ServerContextBase& context, const RpcRule* rule);

 private:
  const AccessRules rules_;
  const Clock& clock_;
  const bool by_certificate_;                      // some principal is
  std::vector<std::unique_ptr<RateLimit>> rates_;  // by principal; the last is of all others
};

}  // namespace bandana::server
