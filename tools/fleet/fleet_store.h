// The device store of a fleet: a named file, or one that leaves no trace.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bandana/store.h"
#include "tools/base/work_folder.h"

namespace bandana {

// A durable store in a folder of its own, removed on destruction (after the last user of `store` is
// gone), and where the fleet is killed. Threads: not thread-safe.
class FleetStore {
 public:
  // `path` empty: temporary. Errors: as DeviceStore::Open; UNAVAILABLE no temporary folder.
  static absl::StatusOr<FleetStore> Open(const std::string& path);

  const std::shared_ptr<DeviceStore>& store() const { return store_; }

 private:
  FleetStore(std::unique_ptr<WorkFolder> folder, std::shared_ptr<DeviceStore> store)
      : folder_(std::move(folder)), store_(std::move(store)) {}

  std::unique_ptr<WorkFolder> folder_;  // null when there is nothing to remove
  std::shared_ptr<DeviceStore> store_;
};

}  // namespace bandana
