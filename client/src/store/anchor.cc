#include "client/src/store/anchor.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "client/core/handle.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::string_view kMagic = "bdanchr1";
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kMarkBytes = kMagic.size() + kIdentityBytes + 4 * 8 + kHashBytes;
constexpr std::size_t kChecksumBytes = 8;
// A slot is a disk sector.
constexpr std::size_t kSlotBytes = 512;

std::string ChecksumOf(std::string_view bytes) {
  const Sha256Digest digest = Sha256Of(bytes);
  return std::string(AsChars(digest).substr(0, kChecksumBytes));
}

std::string Encode(const StoreMark& mark) {
  std::string out(kMagic);
  out.append(mark.identity);
  for (const std::uint64_t number : {mark.position, mark.run, mark.events, mark.streams}) {
    ByteWriter(out).U64(number);
  }
  out.append(mark.ledger_hash);
  out.append(ChecksumOf(out));
  out.resize(kSlotBytes);
  return out;
}

std::optional<StoreMark> Decode(std::string_view slot) {
  if (slot.size() < kMarkBytes + kChecksumBytes) return std::nullopt;
  ByteReader reader(slot);
  StoreMark mark;
  const bool marked = reader.Take(kMagic.size()) == kMagic;
  mark.identity = std::string(reader.Take(kIdentityBytes));
  mark.position = reader.U64();
  mark.run = reader.U64();
  mark.events = reader.U64();
  mark.streams = reader.U64();
  mark.ledger_hash = std::string(reader.Take(kHashBytes));
  const std::string_view checksum = reader.Take(kChecksumBytes);
  if (!marked || checksum != ChecksumOf(slot.substr(0, kMarkBytes))) return std::nullopt;
  return mark;
}

}  // namespace

absl::Status Anchor::CreateFile(const std::string& path, const StoreMark& mark) {
  const std::string slot = Encode(mark);
  return WriteFileDurably(path, slot + slot, 0600);
}

absl::StatusOr<std::unique_ptr<Anchor>> Anchor::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const std::string text = absl::StrCat("device store: cannot open ", path, ": ");
    if (errno == ENOENT) return NotFound(text, std::strerror(errno));
    return Unavailable(text, std::strerror(errno));
  }
  std::unique_ptr<Anchor> anchor(new Anchor(fd, {}));
  std::array<char, 2 * kSlotBytes> bytes;
  const ssize_t read_bytes = pread(fd, bytes.data(), bytes.size(), 0);
  const std::string_view all(bytes.data(), read_bytes > 0 ? read_bytes : 0);
  std::optional<StoreMark> newest;
  for (std::size_t at = 0; at < all.size(); at += kSlotBytes) {
    auto mark = Decode(all.substr(at, kSlotBytes));
    if (mark && (!newest || mark->position > newest->position)) newest = std::move(mark);
  }
  if (!newest) return DataLoss("device store: ", path, " is damaged");
  anchor->mark_ = *std::move(newest);
  return anchor;
}

Anchor::~Anchor() {
  fdatasync(fd_);
  close(fd_);
}

void Anchor::Write(const StoreMark& mark) {
  const std::string slot = Encode(mark);
  const auto at = static_cast<off_t>(mark.position % 2 * kSlotBytes);
  if (pwrite(fd_, slot.data(), slot.size(), at) == static_cast<ssize_t>(slot.size())) mark_ = mark;
}

}  // namespace bandana::device
