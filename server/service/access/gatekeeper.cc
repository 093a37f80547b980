#include "server/service/access/gatekeeper.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana::server {
namespace {

std::string_view ToStd(grpc::string_ref text) { return {text.data(), text.size()}; }

bool HasCertificateSubjects(const AccessRules& rules) {
  return std::any_of(rules.principals.begin(), rules.principals.end(),
                     [](const Principal& p) { return !p.certificate_subject.empty(); });
}

// Of a certificate that the handshake has verified: without one there are no such properties.
void AppendSubjects(const grpc::ServerContextBase& context, Credentials& credentials) {
  const auto peer = context.auth_context();
  if (peer == nullptr) return;
  const auto security = peer->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  if (security.size() != 1 || ToStd(security[0]) != GRPC_SSL_TRANSPORT_SECURITY_TYPE) return;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : peer->FindPropertyValues(property)) {
      credentials.subjects.push_back(ToStd(value));
    }
  }
}

std::uint32_t OneSecond(double calls_per_second) {
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(calls_per_second)));
}

}  // namespace

Gatekeeper::Gatekeeper(AccessRules rules, const Clock& clock)
    : rules_(std::move(rules)), clock_(clock), by_certificate_(HasCertificateSubjects(rules_)) {
  for (const Principal& principal : rules_.principals) {
    rates_.push_back(std::make_unique<RateLimit>(principal.calls_per_second, principal.burst));
  }
  rates_.push_back(std::make_unique<RateLimit>(rules_.anonymous_calls_per_second,
                                               OneSecond(rules_.anonymous_calls_per_second)));
}

Admittance Gatekeeper::Admit(const grpc::ServerContextBase& context, const RpcRule* rule) {
  Credentials credentials;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto it = first; it != last; ++it) credentials.authorization.push_back(ToStd(it->second));
  if (by_certificate_ && credentials.authorization.empty()) AppendSubjects(context, credentials);

  Admittance admittance;
  const auto caller = Identify(rules_, credentials);
  if (!caller.ok()) {
    admittance.status = caller.status();
    return admittance;
  }
  admittance.caller = *caller;
  admittance.status = AuthorizeRpc(rules_, *caller, rule);
  if (!admittance.status.ok()) return admittance;
  const std::size_t bucket = caller->principal == nullptr
                                 ? rules_.principals.size()
                                 : caller->principal - rules_.principals.data();
  admittance.retry_after = rates_[bucket]->Take(clock_.Now());
  if (admittance.retry_after > absl::ZeroDuration()) {
    admittance.status = absl::ResourceExhaustedError("the caller's rate of calls is used up");
  }
  return admittance;
}

}  // namespace bandana::server
