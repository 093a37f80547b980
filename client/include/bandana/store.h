// The device's durable memory: privacy ledger, open decisions, outbound reports. One file,
// shareable by many clients of one process so that their syncs are grouped.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/options.h"

namespace bandana {

// Threads: safe; share one through std::shared_ptr. One process at a time owns a file. The last
// owner to let go closes it.
class DeviceStore {
 public:
  // Opens or makes the SQLite file (mode 0600, WAL, synchronous=FULL, secure_delete) and checks
  // every row of it. Beside it lie `path`.anchor, which remembers how far the store had come, and,
  // without options.key, the store's own key in `path`.key. A file of the former format is
  // migrated: ledger and streams stay, decisions of open windows are dropped. Errors: UNAVAILABLE
  // I/O or owned by another process; DATA_LOSS not a store, damaged, of another anchor, or without
  // one: the file is left as it is; FAILED_PRECONDITION another key than it was made with;
  // INVALID_ARGUMENT options.
  static absl::StatusOr<std::shared_ptr<DeviceStore>> Open(const std::string& path,
                                                           const StoreOptions& options = {});
  // Nothing survives the process. Local models refuse it: their budget would be forgotten with it.
  static std::shared_ptr<DeviceStore> InMemory();

  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;
  virtual ~DeviceStore() = default;
  virtual bool durable() const = 0;
  // Open found an older copy of the file than its anchor remembers. What the copy cannot know of is
  // charged to every user, every earlier decision counts as reported, every counter stream has
  // ended.
  virtual bool rolled_back() const = 0;

  class Body;  // the SDK's own

 private:
  DeviceStore() = default;  // Body is the only one
};

}  // namespace bandana
