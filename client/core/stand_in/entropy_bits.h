// The system's generator, getentropy, for hosts without OpenSSL.
#pragma once

#include "common/random/bit_source.h"

namespace bandana {

// Fails closed. Thread-safe.
BitSource& EntropyBits();

}  // namespace bandana
