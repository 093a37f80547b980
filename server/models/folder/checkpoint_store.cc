#include "server/models/folder/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

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
constexpr char kSince[] = ".since-";
constexpr char kHalfWritten[] = ".tmp";  // WriteFileDurably
constexpr char kDamagedPrefix[] = "damaged-checkpoint-";
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr std::size_t kKept = 2;

std::string NameOf(const CheckpointFile& file) {
  const std::string name = absl::StrFormat("%s%020d", kPrefix, file.sequence);
  if (file.base) return absl::StrFormat("%s%s%020d", name, kSince, *file.base);
  return file.copy ? name + kCopySuffix : name;
}

bool TakeSequence(absl::string_view digits, std::uint64_t& sequence) {
  return digits.size() == 20 && absl::SimpleAtoi(digits, &sequence);
}

std::optional<CheckpointFile> FileOf(absl::string_view name) {
  CheckpointFile file;
  if (!absl::ConsumePrefix(&name, kPrefix)) return std::nullopt;
  if (const std::size_t since = name.find(kSince); since != absl::string_view::npos) {
    if (!TakeSequence(name.substr(since + sizeof kSince - 1), file.base.emplace())) {
      return std::nullopt;
    }
    name = name.substr(0, since);
  } else {
    file.copy = absl::ConsumeSuffix(&name, kCopySuffix);
  }
  if (!TakeSequence(name, file.sequence)) return std::nullopt;
  return file;
}

absl::Status TooShort() { return DataLoss("its base is too short"); }

ReadBase ReadOf(std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  return [shared](std::uint64_t offset, std::span<char> out) -> absl::Status {
    if (offset > shared->size() || shared->size() - offset < out.size()) return TooShort();
    std::copy_n(shared->data() + offset, out.size(), out.data());
    return absl::OkStatus();
  };
}

// A piece at a time: the base may be as large as all that the model holds.
ReadBase ReadOf(std::ifstream file) {
  const auto shared = std::make_shared<std::ifstream>(std::move(file));
  return [shared](std::uint64_t offset, std::span<char> out) -> absl::Status {
    shared->clear();
    shared->seekg(static_cast<std::streamoff>(offset));
    shared->read(out.data(), static_cast<std::streamsize>(out.size()));
    return *shared ? absl::OkStatus() : TooShort();
  };
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
    if (const auto file = FileOf(it->path().filename().string())) files.push_back(*file);
  }
  if (error) return Unavailable("cannot list ", options_.folder, ": ", error.message());
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::string> CheckpointStore::Plain(const CheckpointFile& file) const {
  BANDANA_ASSIGN_OR_RETURN(std::string bytes, ReadFile(Path(file), kBytesMax));
  absl::StatusOr<std::string> plain = Unseal(options_.seal.get(), std::move(bytes));
  if (!plain.ok()) return Annotate(plain.status(), Path(file));
  return plain;
}

absl::StatusOr<Checkpoint> CheckpointStore::Load(const CheckpointFile& file) const {
  BANDANA_ASSIGN_OR_RETURN(const std::string plain, Plain(file));
  return BaseOf(plain) ? LoadSince(file, plain) : Decode(file, plain);
}

absl::StatusOr<Checkpoint> CheckpointStore::LoadSince(const CheckpointFile& file,
                                                      std::string_view delta) const {
  const std::uint64_t base = *BaseOf(delta);
  if (file.base != base) return DataLoss(Path(file), ": holds what changed since entry ", base);
  absl::Status failed;
  for (const bool copy : {false, true}) {
    const CheckpointFile from{.sequence = base, .copy = copy};
    absl::StatusOr<Checkpoint> checkpoint = LoadWith(file, delta, from);
    const bool lost =
        absl::IsDataLoss(checkpoint.status()) || absl::IsNotFound(checkpoint.status());
    if (!lost) return checkpoint;
    failed = DataLoss(Path(file), ", with ", NameOf(from), ": ", checkpoint.status().message());
    if (!copy) warn_(absl::StrCat(failed.message(), "; trying its copy"));
  }
  return failed;
}

absl::StatusOr<Checkpoint> CheckpointStore::LoadWith(const CheckpointFile& file,
                                                     std::string_view delta,
                                                     const CheckpointFile& base) const {
  std::string whole;
  {
    BANDANA_ASSIGN_OR_RETURN(const ReadBase read, OpenBase(base));
    BANDANA_ASSIGN_OR_RETURN(whole, ApplyDelta(delta, read));
  }
  return Decode(file, whole);
}

absl::StatusOr<ReadBase> CheckpointStore::OpenBase(const CheckpointFile& file) const {
  if (options_.seal == nullptr) {
    std::ifstream in(Path(file), std::ios::binary);
    if (!in) return NotFound(Path(file), " is missing");
    return ReadOf(std::move(in));
  }
  BANDANA_ASSIGN_OR_RETURN(std::string bytes, Plain(file));
  return ReadOf(std::move(bytes));
}

absl::StatusOr<Checkpoint> CheckpointStore::Decode(const CheckpointFile& file,
                                                   std::string_view bytes) const {
  absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(bytes);
  if (!checkpoint.ok()) return Annotate(checkpoint.status(), Path(file));
  if (checkpoint->state.position.sequence != file.sequence) {
    return DataLoss(Path(file), ": holds the state after entry ",
                    checkpoint->state.position.sequence);
  }
  return checkpoint;
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointStore::LoadNewest() {
  // It may hold what was to be erased since, and nobody would overwrite it.
  BANDANA_RETURN_IF_ERROR(RemoveLeft(/*damaged=*/false));
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
                                        const ByteSource& content) const {
  if (options_.seal == nullptr) return WriteFileDurably(Path(file), content, 0600);
  const ByteSource sealed = [&](const ByteSink& sink) {
    return options_.seal->Seal(content, SystemBits(), sink);
  };
  return WriteFileDurably(Path(file), sealed, 0600);
}

absl::Status CheckpointStore::WriteWhole(std::uint64_t sequence, const ByteSource& checkpoint,
                                         bool twice) {
  base_.reset();
  std::optional<CheckpointIndex> index;
  const ByteSource indexed = [&](const ByteSink& sink) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(index, CheckpointIndex::Of(sequence, checkpoint, sink));
    return absl::OkStatus();
  };
  BANDANA_RETURN_IF_ERROR(WriteFile({sequence}, options_.newest_twice ? checkpoint : indexed));
  const bool is_base = index && index->bytes() >= options_.base_bytes_min;
  if (twice || is_base) BANDANA_RETURN_IF_ERROR(WriteFile({sequence, true}, checkpoint));
  if (is_base) base_ = std::move(index);
  return absl::OkStatus();
}

absl::Status CheckpointStore::WriteDelta(std::uint64_t sequence, const ByteSource& checkpoint) {
  std::uint64_t bytes = 0;
  const ByteSource delta = DeltaTo(*base_, checkpoint);
  BANDANA_RETURN_IF_ERROR(
      WriteFile({.sequence = sequence, .base = base_->sequence()}, [&](const ByteSink& sink) {
        return delta([&](std::string_view piece) {
          bytes += piece.size();
          return sink(piece);
        });
      }));
  // What changed grows with time: at some size a new base costs less than many such files.
  if (bytes > base_->bytes() / 2) base_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> CheckpointStore::Write(std::uint64_t sequence,
                                                     const ByteSource& checkpoint) {
  BANDANA_RETURN_IF_ERROR(base_ && base_->sequence() < sequence
                              ? WriteDelta(sequence, checkpoint)
                              : WriteWhole(sequence, checkpoint, options_.newest_twice));
  return RemoveOld();
}

absl::StatusOr<std::uint64_t> CheckpointStore::WriteAlone(std::uint64_t sequence,
                                                          const ByteSource& checkpoint) {
  BANDANA_RETURN_IF_ERROR(WriteWhole(sequence, checkpoint, /*twice=*/true));
  BANDANA_RETURN_IF_ERROR(RemoveLeft(/*damaged=*/true));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  // What changed since a base needs the base: it goes before it.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const bool stays = file->sequence == sequence && !file->base;
    if (!stays && !Remove(*file)) return Unavailable("cannot remove ", Path(*file));
  }
  return sequence;
}

absl::Status CheckpointStore::RemoveLeft(bool damaged) const {
  std::error_code error;
  std::filesystem::directory_iterator it(options_.folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool half = name.starts_with(kPrefix) && name.ends_with(kHalfWritten);
    if (!half && !(damaged && name.starts_with(kDamagedPrefix))) continue;
    std::error_code failed;
    std::filesystem::remove(it->path(), failed);
    if (failed) return Unavailable("cannot remove ", it->path().string(), ": ", failed.message());
  }
  if (error) return Unavailable("cannot list ", options_.folder, ": ", error.message());
  return absl::OkStatus();
}

bool CheckpointStore::Remove(const CheckpointFile& file) const {
  std::error_code error;
  std::filesystem::remove(Path(file), error);
  if (error) warn_(absl::StrCat("cannot remove ", Path(file), ": ", error.message()));
  return !error;
}

absl::StatusOr<std::uint64_t> CheckpointStore::RemoveOld() const {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  if (files.size() < kKept) return 0;
  const auto oldest = files.end() - kKept;
  // Newest first: what changed since a base goes before it.
  for (auto file = std::make_reverse_iterator(oldest); file != files.rend(); ++file) {
    const bool needed = std::any_of(oldest, files.end(), [&](const CheckpointFile& kept) {
      return kept.base == file->sequence;
    });
    if (!needed) Remove(*file);
  }
  return oldest->sequence;
}

}  // namespace bandana::server
