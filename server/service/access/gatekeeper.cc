#include "server/service/access/gatekeeper.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/base/status.h"

namespace bandana::server {
namespace {

std::string_view ViewOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

bool HasCertificateSubjects(const AccessRules& rules) {
  return std::any_of(rules.principals.begin(), rules.principals.end(),
                     [](const Principal& p) { return !p.certificate_subject.empty(); });
}

// Subjects of a certificate that the handshake has verified; without one there are none.
void AppendSubjects(const grpc::ServerContextBase& context, Credentials& credentials) {
  const auto peer = context.auth_context();
  if (peer == nullptr) return;
  const auto security = peer->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  if (security.size() != 1 || ViewOf(security[0]) != GRPC_SSL_TRANSPORT_SECURITY_TYPE) return;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : peer->FindPropertyValues(property)) {
      credentials.subjects.push_back(ViewOf(value));
    }
  }
}

std::uint32_t OneSecond(double calls_per_second) {
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(calls_per_second)));
}

// Nothing: no bearer token that an issuer could have signed.
std::optional<absl::StatusOr<std::shared_ptr<const JwtCaller>>> CallerOfJwt(
    const std::vector<std::shared_ptr<JwtCallers>>& issuers, const Credentials& credentials) {
  if (issuers.empty() || credentials.authorization.size() != 1) return std::nullopt;
  const std::optional<std::string_view> token = BearerToken(credentials.authorization.front());
  if (!token || !LooksLikeJwt(*token)) return std::nullopt;
  if (token->size() <= kJwtBytesMax) {
    const Sha256Digest digest = Sha256Of(*token);
    for (const auto& issuer : issuers) {
      if (auto known = issuer->Known(digest); known != nullptr) return known;
    }
  }
  const absl::StatusOr<UnverifiedJwt> read = ReadJwt(*token);
  if (!read.ok()) return read.status();
  absl::Status why = absl::UnauthenticatedError(
      "authorization: the token is of an issuer (iss) that is not known here");
  // An issuer may stand there several times, with another audience or other keys each time.
  for (const auto& issuer : issuers) {
    if (issuer->rules().issuer != read->issuer) continue;
    auto caller = issuer->Admit(*token, *read);
    if (caller.ok()) return caller;
    why = caller.status();
  }
  return why;
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
    std::shared_ptr<CallRates> rate = before == nullptr ? nullptr : before->RateOf(principal);
    if (rate == nullptr) {
      rate = std::make_shared<CallRates>(principal.calls_per_second, principal.burst);
    }
    set->rates.push_back(std::move(rate));
    std::shared_ptr<NewUserQuota> quota = before == nullptr ? nullptr : before->QuotaOf(principal);
    if (quota == nullptr && principal.new_users_per_day > 0) {
      quota = std::make_shared<NewUserQuota>(principal.new_users_per_day, clock_);
    }
    set->quotas.push_back(std::move(quota));
  }
  for (const JwtIssuerRules& issuer : rules.jwt_issuers) {
    JwtCallers* const old = before == nullptr ? nullptr : before->IssuerLike(issuer);
    set->issuers.push_back(std::make_shared<JwtCallers>(issuer, clock_, old));
  }
  const double others = rules.anonymous_calls_per_second;
  const bool kept = before != nullptr && before->rules.anonymous_calls_per_second == others;
  set->rates.push_back(kept ? before->rates.back()
                            : std::make_shared<CallRates>(others, OneSecond(others)));
  set->rules = std::move(rules);
  return set;
}

std::shared_ptr<CallRates> Gatekeeper::RuleSet::RateOf(const Principal& principal) const {
  for (std::size_t i = 0; i < rules.principals.size(); ++i) {
    const Principal& mine = rules.principals[i];
    if (mine.name == principal.name && mine.calls_per_second == principal.calls_per_second &&
        mine.burst == principal.burst) {
      return rates[i];
    }
  }
  return nullptr;
}

JwtCallers* Gatekeeper::RuleSet::IssuerLike(const JwtIssuerRules& rules) const {
  for (const auto& mine : issuers) {
    const JwtIssuerRules& other = mine->rules();
    if (other.issuer == rules.issuer && other.audience == rules.audience) return mine.get();
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
  const std::shared_ptr<const RuleSet> set = current_.load();
  Credentials credentials;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto it = first; it != last; ++it) credentials.authorization.push_back(ViewOf(it->second));
  if (set->by_certificate && credentials.authorization.empty())
    AppendSubjects(context, credentials);
  return Admit(set, credentials, rule);
}

Admittance Gatekeeper::Admit(const Credentials& credentials, const RpcRule* rule) {
  return Admit(current_.load(), credentials, rule);
}

absl::Status Gatekeeper::Knows(const Credentials& credentials, const RpcRule& rule) {
  return Recognize(current_.load(), credentials, &rule).status;
}

Gatekeeper::Known Gatekeeper::Recognize(const std::shared_ptr<const RuleSet>& set,
                                        const Credentials& credentials, const RpcRule* rule) {
  const AccessRules& rules = set->rules;
  absl::StatusOr<Caller> caller = Identify(rules, credentials);
  Known known;
  if (caller.ok()) {
    const std::size_t bucket = caller->principal == nullptr
                                   ? rules.principals.size()
                                   : caller->principal - rules.principals.data();
    if (caller->principal != nullptr) caller->new_users = set->quotas[bucket].get();
    caller->owner = set;
    known.rate = set->rates[bucket].get();
    known.caller = *caller;
  } else if (auto signed_by = CallerOfJwt(set->issuers, credentials); signed_by) {
    if (!signed_by->ok()) return {.status = signed_by->status()};
    const std::shared_ptr<const JwtCaller>& subject = **signed_by;
    known.caller = {.principal = &subject->principal,
                    .owner = subject,
                    .new_users = subject->usage->new_users.get()};
    known.rate = &subject->usage->rate;
  } else {
    return {.status = caller.status()};
  }
  known.status = AuthorizeRpc(rules, known.caller, rule);
  return known;
}

Admittance Gatekeeper::Admit(const std::shared_ptr<const RuleSet>& set,
                             const Credentials& credentials, const RpcRule* rule) {
  Known known = Recognize(set, credentials, rule);
  Admittance admittance{.status = std::move(known.status), .caller = std::move(known.caller)};
  if (!admittance.status.ok()) return admittance;
  admittance.retry_after = known.rate->Take(*rule, clock_.Steady());
  if (admittance.retry_after > absl::ZeroDuration()) {
    admittance.status = absl::ResourceExhaustedError("the caller's rate of calls is used up");
  }
  return admittance;
}

Gatekeeper::KeyNews Gatekeeper::LookAtKeys() {
  KeyNews news;
  std::map<std::string, std::string> troubles;
  const std::shared_ptr<const RuleSet> set = current_.load();
  for (const JwtIssuerRules& issuer : set->rules.jwt_issuers) {
    const absl::StatusOr<bool> changed = issuer.keys->Look();
    if (changed.ok()) {
      if (!*changed) continue;
      news.taken.push_back(issuer.keys->path());
      for (std::string& key : issuer.keys->left_out()) news.left_out.push_back(std::move(key));
      continue;
    }
    const std::string why(changed.status().message());
    const auto told = key_troubles_.find(issuer.keys->path());
    if (told == key_troubles_.end() || told->second != why) news.failed.push_back(why);
    troubles[issuer.keys->path()] = why;
  }
  key_troubles_ = std::move(troubles);
  return news;
}

}  // namespace bandana::server
