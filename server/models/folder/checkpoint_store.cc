#include "server/models/folder/checkpoint_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr char kPrefix[] = "checkpoint-";
constexpr char kCopySuffix[] = ".copy";
constexpr char kSince[] = ".since-";
constexpr char kDamagedPrefix[] = "damaged-checkpoint-";
constexpr std::uint64_t kCheckpointBytesMax = std::uint64_t{1} << 40;
constexpr std::size_t kKept = 2;

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

ReadBase ReadOf(std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  return [shared](std::uint64_t offset, std::span<char> out) -> absl::Status {
    if (offset > shared->size() || shared->size() - offset < out.size()) {
      return DataLoss("its base is too short");
    }
    std::copy_n(shared->data() + offset, out.size(), out.data());
    return absl::OkStatus();
  };
}

}  // namespace

std::string CheckpointStore::NameOf(const CheckpointFile& file) {
  const std::string name = absl::StrFormat("%s%020d", kPrefix, file.sequence);
  if (file.base) return absl::StrFormat("%s%s%020d", name, kSince, *file.base);
  return file.copy ? name + kCopySuffix : name;
}

std::string CheckpointStore::Path(const CheckpointFile& file) const {
  return state_->Where(NameOf(file));
}

absl::StatusOr<std::vector<CheckpointFile>> CheckpointStore::Files() const {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> names, state_->Files());
  std::vector<CheckpointFile> files;
  for (const std::string& name : names) {
    if (const auto file = FileOf(name)) files.push_back(*file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<bool> CheckpointStore::Has(std::uint64_t sequence) const {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  const auto count = std::count_if(files.begin(), files.end(), [&](const CheckpointFile& file) {
    return file.sequence == sequence;
  });
  return count >= (options_.newest_twice ? 2 : 1);
}

absl::StatusOr<std::string> CheckpointStore::Plain(const CheckpointFile& file) const {
  BANDANA_ASSIGN_OR_RETURN(std::string bytes, state_->Read(NameOf(file), kCheckpointBytesMax));
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
  if (options_.seal == nullptr) return state_->Open(NameOf(file));
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

absl::StatusOr<std::optional<Checkpoint>> CheckpointStore::FindNewest() const {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, Files());
  absl::Status none;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    absl::StatusOr<Checkpoint> checkpoint = Load(*file);
    if (checkpoint.ok()) return std::optional<Checkpoint>(*std::move(checkpoint));
    none = checkpoint.status();
    // The owner may have replaced it since it was listed.
    if (!absl::IsDataLoss(none) && !absl::IsNotFound(none)) return none;
  }
  if (files.empty()) return std::optional<Checkpoint>();
  return absl::IsNotFound(none) ? Unavailable("the checkpoints change now") : none;
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
    BANDANA_RETURN_IF_ERROR(state_->Rename(NameOf(*file), "damaged-" + NameOf(*file)));
  }
  if (!damaged.ok()) return damaged;
  return std::optional<Checkpoint>();
}

absl::Status CheckpointStore::WriteFile(const CheckpointFile& file,
                                        const ByteSource& content) const {
  if (options_.seal == nullptr) return state_->Write(NameOf(file), content);
  const ByteSource sealed = [&](const ByteSink& sink) {
    return options_.seal->Seal(content, SystemBits(), sink);
  };
  return state_->Write(NameOf(file), sealed);
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
  // The difference to the base grows with time: at some size a new base costs less than many such
  // files.
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
  // A file of differences needs its base, so it is removed before the base.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const bool stays = file->sequence == sequence && !file->base;
    if (!stays && !Remove(*file)) return Unavailable("cannot remove ", Path(*file));
  }
  BANDANA_RETURN_IF_ERROR(state_->EraseRemoved());
  return sequence;
}

absl::Status CheckpointStore::RemoveLeft(bool damaged) const {
  BANDANA_RETURN_IF_ERROR(state_->RemoveHalfWritten(kPrefix));
  if (!damaged) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> names, state_->Files());
  for (const std::string& name : names) {
    if (name.starts_with(kDamagedPrefix)) BANDANA_RETURN_IF_ERROR(state_->Remove(name));
  }
  return absl::OkStatus();
}

bool CheckpointStore::Remove(const CheckpointFile& file) const {
  const absl::Status removed = state_->Remove(NameOf(file));
  if (!removed.ok()) warn_(std::string(removed.message()));
  return removed.ok();
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
