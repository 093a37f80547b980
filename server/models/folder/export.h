// A whole model in one self-checking string: configuration, checkpoint, catalogue, users. Layout:
// docs/formats.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/folder/checkpoint.h"

namespace bandana::server {

// `users`: as EncodeUsers has them; empty where there are none.
std::string EncodeExport(const v1::ModelConfig& config, std::string_view checkpoint,
                         const Catalogue& catalogue, std::string_view users = {});

struct ExportedModel {
  v1::ModelConfig config;
  Checkpoint checkpoint;
  std::vector<CatalogueArm> arms;
  std::string users;
};
// Errors: DATA_LOSS damaged, truncated, or of an unknown version.
absl::StatusOr<ExportedModel> DecodeExport(std::string_view bytes);

// The checkpoint to export: streams are closed and the epoch is over, because noise and debits of a
// copy are its own; so no raw sum leaves. No window is open in it: of a private model they are the
// original's alone; of another one those with a report become events of the copy at once (`values`:
// what the windows hold), and reports on the others go to the original. The log's running hash
// stays behind: fresh random bytes stand in its place. Errors: DATA_LOSS the bytes; UNAVAILABLE no
// entropy.
absl::StatusOr<std::string> CheckpointToExport(std::string_view checkpoint, const EventPath& path,
                                               const WindowValues& values);

// Makes it the checkpoint of a copy, and encodes it: another instance, no open windows. A former
// version exported those with a report as open: they become events here.
std::string CheckpointOfCopy(Checkpoint& checkpoint, const InstanceId& instance);

}  // namespace bandana::server
