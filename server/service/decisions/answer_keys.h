// Keys that seal answers in the file of named decisions.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/aead.h"

namespace bandana::server {

// Keys come and go as those of tokens do: an answer needs its key for as long as its token does.
// Threads: safe.
class AnswerKeys {
 public:
  struct SealKey {
    std::uint32_t id = 0;
    std::shared_ptr<const AeadKey> key;  // null: OpenSSL failed
  };
  virtual ~AnswerKeys() = default;
  virtual SealKey Present() const = 0;
  // The key of this id; null where it is gone.
  virtual std::shared_ptr<const AeadKey> Find(std::uint32_t id) const = 0;
};

}  // namespace bandana::server
