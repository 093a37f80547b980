#include "server/models/folder/publication.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kMagic = "BANDPUBL";
constexpr std::uint32_t kVersion = 1;

std::string PathOf(const std::string& folder) { return folder + "/published"; }

absl::Status OtherHistory(std::uint64_t sequence) {
  return DataLoss("log entry ", sequence,
                  " is not the one after which this model published: the log was put back and has "
                  "gone on differently; import the state as a new model instead");
}

}  // namespace

absl::Status WritePublished(const std::string& folder, const std::array<std::byte, 16>& instance,
                            const LogPosition& position) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kMagic));
  out.U32(kVersion);
  out.Fixed(instance);
  out.U64(position.sequence);
  out.Fixed(position.hash);
  out.Fixed(Sha256Of(bytes));
  return WriteFileDurably(PathOf(folder), bytes, 0600);
}

absl::StatusOr<LogPosition> ReadPublished(const std::string& folder,
                                          const std::array<std::byte, 16>& instance) {
  std::error_code error;
  if (!std::filesystem::exists(PathOf(folder), error)) return LogPosition{};
  const absl::StatusOr<std::string> read = ReadFile(PathOf(folder), 4096);
  if (!read.ok()) return read.status();
  const std::string_view bytes = *read;
  const std::size_t size = bytes.size() - std::min(bytes.size(), sizeof(Sha256Digest));
  const std::string_view body = bytes.substr(0, size);
  ByteReader in(body);
  const bool known = in.Take(kMagic.size()) == kMagic && in.U32() == kVersion;
  std::array<std::byte, 16> stored{};
  in.Fixed(stored);
  LogPosition position;
  position.sequence = in.U64();
  in.Fixed(position.hash);
  if (!known || !in.Done() || AsChars(Sha256Of(body)) != bytes.substr(size) || stored != instance) {
    return DataLoss(PathOf(folder), ": damaged, or of another model");
  }
  return position;
}

PublishedCheck::PublishedCheck(const LogPosition& published, const LogPosition& start,
                               const LogPosition& published_at_start)
    : published_(published) {
  if (published.sequence == 0 || published.sequence > start.sequence) return;
  // Not after the checkpoint: at it, or what it had seen published.
  if (published != start && published != published_at_start) {
    start_ = OtherHistory(published.sequence);
  }
}

absl::Status PublishedCheck::See(const LogPosition& position) const {
  if (position.sequence == published_.sequence && position != published_) {
    return OtherHistory(position.sequence);
  }
  return absl::OkStatus();
}

absl::Status PublishedCheck::Finish(const LogPosition& last) const {
  if (last.sequence >= published_.sequence) return absl::OkStatus();
  return DataLoss("the log ends at entry ", last.sequence,
                  ", and this model published after entry ", published_.sequence,
                  ": an older copy of the log was put back");
}

}  // namespace bandana::server
