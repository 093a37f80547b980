// Decompression of .gz data.
#pragma once

#include <memory>

#include "tools/import/unpack.h"

namespace bandana {

std::unique_ptr<Unpacker> MakeGzUnpacker();

}  // namespace bandana
