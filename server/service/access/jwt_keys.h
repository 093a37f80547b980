// Public keys of somebody who signs tokens: a JSON Web Key Set (RFC 7517).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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

struct ParsedJwtKeys {
  JwtKeySet keys;
  // Why a key is left out that signs in a way that is used here, a line per key. Names its place,
  // and not the key.
  std::vector<std::string> left_out;
};

// A set serves many readers, so a key that cannot be used here does not spoil it (RFC 7517,
// section 5). Without a word: keys of other kinds, and those for other uses than signatures. With a
// line in `left_out`: no object; no `kid`, or one that a key before it has; parameters that do not
// fit; an RSA key below 2048 bits. Errors: INVALID_ARGUMENT no key set; more than 64 keys; no key
// is left.
absl::StatusOr<ParsedJwtKeys> ParseJwtKeys(std::string_view text);

// Follows a file. Threads: all methods are safe.
class JwtKeyFile {
 public:
  // Errors: of ReadFile and ParseJwtKeys.
  static absl::StatusOr<std::shared_ptr<JwtKeyFile>> Open(const std::string& path);

  std::shared_ptr<const JwtKeySet> keys() const;
  std::vector<std::string> left_out() const;  // ParsedJwtKeys, with the path before each line
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
  std::vector<std::string> left_out_;
};

}  // namespace bandana::server
