// Checksum of a row of the device store: SQLite does not notice a flipped bit inside one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/sha256.h"

namespace bandana::device {

// SHA-256 over length-prefixed fields.
class RowDigest {
 public:
  RowDigest& Add(std::int64_t value) {
    hash_.Update({reinterpret_cast<const char*>(&value), sizeof(value)});
    return *this;
  }
  RowDigest& Add(std::string_view bytes) {
    Add(static_cast<std::int64_t>(bytes.size()));
    hash_.Update(bytes);
    return *this;
  }
  // The first 8 bytes.
  std::string Finish() { return FinishWhole().substr(0, 8); }
  std::string FinishWhole() {
    const Sha256Digest digest = hash_.Finish();
    return std::string(AsChars(digest));
  }

 private:
  Sha256 hash_;
};

}  // namespace bandana::device
