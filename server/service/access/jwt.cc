#include "server/service/access/jwt.h"

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/free_with.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "server/service/access/base64url.h"

namespace bandana::server {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kNames = {"RS256", "ES256", "EdDSA"};  // by JwtAlgorithm
constexpr int kDepthMax = 8;
constexpr std::size_t kEs256Bytes = 64;  // r and s

absl::Status Refused(std::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("authorization: the token ", ToAbsl(why)));
}

absl::StatusOr<Json> ObjectOf(std::string_view part) {
  const std::optional<std::string> text = DecodeBase64Url(part);
  if (!text) return Refused("has a part that is no base64url");
  auto json = ParseJson(*text, {.depth_max = kDepthMax, .unique_keys = true});
  if (!json.ok() || !json->is_object()) return Refused("has a part that is no object of JSON");
  return json;
}

// OpenSSL reads the DER form.
std::vector<unsigned char> DerOf(std::string_view signature) {
  if (signature.size() != kEs256Bytes) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(signature.data());
  constexpr int kHalf = kEs256Bytes / 2;
  const std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>> parts(ECDSA_SIG_new());
  ECDSA_SIG_set0(parts.get(), BN_bin2bn(bytes, kHalf, nullptr),
                 BN_bin2bn(bytes + kHalf, kHalf, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parts.get(), &der);
  if (size <= 0) return {};
  std::vector<unsigned char> copy(der, der + size);
  OPENSSL_free(der);
  return copy;
}

bool IsSignedBy(const JwtKey& key, std::string_view text, std::string_view signature) {
  std::vector<unsigned char> bytes(signature.begin(), signature.end());
  if (key.algorithm == JwtAlgorithm::kEs256) bytes = DerOf(signature);
  if (bytes.empty()) return false;
  const EVP_MD* const hash = key.algorithm == JwtAlgorithm::kEdDsa ? nullptr : EVP_sha256();
  const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  const bool good =
      context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr,
                           const_cast<EVP_PKEY*>(key.key.get())) == 1 &&
      EVP_DigestVerify(context.get(), bytes.data(), bytes.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  ERR_clear_error();
  return good;
}

// Seconds since 1970. Nothing where it is missing or no number of a time that can be.
std::optional<absl::Time> TimeOf(const Json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  if (!(std::abs(seconds) < 1e12)) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

bool HasAudience(const Json& claims, std::string_view audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return found->get<std::string>() == audience;
  if (!found->is_array()) return false;
  for (const Json& one : *found) {
    if (one.is_string() && one.get<std::string>() == audience) return true;
  }
  return false;
}

}  // namespace

bool LooksLikeJwt(std::string_view token) {
  return std::count(token.begin(), token.end(), '.') == 2 && token.starts_with("ey");
}

absl::StatusOr<UnverifiedJwt> ReadJwt(std::string_view token) {
  if (token.size() > kJwtBytesMax) return Refused("is too long");
  const std::vector<absl::string_view> parts = absl::StrSplit(ToAbsl(token), '.');
  if (parts.size() != 3) return Refused("must have three parts");
  BANDANA_ASSIGN_OR_RETURN(const Json header, ObjectOf(ToStd(parts[0])));
  UnverifiedJwt read;
  read.algorithm = TextMember(header, "alg");
  if (std::find(kNames.begin(), kNames.end(), read.algorithm) == kNames.end()) {
    return Refused("must be signed by RS256, ES256 or EdDSA");
  }
  if (header.contains("crit")) return Refused("names critical extensions, and none is known here");
  read.key_id = TextMember(header, "kid");
  if (read.key_id.empty()) return Refused("names no key (kid)");
  BANDANA_ASSIGN_OR_RETURN(const Json claims, ObjectOf(ToStd(parts[1])));
  read.issuer = TextMember(claims, "iss");
  read.claims = JsonText(claims);
  std::optional<std::string> signature = DecodeBase64Url(ToStd(parts[2]));
  if (!signature) return Refused("has a part that is no base64url");
  read.signature = *std::move(signature);
  read.signed_part = token.substr(0, parts[0].size() + 1 + parts[1].size());
  return read;
}

absl::StatusOr<VerifiedJwt> VerifyJwt(const UnverifiedJwt& token, const JwtKeySet& keys,
                                      std::string_view audience, absl::Time now) {
  const auto key = keys.find(token.key_id);
  if (key == keys.end()) return Refused("is signed with a key that is not known here");
  if (token.algorithm != kNames[static_cast<std::size_t>(key->second.algorithm)]) {
    return Refused("is signed in another way than its key is for");
  }
  if (!IsSignedBy(key->second, token.signed_part, token.signature)) {
    return Refused("has a wrong signature");
  }
  BANDANA_ASSIGN_OR_RETURN(const Json claims, ParseJson(token.claims));
  if (!HasAudience(claims, audience)) return Refused("is for another audience (aud)");
  const std::optional<absl::Time> expires = TimeOf(claims, "exp");
  if (!expires) return Refused("does not say when it expires (exp)");
  if (now >= *expires + kJwtSkew) return Refused("has expired");
  if (claims.contains("nbf")) {
    const std::optional<absl::Time> from = TimeOf(claims, "nbf");
    if (!from || now < *from - kJwtSkew) return Refused("is not valid yet (nbf)");
  }
  std::string subject = TextMember(claims, "sub");
  if (subject.empty() || subject.size() > kJwtSubjectBytesMax) {
    return Refused("names no subject (sub), or a too long one");
  }
  return VerifiedJwt{.subject = std::move(subject), .expires = *expires};
}

}  // namespace bandana::server
