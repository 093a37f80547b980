// A whole model in one self-checking sequence of bytes: configuration, checkpoint, catalogue,
// users. Layout: docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/base/byte_sink.h"
#include "common/base/temp_file.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/folder/checkpoint.h"

namespace bandana::server {

// The oldest and the newest form of exports that this version reads.
inline constexpr std::uint32_t kExportVersionMin = 1;
inline constexpr std::uint32_t kExportVersionMax = 4;

// The source of an export. Its long parts give their bytes to a sink, piece by piece.
struct ExportSource {
  using Part = std::function<absl::Status(const ByteSink&)>;
  const v1::ModelConfig& config;
  Part checkpoint;
  const Catalogue& catalogue;
  Part users;  // as EncodeUsers has them; null where there are none
};
// Appends an export to an empty file. Errors: the parts' and the file's.
absl::Status WriteExport(const ExportSource& source, TempFile& file);

// As above for short models. `users`: empty where there are none.
std::string EncodeExport(const v1::ModelConfig& config, std::string_view checkpoint,
                         const Catalogue& catalogue, std::string_view users = {});

// The form of each arm in an export beside id, features and tags.
struct ExportedArmForm {
  bool groups = false;
  bool name = false;
  bool facts = false;
};

// The arms of an export, where its bytes are: decoded one after the other.
class ExportedArms {
 public:
  ExportedArms() = default;
  ExportedArms(std::string_view bytes, std::uint64_t count, int dimension, ExportedArmForm form)
      : bytes_(bytes), count_(count), dimension_(dimension), form_(form) {}

  std::uint64_t size() const { return count_; }
  // Errors: DATA_LOSS what is there are not these arms; those of `body`, which is then called no
  // more.
  absl::Status ForEach(const std::function<absl::Status(CatalogueArm)>& body) const;

 private:
  std::string_view bytes_;
  std::uint64_t count_ = 0;
  int dimension_ = 0;
  ExportedArmForm form_;
};

// Where the parts of an export are in its bytes.
struct ExportView {
  std::uint32_t version = 0;
  std::string_view config;  // serialized
  std::string_view checkpoint;
  CheckpointExtent extent;
  ExportedArms arms;
  std::string_view users;  // empty where there are none
};
// Goes by the lengths alone and reads next to nothing: the checksum is not looked at. Errors:
// DATA_LOSS not an exported model, or truncated; FAILED_PRECONDITION of an unknown version.
absl::StatusOr<ExportView> LookAtExport(std::string_view bytes);

// Reads all bytes. Errors: DATA_LOSS damaged or truncated.
absl::Status CheckExportDigest(std::string_view bytes);

// `arms` and `users` are views of the bytes that it was decoded from.
struct ExportedModel {
  v1::ModelConfig config;
  Checkpoint checkpoint;
  ExportedArms arms;
  std::string_view users;
};
// Errors: DATA_LOSS damaged, truncated, or of an unknown version.
absl::StatusOr<ExportedModel> DecodeExport(std::string_view bytes);

// The state to export: streams are closed and the epoch is over, because noise and debits of a
// copy are its own; so no raw sum leaves. No window is open in it: of a private model they are the
// original's alone; of another one those with a report become events of the copy at once (`values`:
// what the windows hold), and reports on the others go to the original. The log's running hash
// stays behind: fresh random bytes stand in its place. Errors: DATA_LOSS the bytes; UNAVAILABLE no
// entropy.
absl::StatusOr<Checkpoint> StateToExport(std::string_view checkpoint, const EventPath& path,
                                         const WindowValues& values);
// As above, encoded.
absl::StatusOr<std::string> CheckpointToExport(std::string_view checkpoint, const EventPath& path,
                                               const WindowValues& values);

// Makes it the checkpoint of a copy: another instance, no open windows. A former version exported
// those with a report as open: they become events here.
void BecomeCopy(Checkpoint& checkpoint, const InstanceId& instance);

}  // namespace bandana::server
