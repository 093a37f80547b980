// Text that holds a secret.
#pragma once

#include <openssl/crypto.h>

#include <string>

namespace bandana {

// Erased when it goes.
struct ErasedText {
  ~ErasedText() { OPENSSL_cleanse(text.data(), text.size()); }
  std::string text;
};

}  // namespace bandana
