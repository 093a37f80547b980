#include "server/decisions/decision_export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/decisions/decision_files.h"

namespace bandana::server {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
// A line is written so long after its decision at most.
constexpr absl::Duration kWrittenWithin = absl::Minutes(1);

// A file that is read while it may go: not mapped, for its space may be given back meanwhile.
class Reading {
 public:
  explicit Reading(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Reading() {
    if (fd_ >= 0) ::close(fd_);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  bool there() const { return fd_ >= 0; }
  // Up to `bytes` more; fewer where the file ends.
  absl::StatusOr<std::string_view> Next(std::size_t bytes) {
    buffer_.resize(bytes);
    std::size_t have = 0;
    while (have < bytes) {
      const ssize_t got = ::read(fd_, buffer_.data() + have, bytes - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(path_, errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return std::string_view(buffer_).substr(0, have);
  }

 private:
  const std::string path_;
  const int fd_;
  std::string buffer_;
};

// Rows with other pseudonyms. `rows` is whole rows.
absl::StatusOr<std::string> Renamed(std::string_view rows, const PseudonymKey* key) {
  std::string renamed;
  renamed.reserve(rows.size());
  for (std::size_t at = 0; at + kUserRowBytes <= rows.size(); at += kUserRowBytes) {
    UserRow row = UserRowOf(rows.substr(at, kUserRowBytes));
    const bool erased = row.user == UserPseudonym{};
    if (key == nullptr) {
      row.user = {};
    } else if (!erased) {
      BANDANA_ASSIGN_OR_RETURN(row.user, key->Of(AsChars(row.user)));
    }
    AppendRow(row, renamed);
  }
  return renamed;
}

}  // namespace

DecisionExport DecisionExport::Of(const DecisionStore& store, const Range& range) {
  DecisionExport out;
  out.folder_ = store.folder();
  absl::Time first = absl::InfiniteFuture();
  const auto decisions = store.segments(SegmentKind::kDecisions);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const absl::Time until =
        i + 1 < decisions.size() ? decisions[i + 1].made : absl::InfiniteFuture();
    if (until < range.from || decisions[i].made - kWrittenWithin >= range.to) continue;
    first = std::min(first, decisions[i].made);
    out.files_.push_back({SegmentKind::kUsers, decisions[i].number,
                          kSegmentHeaderBytes + decisions[i].lines * kUserRowBytes});
    out.files_.push_back(
        {SegmentKind::kDecisions, decisions[i].number,
         decisions[i].bytes - kSegmentHeaderBytes - decisions[i].lines * kUserRowBytes});
  }
  const auto rewards = store.segments(SegmentKind::kRewards);
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    const bool over = i + 1 < rewards.size() && rewards[i + 1].made < first - kWrittenWithin;
    if (!over) out.files_.push_back({SegmentKind::kRewards, rewards[i].number, rewards[i].bytes});
  }
  return out;
}

absl::Status DecisionExport::Write(const PseudonymKey* key, const Sink& sink) const {
  for (const File& file : files_) {
    const std::string path = SegmentPath(folder_, file.kind, file.number);
    const std::string name = path.substr(folder_.size() + 1);
    Reading reading(path);
    if (!reading.there()) continue;
    const bool users = file.kind == SegmentKind::kUsers;
    // Whole rows at a time, behind the header.
    const std::size_t piece = users ? kPieceBytes / kUserRowBytes * kUserRowBytes : kPieceBytes;
    std::uint64_t left = file.bytes;
    for (bool head = true; left > 0; head = false) {
      const std::size_t wanted = std::min<std::uint64_t>(left, head ? kSegmentHeaderBytes : piece);
      BANDANA_ASSIGN_OR_RETURN(std::string_view bytes, reading.Next(wanted));
      const bool ends = bytes.size() < wanted;
      std::string renamed;
      if (users && !head) {
        BANDANA_ASSIGN_OR_RETURN(renamed, Renamed(bytes, key));
        bytes = renamed;
      }
      if (!bytes.empty()) BANDANA_RETURN_IF_ERROR(sink(name, bytes));
      if (ends) break;
      left -= wanted;
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
