// Entropy of the device that is entered: all that the core draws comes by its host's hook.
#pragma once

#include "common/random/bit_source.h"

namespace bandana::abi {

// While it lives, SystemBits() of this thread is `bits`, which outlives it.
class EntropyScope {
 public:
  explicit EntropyScope(BitSource* bits);
  ~EntropyScope();
  EntropyScope(const EntropyScope&) = delete;

 private:
  BitSource* const former_;
};

}  // namespace bandana::abi
