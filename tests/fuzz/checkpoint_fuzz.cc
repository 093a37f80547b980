// Checkpoint files: any body with a fitting checksum is a state or an error, and a state has one
// encoding.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/models/folder/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  const auto checkpoint = bandana::server::DecodeCheckpoint(bytes);
  if (!checkpoint.ok()) return 0;
  const std::string again = bandana::server::EncodeAgain(*checkpoint);
  const auto same = bandana::server::DecodeCheckpoint(again);
  BANDANA_CHECK(same.ok());
  BANDANA_CHECK(bandana::server::EncodeAgain(*same) == again);
  return 0;
}
