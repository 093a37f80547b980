#include "tools/fleet/fleet_store.h"

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<FleetStore> FleetStore::Open(const std::string& path) {
  std::unique_ptr<WorkFolder> folder;
  if (path.empty()) {
    BANDANA_ASSIGN_OR_RETURN(folder, WorkFolder::Make("fleet"));
  }
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<DeviceStore> store,
                           DeviceStore::Open(path.empty() ? folder->path() + "/device.db" : path));
  return FleetStore(std::move(folder), std::move(store));
}

}  // namespace bandana
