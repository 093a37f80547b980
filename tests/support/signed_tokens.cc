#include "tests/support/signed_tokens.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace bandana::testing {
namespace {

std::string NumberBytes(EVP_PKEY* key, const char* name, int pad = 0) {
  BIGNUM* number = nullptr;
  BANDANA_CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string bytes(static_cast<std::size_t>(pad > 0 ? pad : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(number);
  return bytes;
}

// r and s, 32 bytes each, of the DER form.
std::string RawOf(const std::vector<unsigned char>& der) {
  const unsigned char* at = der.data();
  ECDSA_SIG* const parts = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  BANDANA_CHECK(parts != nullptr);
  std::string raw(64, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(parts), out, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts), out + 32, 32);
  ECDSA_SIG_free(parts);
  return raw;
}

}  // namespace

struct SigningKey::Body {
  EVP_PKEY* key = nullptr;
  ~Body() { EVP_PKEY_free(key); }
};

std::string Base64Url(const std::string& bytes) { return absl::WebSafeBase64Escape(bytes); }

std::string JoinToken(const std::string& header, const std::string& claims,
                      const std::string& signature) {
  return absl::StrCat(Base64Url(header), ".", Base64Url(claims), ".", Base64Url(signature));
}

SigningKey::SigningKey(Kind kind, std::string kid, int rsa_bits)
    : body_(std::make_unique<Body>()), kind_(kind), kid_(std::move(kid)) {
  switch (kind) {
    case Kind::kRsa:
      body_->key = EVP_RSA_gen(static_cast<unsigned>(rsa_bits));
      break;
    case Kind::kEc:
      body_->key = EVP_EC_gen("P-256");
      break;
    case Kind::kEd:
      body_->key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
      break;
  }
  BANDANA_CHECK(body_->key != nullptr);
}
SigningKey::~SigningKey() = default;

std::string SigningKey::algorithm() const {
  return kind_ == Kind::kRsa ? "RS256" : kind_ == Kind::kEc ? "ES256" : "EdDSA";
}

std::string SigningKey::Jwk(const std::string& more) const {
  std::string members;
  if (kind_ == Kind::kRsa) {
    members = absl::StrCat(R"("kty":"RSA","n":")", Base64Url(NumberBytes(body_->key, "n")),
                           R"(","e":")", Base64Url(NumberBytes(body_->key, "e")), "\"");
  } else if (kind_ == Kind::kEc) {
    members =
        absl::StrCat(R"("kty":"EC","crv":"P-256","x":")",
                     Base64Url(NumberBytes(body_->key, OSSL_PKEY_PARAM_EC_PUB_X, 32)), R"(","y":")",
                     Base64Url(NumberBytes(body_->key, OSSL_PKEY_PARAM_EC_PUB_Y, 32)), "\"");
  } else {
    std::string raw(32, '\0');
    std::size_t size = raw.size();
    EVP_PKEY_get_raw_public_key(body_->key, reinterpret_cast<unsigned char*>(raw.data()), &size);
    members = absl::StrCat(R"("kty":"OKP","crv":"Ed25519","x":")", Base64Url(raw), "\"");
  }
  return absl::StrCat("{", members, R"(,"kid":")", kid_, "\"", more, "}");
}

std::string SigningKey::Sign(const std::string& text) const {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const EVP_MD* const hash = kind_ == Kind::kEd ? nullptr : EVP_sha256();
  BANDANA_CHECK(EVP_DigestSignInit(context, nullptr, hash, nullptr, body_->key) == 1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  BANDANA_CHECK(EVP_DigestSign(context, nullptr, &size, bytes, text.size()) == 1);
  std::vector<unsigned char> signature(size);
  BANDANA_CHECK(EVP_DigestSign(context, signature.data(), &size, bytes, text.size()) == 1);
  signature.resize(size);
  EVP_MD_CTX_free(context);
  return kind_ == Kind::kEc ? RawOf(signature) : std::string(signature.begin(), signature.end());
}

std::string SigningKey::TokenWithHeader(const std::string& header,
                                        const std::string& claims) const {
  const std::string text = absl::StrCat(Base64Url(header), ".", Base64Url(claims));
  return absl::StrCat(text, ".", Base64Url(Sign(text)));
}

std::string SigningKey::Token(const std::string& claims) const {
  return TokenWithHeader(
      absl::StrCat(R"({"alg":")", algorithm(), R"(","typ":"JWT","kid":")", kid_, "\"}"), claims);
}

std::string SigningKey::PublicPem() const {
  BIO* const out = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(out, body_->key);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(out);
  return pem;
}

std::string UsualClaims(const std::string& issuer, const std::string& audience,
                        const std::string& subject, absl::Time now) {
  const std::int64_t seconds = absl::ToUnixSeconds(now);
  return absl::StrCat(R"({"iss":")", issuer, R"(","aud":")", audience, R"(","sub":")", subject,
                      R"(","iat":)", seconds, R"(,"nbf":)", seconds, R"(,"exp":)", seconds + 3600,
                      "}");
}

}  // namespace bandana::testing
