// Privacy quantities as types that do not convert into one another, so that two neighbouring
// doubles cannot be swapped.
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

// Zero-concentrated differential privacy's rho [CKS20]. >= 0.
struct Rho {
  double value = 0;
  friend bool operator==(Rho, Rho) = default;
};

// Gaussian differential privacy's mu [DRS22]: sensitivity over noise standard deviation. >= 0.
struct Mu {
  double value = 0;
  friend bool operator==(Mu, Mu) = default;
};

// Total variation distance between the law of what was released and the law that a reading assumes.
// [0, 1).
struct TotalVariation {
  double value = 0;
  friend bool operator==(TotalVariation, TotalVariation) = default;
};

// Largest change of a statistic between neighbours, in the L1 and in the L2 norm, in the
// statistic's units. >= 0.
struct L1Sensitivity {
  double value = 0;
  friend bool operator==(L1Sensitivity, L1Sensitivity) = default;
};
struct L2Sensitivity {
  double value = 0;
  friend bool operator==(L2Sensitivity, L2Sensitivity) = default;
};

}  // namespace bandana
