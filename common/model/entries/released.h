// Values that may be published: what a mechanism released, or what needs none.
#pragma once

#include <utility>
#include <vector>

namespace bandana {

// Posterior, statistics and metrics of a private model read un-noised values nowhere: what they
// read has this type, and only the code that noises (or that knows there is nothing to noise) can
// make one.
template <typename T>
class Released {
 public:
  const T& value() const { return value_; }

 private:
  friend class PlainPath;        // raw where the model is not private; else the devices' draws
  friend class DrawnPath;        // noised here, one by one
  friend class ContextPath;      // noised on the devices
  friend class CoveredContexts;  // the middle of the reward range: public
  friend class LocalStreams;     // noised on the devices
  friend class CentralStreams;   // noised here
  friend class SparseStream;     // noised here, at the ends of episodes
  friend class EventPath;        // nothing, of models without streams
  explicit Released(T value) : value_(std::move(value)) {}
  T value_;
};

// The sum that counters have released of one node: sum of x (r - mid) over their events plus noise
// of covariance `variance` I.
struct NodeRelease {
  std::vector<double> moment;  // d, reward x feature units
  // v_u of docs/design/mechanisms.md#noise-aware-posterior, moment units squared.
  double variance = 0;
};

}  // namespace bandana
