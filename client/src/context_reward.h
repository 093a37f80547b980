// A reward between Report and the draw of a perturbed context.
#pragma once

namespace bandana::device {

// Clipped. Has no printer, no bytes and no conversion to a number.
class ContextReward {
 private:
  friend class ContextPrivatizer;
  explicit ContextReward(double value) : value_(value) {}
  double value_;
};

}  // namespace bandana::device
