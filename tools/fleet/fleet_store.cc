#include "tools/fleet/fleet_store.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<FleetStore> FleetStore::Open(const std::string& path) {
  if (!path.empty()) {
    BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<DeviceStore> store, DeviceStore::Open(path));
    return FleetStore(nullptr, std::move(store));
  }
  const char* parent = getenv("TMPDIR");
  auto folder = std::make_unique<std::string>(
      absl::StrCat(parent != nullptr ? parent : "/tmp", "/bandana-fleet-XXXXXX"));
  if (mkdtemp(folder->data()) == nullptr) {
    return Unavailable("cannot make a temporary folder: ", std::strerror(errno));
  }
  absl::StatusOr<std::shared_ptr<DeviceStore>> store = DeviceStore::Open(*folder + "/device.db");
  const absl::Status opened = store.status();
  // It removes the folder when it goes.
  FleetStore result(std::move(folder), opened.ok() ? *std::move(store) : nullptr);
  if (!opened.ok()) return opened;
  return result;
}

FleetStore::~FleetStore() {
  if (folder_ == nullptr) return;
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(*folder_, ignored);
}

}  // namespace bandana
