#include "server/service/access/jwt_callers.h"

#include <utility>

#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::size_t kVerifiedMax = 1 << 14;
constexpr std::size_t kSubjectsMax = 1 << 16;

// Names of configured principals have no colon. The length tells where the issuer ends.
std::string PrincipalName(std::string_view issuer, std::string_view subject) {
  return absl::StrCat("jwt:", issuer.size(), ":", ToAbsl(issuer), ":", ToAbsl(subject));
}

}  // namespace

JwtCallers::JwtCallers(JwtIssuerRules rules, const Clock& clock, JwtCallers* before)
    : rules_(std::move(rules)), clock_(clock), verified_(kVerifiedMax), usages_(kSubjectsMax) {
  if (before == nullptr) return;
  const JwtIssuerRules& old = before->rules_;
  const bool same = old.calls_per_second == rules_.calls_per_second && old.burst == rules_.burst &&
                    old.new_users_per_day == rules_.new_users_per_day;
  if (!same) return;
  const std::lock_guard lock(before->mutex_);
  usages_.Take(before->usages_);
}

std::shared_ptr<JwtUsage> JwtCallers::UsageOf(const std::string& subject) {
  if (const auto* known = usages_.Find(subject); known != nullptr) return *known;
  auto usage = std::make_shared<JwtUsage>(rules_.calls_per_second, rules_.burst);
  if (rules_.new_users_per_day > 0) {
    usage->new_users = std::make_unique<NewUserQuota>(rules_.new_users_per_day, clock_);
  }
  usages_.Put(subject, usage);
  return usage;
}

std::shared_ptr<const JwtCaller> JwtCallers::Known(const Sha256Digest& digest) {
  const std::shared_ptr<const JwtKeySet> keys = rules_.keys->keys();
  const std::string key(AsChars(digest));
  const std::lock_guard lock(mutex_);
  const Verified* const known = verified_.Find(key);
  if (known == nullptr) return nullptr;
  if (known->keys == keys && clock_.Now() < known->expires + kJwtSkew) return known->caller;
  verified_.Remove(key);
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const JwtCaller>> JwtCallers::Admit(std::string_view token,
                                                                   const UnverifiedJwt& read) {
  const std::shared_ptr<const JwtKeySet> keys = rules_.keys->keys();
  BANDANA_ASSIGN_OR_RETURN(const VerifiedJwt verified,
                           VerifyJwt(read, *keys, rules_.audience, clock_.Now()));
  auto caller = std::make_shared<JwtCaller>();
  Principal& principal = caller->principal;
  principal.name = PrincipalName(rules_.issuer, verified.subject);
  principal.shown_name = "jwt:" + rules_.issuer;
  principal.roles = rules_.roles;
  principal.models = rules_.models;
  principal.calls_per_second = rules_.calls_per_second;
  principal.burst = rules_.burst;
  principal.new_users_per_day = rules_.new_users_per_day;
  const std::lock_guard lock(mutex_);
  caller->usage = UsageOf(verified.subject);
  verified_.Put(std::string(AsChars(Sha256Of(token))),
                {.caller = caller, .expires = verified.expires, .keys = keys});
  return caller;
}

}  // namespace bandana::server
