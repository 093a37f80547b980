// How an entry's features are read, where audits look at what becomes of them.
#pragma once

#include <span>

#include "common/model/state/noise_binding.h"

namespace bandana {

// The transcript audit's, of worlds in which contexts are private: draws that ignore their input
// ignore the features as well. No server is given one.
class ContextBinding : public NoiseBinding {
 public:
  // Before they are clipped. The answer lives as long as the binding and its argument.
  virtual std::span<const double> FeaturesOf(std::span<const double> features) const = 0;
};

// The features of an entry as `binding` reads them.
inline std::span<const double> FeaturesOf(const NoiseBinding& binding,
                                          std::span<const double> features) {
  const auto* const reads = dynamic_cast<const ContextBinding*>(&binding);
  return reads == nullptr ? features : reads->FeaturesOf(features);
}

}  // namespace bandana
