// Signed tokens (JSON Web Tokens, RFC 7519 and RFC 8725), in the compact form of RFC 7515.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service/access/jwt_keys.h"

namespace bandana::server {

inline constexpr std::size_t kJwtBytesMax = 8192;
inline constexpr std::size_t kJwtSubjectBytesMax = 256;
// How far the clock of the signer may be off.
inline constexpr absl::Duration kJwtSkew = absl::Seconds(60);

// The claims of a token before anybody has looked at its signature.
struct UnverifiedJwt {
  std::string algorithm;  // alg
  std::string key_id;     // kid
  std::string issuer;     // iss
  std::string claims;     // JSON
  std::string signature;
  std::string_view signed_part;  // of the token's text
};

// Whether a bearer token has the form: three parts with dots between them.
bool LooksLikeJwt(std::string_view token);

// Errors: UNAUTHENTICATED the token is too long, is no token of this form, has a part that is no
// base64url of an object of JSON, names something critical (`crit`), has no `kid`, or is not signed
// by RS256, ES256 or EdDSA. `none` and signatures by a shared secret are never taken.
absl::StatusOr<UnverifiedJwt> ReadJwt(std::string_view token);

// The claims of a verified token.
struct VerifiedJwt {
  std::string subject;  // sub, 1 to kJwtSubjectBytesMax bytes
  absl::Time expires;   // exp, without the skew
};

// Checks signature and claims. The key decides how the signature is checked, not the token: `alg`
// must be that of the key. Errors: UNAUTHENTICATED no such key; the signature is not that key's;
// `aud` does not have `audience`; `exp` is missing or over; `nbf` is still to come; `sub` is
// missing or too long. No message quotes the token.
absl::StatusOr<VerifiedJwt> VerifyJwt(const UnverifiedJwt& token, const JwtKeySet& keys,
                                      std::string_view audience, absl::Time now);

}  // namespace bandana::server
