// Private bytes that are erased.
#pragma once

#include <string.h>

#include <string>
#include <utility>

namespace bandana::device {

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
