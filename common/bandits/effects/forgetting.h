// How an effect forgets: by events of its key.
#pragma once

#include <cstdint>

namespace bandana {

// One step of the stationary process beta' = kept beta + sqrt(1 - kept^2) N(0, p I), whose law is
// the prior: mean and covariance become kept m and kept^2 P + (1 - kept^2) p I.
struct Forgetting {
  float kept = 1;     // 2^(-1 / half-life)
  float renewed = 0;  // 1 - kept^2

  bool any() const { return renewed > 0; }
};

// `half_life` events; 0: nothing is forgotten. By series: the library's powers may round
// differently elsewhere.
Forgetting ForgettingOf(std::uint64_t half_life);

}  // namespace bandana
