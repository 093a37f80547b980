// How much each effect counts: one number per effect, learnt while the model serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"

namespace bandana {

// Numbers w ~ N(1, 0.3 I) with y = sum over effects t of w_t z_t' beta_t + noise: parameter
// expansion (Gelman, van Dyk, Huang, Boscardin, Journal of Computational and Graphical Statistics
// 2008), in one pass. T effects take T (T + 3) doubles, whatever the number of keys. A function of
// the sequence of calls, the same on every processor: plain sums in a fixed order. Not thread-safe;
// const methods are while nobody writes.
class EffectWeights {
 public:
  // After so many events of the model the weights that are shown become those that are learnt.
  static constexpr std::uint64_t kPublishEvents = 256;

  explicit EffectWeights(std::size_t effects);

  // The weight of effect t that the next event is learnt under, and the one that readers see.
  float learnt(std::size_t t) const { return static_cast<float>(learnt_[t]); }
  float shown(std::size_t t) const { return static_cast<float>(shown_[t]); }

  // The variance that the weights add to a prediction with parts s_t = z_t' m_t, one per effect, 0
  // where it is absent.
  double Spread(std::span<const float> parts);
  // The event of the last Spread. `error`: reward less prediction. `variance`: of the error, Spread
  // in it. `clear`: the reward's own variance as a share of that and its release's noise together,
  // (0, 1].
  void Learn(double error, double variance, double clear);
  void Publish() { shown_ = learnt_; }

  // The weights that are learnt, those that are shown, and the covariance's lower triangle.
  void Encode(ByteWriter& out) const;
  // Requires weights of as many effects. Errors: DATA_LOSS.
  absl::Status Decode(ByteReader& in);

 private:
  std::vector<double> learnt_;
  std::vector<double> shown_;
  std::vector<double> covariance_;  // T x T, symmetric to the bit
  std::vector<double> along_;       // covariance times the parts of the last Spread
};

}  // namespace bandana
