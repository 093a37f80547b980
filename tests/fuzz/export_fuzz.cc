// Exported models: any body with a fitting checksum, around any checkpoint with a fitting one, is a
// model or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/models/folder/export.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  auto model = bandana::server::DecodeExport(bytes);
  if (!model.ok()) return 0;
  for (const auto& arm : model->arms) {
    BANDANA_CHECK(arm.features.size() == static_cast<std::size_t>(model->checkpoint.dimension));
  }
  const std::string copy = bandana::server::CheckpointOfCopy(model->checkpoint, {});
  BANDANA_CHECK(bandana::server::DecodeCheckpoint(copy).ok());
  return 0;
}
