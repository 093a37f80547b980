#include "server/models/folder/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr char kPrefix[] = "checkpoint-";
constexpr char kCopySuffix[] = ".copy";
constexpr char kDamagedPrefix[] = "damaged-checkpoint-";
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr std::size_t kKept = 2;

std::string NameOf(const CheckpointFile& file) {
  return absl::StrFormat("%s%020d%s", kPrefix, file.sequence, file.copy ? kCopySuffix : "");
}

}  // namespace

std::string CheckpointStore::Path(const CheckpointFile& file) const {
  return absl::StrCat(options_.folder, "/", NameOf(file));
}

absl::StatusOr<std::vector<CheckpointFile>> CheckpointStore::Files() const {
  std::vector<CheckpointFile> files;
  std::error_code error;
  std::filesystem::directory_iterator it(options_.folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view digits = name;
    CheckpointFile file;
    if (!absl::ConsumePrefix(&digits, kPrefix)) continue;
    file.copy = absl::ConsumeSuffix(&digits, kCopySuffix);
    if (digits.size() == 20 && absl::SimpleAtoi(digits, &file.sequence)) files.push_back(file);
  }
  if (error) return Unavailable("cannot list ", options_.folder, ": ", error.message());
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<Checkpoint> CheckpointStore::Load(const CheckpointFile& file) const {
  BANDANA_ASSIGN_OR_RETURN(std::string bytes, ReadFile(Path(file), kBytesMax));
  absl::StatusOr<std::string> plain = Unseal(options_.seal.get(), std::move(bytes));
  if (!plain.ok()) return Annotate(plain.status(), Path(file));
  absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(*plain);
  if (!checkpoint.ok()) return Annotate(checkpoint.status(), Path(file));
  if (checkpoint->state.position.sequence != file.sequence) {
    return DataLoss(Path(file), ": holds the state after entry ",
                    checkpoint->state.position.sequence);
  }
  return checkpoint;
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointStore::LoadNewest() {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  absl::Status damaged;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    absl::StatusOr<Checkpoint> checkpoint = Load(*file);
    if (checkpoint.ok()) return std::optional<Checkpoint>(*std::move(checkpoint));
    if (!absl::IsDataLoss(checkpoint.status())) return checkpoint.status();
    damaged = checkpoint.status();
    warn_(absl::StrCat(damaged.message(), "; set aside, falling back to another one"));
    std::error_code error;
    std::filesystem::rename(Path(*file), options_.folder + "/damaged-" + NameOf(*file), error);
    if (error) return Unavailable("cannot rename ", Path(*file), ": ", error.message());
  }
  if (!damaged.ok()) return damaged;
  return std::optional<Checkpoint>();
}

absl::Status CheckpointStore::WriteFile(const CheckpointFile& file,
                                        const ByteSource& checkpoint) const {
  if (options_.seal == nullptr) return WriteFileDurably(Path(file), checkpoint, 0600);
  const ByteSource sealed = [&](const ByteSink& sink) {
    return options_.seal->Seal(checkpoint, SystemBits(), sink);
  };
  return WriteFileDurably(Path(file), sealed, 0600);
}

absl::StatusOr<std::uint64_t> CheckpointStore::WriteAlone(std::uint64_t sequence,
                                                          const ByteSource& checkpoint) {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t covered,
                           Write(sequence, checkpoint, /*twice=*/true));
  std::error_code error;
  std::filesystem::directory_iterator it(options_.folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (!it->path().filename().string().starts_with(kDamagedPrefix)) continue;
    std::error_code failed;
    std::filesystem::remove(it->path(), failed);
    if (failed) return Unavailable("cannot remove ", it->path().string(), ": ", failed.message());
  }
  if (error) return Unavailable("cannot list ", options_.folder, ": ", error.message());
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  for (const CheckpointFile& file : files) {
    if (file.sequence < sequence) return Unavailable("cannot remove ", Path(file));
  }
  return covered;
}

absl::StatusOr<std::uint64_t> CheckpointStore::Write(std::uint64_t sequence,
                                                     const ByteSource& checkpoint, bool twice) {
  BANDANA_RETURN_IF_ERROR(WriteFile({sequence}, checkpoint));
  if (twice) BANDANA_RETURN_IF_ERROR(WriteFile({sequence, true}, checkpoint));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  if (files.size() < kKept) return 0;
  for (std::size_t i = 0; i + kKept < files.size(); ++i) {
    std::error_code error;
    std::filesystem::remove(Path(files[i]), error);
    if (error) warn_(absl::StrCat("cannot remove ", Path(files[i]), ": ", error.message()));
  }
  return files[files.size() - kKept].sequence;
}

}  // namespace bandana::server
