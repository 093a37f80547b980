// Sealed checkpoints: no bytes open that the key did not seal.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/models/folder/checkpoint_seal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto seal = *bandana::server::CheckpointSeal::Create(std::array<std::byte, 32>{});
  std::string bytes(reinterpret_cast<const char*>(data), size);
  BANDANA_CHECK(!seal->Open(bytes).ok());
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  BANDANA_CHECK(!seal->Open(bytes).ok());
  return 0;
}
