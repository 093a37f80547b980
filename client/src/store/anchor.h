// A second file beside the device store that remembers how far the store had come, so that an older
// copy of the store put back in its place is noticed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/core/store_mark.h"

namespace bandana::device {

// Two slots with a checksum each, written in turn, so that a torn write leaves the other. It cannot
// see a copy of both files put back together. Threads: not thread-safe.
class Anchor {
 public:
  static std::string PathOf(const std::string& store_path) { return store_path + ".anchor"; }

  // Makes the file, mode 0600, durably. Errors: UNAVAILABLE I/O.
  static absl::Status CreateFile(const std::string& path, const StoreMark& mark);
  // Errors: NOT_FOUND; DATA_LOSS no slot is sound; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<Anchor>> Open(const std::string& path);
  // Syncs what was written.
  ~Anchor();
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;

  const StoreMark& mark() const { return mark_; }
  // Call it only with what the store has made durable. Not synced: it survives the process at once
  // and the machine a little later. A failed write costs nothing but the notice.
  void Write(const StoreMark& mark);

 private:
  Anchor(int fd, StoreMark mark) : fd_(fd), mark_(std::move(mark)) {}

  const int fd_;
  StoreMark mark_;
};

}  // namespace bandana::device
