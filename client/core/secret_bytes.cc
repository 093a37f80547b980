#include "client/core/secret_bytes.h"

#include <utility>

namespace bandana::device {

SecretBytes::SecretBytes(SecretBytes&& other) noexcept : bytes_(std::move(other.bytes_)) {
  Erase(other.bytes_);  // a short string is copied by a move
}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this == &other) return *this;
  Erase(bytes_);
  bytes_ = std::move(other.bytes_);
  Erase(other.bytes_);
  return *this;
}

}  // namespace bandana::device
