#include "server/service/tokens/random_buffer.h"

#include "common/base/check.h"
#include "common/random/buffered_bits.h"

namespace bandana::server {

absl::Status FillRandom(std::span<std::byte> out) {
  constexpr std::size_t kFillBytesMax = 256;
  BANDANA_CHECK(out.size() <= kFillBytesMax);
  return BufferedBits().Fill(out);
}

}  // namespace bandana::server
