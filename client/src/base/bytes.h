// The SDK's own byte strings: little-endian numbers, length-prefixed bytes, and bytes that are
// erased.
#pragma once

#include <string.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace bandana::device {

inline void PutNumber(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

inline void PutBytes(std::string& out, std::string_view bytes) {
  PutNumber(out, bytes.size());
  out.append(bytes);
}

// Reads what the functions above wrote; after the first overrun `ok` is false.
struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view Take(std::uint64_t bytes) {
    ok = ok && bytes <= rest.size();
    if (!ok) return {};
    const std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t Number() {
    std::uint64_t value = 0;
    const std::string_view bytes = Take(8);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
  }
  std::string Bytes() { return std::string(Take(Number())); }
};

inline void Erase(std::string& bytes) {
  if (!bytes.empty()) explicit_bzero(bytes.data(), bytes.size());
  bytes.clear();
}

// Private bytes, erased when they go. Not copyable.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  ~SecretBytes() { Erase(bytes_); }
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;

  std::string& get() { return bytes_; }
  const std::string& get() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace bandana::device
