// SHA-256 (OpenSSL), for the log's running hash, checkpoint files and policy hashes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bandana {

using Sha256Digest = std::array<std::byte, 32>;

// Incremental hash. Not thread-safe. Aborts only if OpenSSL itself is unusable.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& Update(std::span<const std::byte> bytes);
  Sha256& Update(std::string_view bytes);
  // The digest of everything so far; the object starts anew.
  Sha256Digest Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Sha256Digest Sha256Of(std::string_view bytes);

// Lower-case hexadecimal, two digits per byte.
std::string ToHex(std::span<const std::byte> bytes);

inline std::span<std::byte> AsWritableBytes(std::string& s) {
  return std::as_writable_bytes(std::span(s));
}
inline std::span<const std::byte> AsBytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}
inline std::string_view AsChars(std::span<const std::byte> b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

}  // namespace bandana
