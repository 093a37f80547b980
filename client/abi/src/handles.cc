#include "client/abi/src/handles.h"

#include <atomic>
#include <map>
#include <utility>

namespace bandana::abi {
namespace {

struct Devices {
  std::map<bandana_device, std::shared_ptr<HostedDevice>> by_number;
  bandana_device last = 0;
};

constinit std::atomic_flag locked;  // clear

// Held for a look into the map. WebAssembly's library has no std::mutex.
class Lock {
 public:
  Lock() {
    while (locked.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { locked.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  // Never destroyed: threads may outlive main.
  Devices& devices() {
    static Devices* const devices = new Devices;
    return *devices;
  }
};

}  // namespace

bandana_device AddDevice(std::shared_ptr<HostedDevice> device) {
  Lock lock;
  Devices& devices = lock.devices();
  if (++devices.last == 0) return devices.last = 0xffffffff, 0;  // all numbers were given
  devices.by_number[devices.last] = std::move(device);
  return devices.last;
}

std::shared_ptr<HostedDevice> FindDevice(bandana_device device) {
  Lock lock;
  const auto found = lock.devices().by_number.find(device);
  return found == lock.devices().by_number.end() ? nullptr : found->second;
}

std::shared_ptr<HostedDevice> RemoveDevice(bandana_device device) {
  Lock lock;
  const auto node = lock.devices().by_number.extract(device);
  return node.empty() ? nullptr : node.mapped();
}

}  // namespace bandana::abi
