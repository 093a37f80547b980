#include "server/models/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kPrefix[] = "checkpoint-";
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr std::size_t kKept = 2;

}  // namespace

std::string CheckpointStore::Path(std::uint64_t sequence) const {
  return absl::StrFormat("%s/%s%020d", folder_, kPrefix, sequence);
}

absl::StatusOr<std::vector<std::uint64_t>> CheckpointStore::Sequences() const {
  std::vector<std::uint64_t> sequences;
  std::error_code error;
  std::filesystem::directory_iterator it(folder_, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view digits = name;
    std::uint64_t sequence = 0;
    if (absl::ConsumePrefix(&digits, kPrefix) && digits.size() == 20 &&
        absl::SimpleAtoi(digits, &sequence)) {
      sequences.push_back(sequence);
    }
  }
  if (error) return Unavailable("cannot list ", folder_, ": ", error.message());
  std::sort(sequences.begin(), sequences.end());
  return sequences;
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointStore::LoadNewest() {
  BANDANA_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sequences, Sequences());
  absl::Status damaged;
  for (auto sequence = sequences.rbegin(); sequence != sequences.rend(); ++sequence) {
    const std::string path = Path(*sequence);
    BANDANA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kBytesMax));
    absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(bytes);
    if (checkpoint.ok()) return std::optional<Checkpoint>(*std::move(checkpoint));
    damaged = Annotate(checkpoint.status(), path);
    warn_(absl::StrCat(damaged.message(), "; set aside, falling back to an older one"));
    std::error_code error;
    std::filesystem::rename(
        path, absl::StrFormat("%s/damaged-%s%020d", folder_, kPrefix, *sequence), error);
    if (error) return Unavailable("cannot rename ", path, ": ", error.message());
  }
  if (!damaged.ok()) return damaged;
  return std::optional<Checkpoint>();
}

absl::StatusOr<std::uint64_t> CheckpointStore::Write(std::uint64_t sequence,
                                                     std::string_view bytes) {
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(Path(sequence), bytes, 0600));
  BANDANA_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sequences, Sequences());
  if (sequences.size() < kKept) return 0;
  for (std::size_t i = 0; i + kKept < sequences.size(); ++i) {
    std::error_code error;
    std::filesystem::remove(Path(sequences[i]), error);
    if (error) warn_(absl::StrCat("cannot remove ", Path(sequences[i]), ": ", error.message()));
  }
  return sequences[sequences.size() - kKept];
}

}  // namespace bandana::server
