// common/random/bit_source.h for hosts without OpenSSL.
#include "client/core/stand_in/entropy_bits.h"

namespace bandana {

BitSource& SystemBits() { return EntropyBits(); }

}  // namespace bandana
