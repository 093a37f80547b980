// Public keys of somebody who signs tokens: a JSON Web Key Set (RFC 7517).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/private_file.h"

struct evp_pkey_st;

namespace bandana::server {

// How a token is signed (RFC 7518, RFC 8037). Signatures by a shared secret are none.
enum class JwtAlgorithm { kRs256, kEs256, kEdDsa };

struct JwtKey {
  JwtAlgorithm algorithm{};  // the only one that the key is used with
  std::shared_ptr<const evp_pkey_st> key;
};

// By key id. Never changed.
using JwtKeySet = std::map<std::string, JwtKey, std::less<>>;

// Keys of kinds that are not used here, or for other uses than signatures, are left out: a set
// serves many readers. Errors: INVALID_ARGUMENT no key set; a key of a kind that is used here
// without `kid`, with one that another has, with parameters that do not fit, or an RSA key below
// 2048 bits; no key is left. Messages name the place and no key.
absl::StatusOr<JwtKeySet> ParseJwtKeys(std::string_view text);

// Follows a file. Threads: all methods are safe.
class JwtKeyFile {
 public:
  // Errors: of ReadFile and ParseJwtKeys.
  static absl::StatusOr<std::shared_ptr<JwtKeyFile>> Open(const std::string& path);

  std::shared_ptr<const JwtKeySet> keys() const;
  // Reads the file again where it has changed. Returns whether it did. Errors: as Open; the keys
  // before stay, and the next look tries again.
  absl::StatusOr<bool> Look();
  const std::string& path() const { return path_; }

 private:
  explicit JwtKeyFile(std::string path) : path_(std::move(path)) {}
  absl::Status Load();

  const std::string path_;
  mutable std::mutex mutex_;  // guards what follows
  FileVersion version_;
  std::shared_ptr<const JwtKeySet> keys_;
};

}  // namespace bandana::server
