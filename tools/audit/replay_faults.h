// Faults of the binding of noise to data, put into the server's code to see that the replay audit
// catches them.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "common/model/state/noise_binding.h"

namespace bandana::audit {

struct ReplayFault {
  std::string_view name;
  std::string_view description;
  // The identity takes over the feature bound of the configuration that the folder is opened with.
  bool bound_is_forgotten = false;
  std::unique_ptr<NoiseBinding> (*make)(bool other_build, bool one_reward) = nullptr;
};

// The first has no name: nothing is broken.
std::span<const ReplayFault> ReplayFaults();

}  // namespace bandana::audit
