#include "server/service/access/gatekeeper.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana::server {
namespace {

std::string_view ToStd(const grpc::string_ref& text) { return {text.data(), text.size()}; }

bool HasCertificateSubjects(const AccessRules& rules) {
  return std::any_of(rules.principals.begin(), rules.principals.end(),
                     [](const Principal& p) { return !p.certificate_subject.empty(); });
}

// Subjects of a certificate that the handshake has verified; without one there are none.
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
    : clock_(clock), current_(MakeRuleSet(std::move(rules), nullptr)) {}

void Gatekeeper::Replace(AccessRules rules) {
  current_.store(MakeRuleSet(std::move(rules), current_.load().get()));
}

std::shared_ptr<const Gatekeeper::RuleSet> Gatekeeper::MakeRuleSet(AccessRules rules,
                                                                   const RuleSet* before) const {
  auto set = std::make_shared<RuleSet>();
  set->by_certificate = HasCertificateSubjects(rules);
  for (const Principal& principal : rules.principals) {
    std::shared_ptr<RateLimit> rate = before == nullptr ? nullptr : before->RateOf(principal);
    if (rate == nullptr) {
      rate = std::make_shared<RateLimit>(principal.calls_per_second, principal.burst);
    }
    set->rates.push_back(std::move(rate));
    std::shared_ptr<NewUserQuota> quota = before == nullptr ? nullptr : before->QuotaOf(principal);
    if (quota == nullptr && principal.new_users_per_day > 0) {
      quota = std::make_shared<NewUserQuota>(principal.new_users_per_day, clock_);
    }
    set->quotas.push_back(std::move(quota));
  }
  const double others = rules.anonymous_calls_per_second;
  const bool kept = before != nullptr && before->rules.anonymous_calls_per_second == others;
  set->rates.push_back(kept ? before->rates.back()
                            : std::make_shared<RateLimit>(others, OneSecond(others)));
  set->rules = std::move(rules);
  return set;
}

std::shared_ptr<RateLimit> Gatekeeper::RuleSet::RateOf(const Principal& principal) const {
  for (std::size_t i = 0; i < rules.principals.size(); ++i) {
    const Principal& mine = rules.principals[i];
    if (mine.name == principal.name && mine.calls_per_second == principal.calls_per_second &&
        mine.burst == principal.burst) {
      return rates[i];
    }
  }
  return nullptr;
}

std::shared_ptr<NewUserQuota> Gatekeeper::RuleSet::QuotaOf(const Principal& principal) const {
  for (std::size_t i = 0; i < rules.principals.size(); ++i) {
    const Principal& mine = rules.principals[i];
    const bool same =
        mine.name == principal.name && mine.new_users_per_day == principal.new_users_per_day;
    if (same) return quotas[i];
  }
  return nullptr;
}

Admittance Gatekeeper::Admit(const grpc::ServerContextBase& context, const RpcRule* rule) {
  std::shared_ptr<const RuleSet> set = current_.load();
  const AccessRules& rules = set->rules;
  Credentials credentials;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto it = first; it != last; ++it) credentials.authorization.push_back(ToStd(it->second));
  if (set->by_certificate && credentials.authorization.empty())
    AppendSubjects(context, credentials);

  Admittance admittance;
  const auto caller = Identify(rules, credentials);
  if (!caller.ok()) {
    admittance.status = caller.status();
    return admittance;
  }
  admittance.caller = *caller;
  admittance.caller.owner = set;
  admittance.status = AuthorizeRpc(rules, *caller, rule);
  if (!admittance.status.ok()) return admittance;
  const std::size_t bucket = caller->principal == nullptr
                                 ? rules.principals.size()
                                 : caller->principal - rules.principals.data();
  if (caller->principal != nullptr) admittance.caller.new_users = set->quotas[bucket].get();
  admittance.retry_after = set->rates[bucket]->Take(clock_.Now());
  if (admittance.retry_after > absl::ZeroDuration()) {
    admittance.status = absl::ResourceExhaustedError("the caller's rate of calls is used up");
  }
  return admittance;
}

}  // namespace bandana::server
