#include "server/models/model_export.h"

#include <utility>

#include "common/base/status.h"
#include "server/models/folder/export_header.h"
#include "server/models/import_check.h"

namespace bandana::server {
namespace {

// A full disk stops learning, so room is looked for, and taken, before anything is written.
absl::StatusOr<TempFile> MakeRoom(const ModelToExport& model) {
  constexpr std::uint64_t kBytesPerUser = 256;
  const std::uint64_t bytes = model.checkpoint.size() + model.catalogue.bytes() +
                              model.users.size() * kBytesPerUser + model.config.ByteSizeLong();
  BANDANA_RETURN_IF_ERROR(CheckDisk("an export", bytes, 1, model.free_bytes, model.folder));
  BANDANA_ASSIGN_OR_RETURN(TempFile file, TempFile::Make(model.folder));
  BANDANA_RETURN_IF_ERROR(file.Reserve(bytes));
  return file;
}

}  // namespace

absl::StatusOr<ExportedFile> WriteModelExport(ModelToExport model) {
  BANDANA_ASSIGN_OR_RETURN(TempFile file, MakeRoom(model));
  BANDANA_ASSIGN_OR_RETURN(const Checkpoint state,
                           StateToExport(model.checkpoint, model.path, model.values));
  model.checkpoint = std::string();
  ExportSource source{.config = model.config,
                      .checkpoint = [&](const ByteSink& sink) { return EncodeAgain(state, sink); },
                      .catalogue = model.catalogue};
  if (model.users.has_users()) {
    source.users = [&](const ByteSink& sink) { return model.users.Encode(sink); };
  }
  BANDANA_RETURN_IF_ERROR(WriteExport(source, file));
  BANDANA_ASSIGN_OR_RETURN(const MappedFile map, file.Map());
  BANDANA_ASSIGN_OR_RETURN(v1::ExportHeader header, HeaderOfExport(map.bytes()));
  return ExportedFile{std::move(file), std::move(header)};
}

}  // namespace bandana::server
