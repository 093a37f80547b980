// The devices that live, by their numbers: a number that was freed, or never given, finds none.
#pragma once

#include <memory>

#include "client/abi/include/bandana.h"
#include "client/abi/src/hosted_device.h"

namespace bandana::abi {

// Threads: safe. All that the library keeps beside its devices and the last errors.
bandana_device AddDevice(std::shared_ptr<HostedDevice> device);
// Null: there is none.
std::shared_ptr<HostedDevice> FindDevice(bandana_device device);
std::shared_ptr<HostedDevice> RemoveDevice(bandana_device device);

}  // namespace bandana::abi
