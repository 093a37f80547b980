// The durable memory of the device: privacy ledger, open decisions, outbound reports. One file.
// Many clients of one process may share it, so that their syncs are grouped.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/options.h"

namespace bandana {

// Threads: safe; share it through std::shared_ptr. One process at a time owns a file. The file is
// closed when the last pointer goes.
class DeviceStore {
 public:
  // Opens or makes the SQLite file (mode 0600, WAL, synchronous=FULL, secure_delete) and checks
  // every row of it. Beside it lies `path`.anchor, which remembers how far the store had come, and,
  // without options.key, `path`.key, the store's own key. A file of the former format is migrated:
  // ledger and streams stay, decisions of open windows are dropped.
  //
  // Errors: UNAVAILABLE I/O, or another process owns the file; DATA_LOSS not a store, damaged, or
  // its anchor is missing or another store's (the file is left as it is); FAILED_PRECONDITION
  // another key than it was made with; INVALID_ARGUMENT options.
  static absl::StatusOr<std::shared_ptr<DeviceStore>> Open(const std::string& path,
                                                           const StoreOptions& options = {});
  // Nothing survives the process. Local models refuse it: their budget would be forgotten with it.
  static std::shared_ptr<DeviceStore> InMemory();

  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;
  virtual ~DeviceStore() = default;
  virtual bool durable() const = 0;
  // Whether Open found an older copy of the file than its anchor remembers. Then every user is
  // charged for what the copy may have forgotten, every earlier decision counts as reported, and
  // every counter stream has ended.
  virtual bool rolled_back() const = 0;

  class Body;  // the SDK's own

 private:
  DeviceStore() = default;  // Body is the only subclass
};

}  // namespace bandana
