// How one bounded number reaches a learner without contexts: the labels of ldp-mab, -bai and -bco.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/random/real_samplers.h"
#include "research/lab/noise.h"
#include "tools/published/loss_mechanism.h"

namespace bandana::lab {

// non-private  the clipped number
// published    plus N(0, (width sqrt(2 ln(1.25 / delta)) / epsilon)^2): [Z20] Algorithms 1 and 2
// proven       the discrete Gaussian of analytic scale (ScalarGaussian)
// randomizer   RewardRandomizer, pure epsilon
// auto         the one of the last two with the smaller variance
// Not thread-safe.
class NumberChannel {
 public:
  struct Options {
    std::string_view label;
    Epsilon epsilon;
    Delta delta;
    RewardRange range;
    bool binary = false;
    std::uint64_t seed = 0;
    std::uint64_t stream = 1;  // of the noise
  };
  // Errors: INVALID_ARGUMENT the label, or what the mechanism refuses.
  static absl::StatusOr<NumberChannel> Create(const Options& options);

  absl::StatusOr<double> Release(double value);

  const std::string& name() const { return name_; }
  // Largest variance of a release given its number; 0 without privacy.
  double variance() const { return variance_; }
  // sqrt of the largest E (release - middle of the range)^2.
  double scale() const;
  // LossMechanism::VarianceProxy.
  double variance_proxy() const { return variance_proxy_; }
  // Where every release lies; nothing where it is unbounded.
  std::optional<RewardRange> output_range() const { return output_range_; }

 private:
  NumberChannel() = default;
  RewardRange range_;
  std::string name_;
  double variance_ = 0;
  double variance_proxy_ = 0;
  std::optional<RewardRange> output_range_;
  double published_stddev_ = 0;
  std::optional<LossMechanism> mechanism_;
  std::unique_ptr<LabNoise> noise_;
  std::unique_ptr<RealSampler> normals_;
};

}  // namespace bandana::lab
