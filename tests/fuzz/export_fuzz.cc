// Exported models: any body with a fitting checksum, around any checkpoint with a fitting one, is a
// model or an error, and its header says what is in it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/models/folder/export.h"
#include "server/models/folder/export_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  const auto header = bandana::server::HeaderOfExport(bytes);
  auto model = bandana::server::DecodeExport(bytes);
  if (!model.ok()) return 0;
  // Any model that decodes has a header, with the numbers that are found.
  BANDANA_CHECK(header.ok());
  BANDANA_CHECK(header->nodes() == model->checkpoint.statistics.size());
  std::uint64_t arms = 0;
  const absl::Status all = model->arms.ForEach([&](const bandana::server::CatalogueArm& arm) {
    BANDANA_CHECK(arm.features.size() == static_cast<std::size_t>(model->checkpoint.dimension));
    ++arms;
    return absl::OkStatus();
  });
  BANDANA_CHECK(all.ok());
  BANDANA_CHECK(header->arms() == arms);
  bandana::server::BecomeCopy(model->checkpoint, {});
  const std::string copy = bandana::server::EncodeAgain(model->checkpoint);
  BANDANA_CHECK(bandana::server::DecodeCheckpoint(copy).ok());
  return 0;
}
