// Privacy quantities as types that do not convert into one another.
#pragma once

namespace bandana {

// Pure or approximate differential privacy's epsilon, nats. >= 0.
struct Epsilon {
  double value = 0;
  friend bool operator==(Epsilon, Epsilon) = default;
};

// Approximate differential privacy's delta, a probability. [0, 1).
struct Delta {
  double value = 0;
  friend bool operator==(Delta, Delta) = default;
};

}  // namespace bandana
