#include "server/service/access/jwt_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/free_with.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "server/service/access/base64url.h"

namespace bandana::server {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kFileBytesMax = 1 << 20;
constexpr std::size_t kKeysMax = 64;
constexpr std::size_t kKidBytesMax = 256;
constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;  // a check of such a signature takes 0.3 ms
constexpr std::size_t kCoordinateBytes = 32;

using Number = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeWith<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreeWith<OSSL_PARAM_free>>;
using Context = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using Key = std::shared_ptr<EVP_PKEY>;

Key Own(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

Key FromParameters(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const Context context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  Key owned = Own(key);
  // A point that is not on its curve, say.
  const Context check(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  return check != nullptr && EVP_PKEY_public_check(check.get()) == 1 ? owned : nullptr;
}

Number NumberOf(const std::string& bytes) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

absl::StatusOr<Key> RsaKey(const Json& object) {
  const std::optional<std::string> n = DecodeBase64Url(TextMember(object, "n"));
  const std::optional<std::string> e = DecodeBase64Url(TextMember(object, "e"));
  if (!n || !e || n->empty() || e->empty() || n->size() > kRsaBitsMax / 8 || e->size() > 8) {
    return InvalidArgument("n and e must be an RSA key of ", kRsaBitsMin, " to ", kRsaBitsMax,
                           " bits");
  }
  const Number modulus = NumberOf(*n);
  const Number exponent = NumberOf(*e);
  if (BN_num_bits(modulus.get()) < kRsaBitsMin) {
    return InvalidArgument("the RSA key has ", BN_num_bits(modulus.get()), " bits, at least ",
                           kRsaBitsMin, " are needed");
  }
  const Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  Key key = FromParameters("RSA", builder.get());
  if (key == nullptr) return InvalidArgument("n and e are no RSA key");
  return key;
}

absl::StatusOr<Key> EcKey(const Json& object) {
  const std::optional<std::string> x = DecodeBase64Url(TextMember(object, "x"));
  const std::optional<std::string> y = DecodeBase64Url(TextMember(object, "y"));
  if (!x || !y || x->size() != kCoordinateBytes || y->size() != kCoordinateBytes) {
    return InvalidArgument("x and y must have 32 bytes each");
  }
  const std::string point = absl::StrCat("\x04", *x, *y);  // uncompressed
  const Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  Key key = FromParameters("EC", builder.get());
  if (key == nullptr) return InvalidArgument("x and y are no point of P-256");
  return key;
}

absl::StatusOr<Key> EdKey(const Json& object) {
  const std::optional<std::string> x = DecodeBase64Url(TextMember(object, "x"));
  if (!x || x->size() != kCoordinateBytes) return InvalidArgument("x must have 32 bytes");
  Key key = Own(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(x->data()), x->size()));
  if (key == nullptr) return InvalidArgument("x is no Ed25519 key");
  return key;
}

struct Kind {
  std::string_view type;   // kty
  std::string_view curve;  // crv; empty: none is named
  std::string_view name;   // alg
  JwtAlgorithm algorithm;
  absl::StatusOr<Key> (*make)(const Json&);
};
constexpr std::array kKinds = {
    Kind{"RSA", "", "RS256", JwtAlgorithm::kRs256, RsaKey},
    Kind{"EC", "P-256", "ES256", JwtAlgorithm::kEs256, EcKey},
    Kind{"OKP", "Ed25519", "EdDSA", JwtAlgorithm::kEdDsa, EdKey},
};

// Null: a key that is not used here.
const Kind* KindOf(const Json& object) {
  const std::string use = TextMember(object, "use");
  if (!use.empty() && use != "sig") return nullptr;
  const std::string algorithm = TextMember(object, "alg");
  for (const Kind& kind : kKinds) {
    if (TextMember(object, "kty") != kind.type) continue;
    if (!kind.curve.empty() && TextMember(object, "crv") != kind.curve) continue;
    if (!algorithm.empty() && algorithm != kind.name) return nullptr;
    return &kind;
  }
  return nullptr;
}

// Errors: the key is left out, and why.
absl::Status AddKey(const Json& object, JwtKeySet& set) {
  if (!object.is_object()) return InvalidArgument("must be an object");
  const Kind* const kind = KindOf(object);
  if (kind == nullptr) return absl::OkStatus();
  const std::string kid = TextMember(object, "kid");
  if (kid.empty() || kid.size() > kKidBytesMax) {
    return InvalidArgument("kid must have 1 to ", kKidBytesMax, " bytes");
  }
  BANDANA_ASSIGN_OR_RETURN(Key key, kind->make(object));
  const bool is_new = set.emplace(kid, JwtKey{kind->algorithm, std::move(key)}).second;
  return is_new ? absl::OkStatus() : InvalidArgument("kid is that of a key before it");
}

}  // namespace

absl::StatusOr<ParsedJwtKeys> ParseJwtKeys(std::string_view text) {
  BANDANA_ASSIGN_OR_RETURN(const Json json, ParseJson(text, {.unique_keys = true}));
  const auto keys = json.is_object() ? json.find("keys") : json.end();
  if (!json.is_object() || keys == json.end() || !keys->is_array()) {
    return InvalidArgument("is no JSON Web Key Set: an object with a list `keys`");
  }
  if (keys->size() > kKeysMax) {
    return InvalidArgument("keys: at most ", kKeysMax, ", got ", keys->size());
  }
  ParsedJwtKeys parsed;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    const absl::Status added = AddKey((*keys)[i], parsed.keys);
    ERR_clear_error();
    if (added.ok()) continue;
    parsed.left_out.push_back(absl::StrCat("keys[", i, "] is left out: ", added.message()));
  }
  if (!parsed.keys.empty()) return parsed;
  if (parsed.left_out.empty()) {
    return InvalidArgument("keys: none is for RS256, ES256 or EdDSA (Ed25519)");
  }
  return InvalidArgument("keys: none is left; ", absl::StrJoin(parsed.left_out, "; "));
}

absl::StatusOr<std::shared_ptr<JwtKeyFile>> JwtKeyFile::Open(const std::string& path) {
  std::shared_ptr<JwtKeyFile> file(new JwtKeyFile(path));
  file->version_ = VersionOf(path);
  BANDANA_RETURN_IF_ERROR(file->Load());
  return file;
}

std::shared_ptr<const JwtKeySet> JwtKeyFile::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

std::vector<std::string> JwtKeyFile::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

absl::Status JwtKeyFile::Load() {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_, kFileBytesMax));
  auto parsed = ParseJwtKeys(text);
  if (!parsed.ok()) return Annotate(parsed.status(), path_);
  for (std::string& line : parsed->left_out) line = absl::StrCat(path_, ": ", line);
  auto loaded = std::make_shared<const JwtKeySet>(std::move(parsed->keys));
  const std::lock_guard lock(mutex_);
  keys_ = std::move(loaded);
  left_out_ = std::move(parsed->left_out);
  return absl::OkStatus();
}

absl::StatusOr<bool> JwtKeyFile::Look() {
  const FileVersion version = VersionOf(path_);
  {
    const std::lock_guard lock(mutex_);
    if (version == version_) return false;
  }
  BANDANA_RETURN_IF_ERROR(Load());
  const std::lock_guard lock(mutex_);
  version_ = version;
  return true;
}

}  // namespace bandana::server
