// One definition and nothing else, so that a program may link another one instead of this file.
#include "common/random/bit_source.h"

namespace bandana {

BitSource& SystemBits() { return OpenSslSystemBits(); }

}  // namespace bandana
