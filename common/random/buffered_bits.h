// The system's generator, fetched in blocks.
#pragma once

#include "common/random/bit_source.h"

namespace bandana {

// SystemBits() through a block of 4 KiB a thread: what a sampler that draws word by word should
// use. Each byte is erased as it is given out, the rest when the thread ends; a forked child never
// sees its parent's rest. Fails closed: after an error nothing of the old block is used. Threads:
// safe. Never destroyed.
BitSource& BufferedBits();

}  // namespace bandana
