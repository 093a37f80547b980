// The device's durable memory: privacy ledger, open decisions, outbound reports. One file,
// shareable by many clients of one process so that their syncs are grouped.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace bandana {

// Threads: safe; share one through std::shared_ptr. One process at a time owns a file. The last
// owner to let go closes it.
class DeviceStore {
 public:
  // Opens or makes the SQLite file (mode 0600, WAL, synchronous=FULL, secure_delete) and checks
  // every row of it. Errors: UNAVAILABLE I/O or owned by another process; DATA_LOSS not a store, or
  // damaged: the file is left as it is.
  static absl::StatusOr<std::shared_ptr<DeviceStore>> Open(const std::string& path);
  // Nothing survives the process. Local models refuse it: their budget would be forgotten with it.
  static std::shared_ptr<DeviceStore> InMemory();

  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;
  virtual ~DeviceStore() = default;
  virtual bool durable() const = 0;

  class Body;  // the SDK's own

 private:
  DeviceStore() = default;  // Body is the only one
};

}  // namespace bandana
