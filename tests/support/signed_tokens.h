// Signed tokens made on the spot. No key of a test is ever stored in the project.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace bandana::testing {

std::string Base64Url(const std::string& bytes);
// `HEADER.CLAIMS.SIGNATURE` of two objects of JSON.
std::string JoinToken(const std::string& header, const std::string& claims,
                      const std::string& signature);

// A key that signs. Aborts the test program when OpenSSL fails.
class SigningKey {
 public:
  enum class Kind { kRsa, kEc, kEd };
  explicit SigningKey(Kind kind, std::string kid, int rsa_bits = 2048);
  ~SigningKey();

  // The key as a member of a JSON Web Key Set.
  std::string Jwk(const std::string& more = "") const;
  // RS256, ES256 or EdDSA.
  std::string algorithm() const;
  const std::string& kid() const { return kid_; }
  // The signature of the text `header.claims`, in the form of RFC 7518.
  std::string Sign(const std::string& text) const;
  // A token with the usual header.
  std::string Token(const std::string& claims) const;
  std::string TokenWithHeader(const std::string& header, const std::string& claims) const;
  // The public key in PEM, which an attacker may take for a shared secret.
  std::string PublicPem() const;

 private:
  struct Body;
  const std::unique_ptr<Body> body_;
  const Kind kind_;
  const std::string kid_;
};

// The claims that a token usually has, valid for an hour from `now`.
std::string UsualClaims(const std::string& issuer, const std::string& audience,
                        const std::string& subject, absl::Time now);

}  // namespace bandana::testing
