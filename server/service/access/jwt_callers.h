// Callers who bring a token that somebody else has signed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/sha256.h"
#include "server/service/access/access.h"
#include "server/service/access/jwt.h"
#include "server/service/access/jwt_keys.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/access/rate_limit.h"
#include "server/service/access/recently_used.h"

namespace bandana::server {

// A subject's use of its rate and quota.
struct JwtUsage {
  JwtUsage(double calls_per_second, std::uint32_t burst) : rate(calls_per_second, burst) {}
  CallRates rate;
  std::unique_ptr<NewUserQuota> new_users;  // null: unlimited
};

// A subject who may call, as long as somebody holds this.
struct JwtCaller {
  Principal principal;
  std::shared_ptr<JwtUsage> usage;
};

// The subjects of one issuer. Threads: all methods are safe.
//
// A verified token is remembered by its digest until it expires, so that its signature is checked
// once; keys that have changed are asked anew. Both memories are bounded, and forget what was not
// used for longest: a token is then verified again, a subject starts with a full rate and quota.
class JwtCallers {
 public:
  // `clock` must outlive it. `before` may be null: subjects keep what they have used there, where
  // rate and quota are the same.
  JwtCallers(JwtIssuerRules rules, const Clock& clock, JwtCallers* before);

  const JwtIssuerRules& rules() const { return rules_; }
  // `token` is the text that `read` was read from, signed by this issuer as it says. Errors: of
  // VerifyJwt.
  absl::StatusOr<std::shared_ptr<const JwtCaller>> Admit(std::string_view token,
                                                         const UnverifiedJwt& read);
  // The caller of a token that was verified before; null: none.
  std::shared_ptr<const JwtCaller> Known(const Sha256Digest& digest);

 private:
  struct Verified {
    std::shared_ptr<const JwtCaller> caller;
    absl::Time expires;
    std::shared_ptr<const JwtKeySet> keys;  // that its signature was checked with
  };
  using Usages = RecentlyUsed<std::shared_ptr<JwtUsage>>;

  std::shared_ptr<JwtUsage> UsageOf(const std::string& subject);

  const JwtIssuerRules rules_;
  const Clock& clock_;
  std::mutex mutex_;                 // guards what follows
  RecentlyUsed<Verified> verified_;  // by the digest of the token
  Usages usages_;                    // by subject
};

}  // namespace bandana::server
