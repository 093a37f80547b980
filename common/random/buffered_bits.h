// The system's generator, fetched in blocks.
#pragma once

#include "common/random/bit_source.h"

namespace bandana {

// SystemBits() through a block of 4 KiB per thread, for samplers that draw word by word. Each byte
// is erased as it is given out, the rest when the thread ends. A forked child never sees what its
// parent had left. Fails closed: after an error nothing of the old block is used. Threads: safe.
// Never destroyed.
BitSource& BufferedBits();

}  // namespace bandana
