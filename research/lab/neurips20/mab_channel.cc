#include "research/lab/neurips20/mab_channel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"

namespace bandana::lab {

absl::StatusOr<NumberChannel> NumberChannel::Create(const Options& options) {
  NumberChannel channel;
  channel.range_ = options.range;
  const double width = options.range.width();
  BANDANA_ASSIGN_OR_RETURN(channel.noise_, LabNoise::Create(options.seed, options.stream));
  if (options.label == "non-private") {
    channel.name_ = "none";
    channel.variance_proxy_ = width * width / 4;
    channel.output_range_ = options.range;
    return channel;
  }
  if (options.label == "published") {
    if (!(options.epsilon.value > 0) || !(options.delta.value > 0 && options.delta.value < 1)) {
      return InvalidArgument("published noise needs epsilon > 0 and delta in (0, 1), got ",
                             options.epsilon.value, " and ", options.delta.value);
    }
    channel.name_ = "published Gaussian";
    channel.published_stddev_ =
        width * std::sqrt(2 * std::log(1.25 / options.delta.value)) / options.epsilon.value;
    channel.variance_ = channel.published_stddev_ * channel.published_stddev_;
    channel.variance_proxy_ = width * width / 4 + channel.variance_;
    channel.normals_ = std::make_unique<RealSampler>(*channel.noise_);
    return channel;
  }
  LossMechanismKind kind = LossMechanismKind::kAuto;
  if (options.label == "proven") {
    kind = LossMechanismKind::kGaussian;
  } else if (options.label == "randomizer") {
    kind = LossMechanismKind::kRandomizer;
  } else if (options.label != "auto") {
    return InvalidArgument(
        "label must be non-private, published, proven, randomizer or auto, got `",
        ToAbsl(options.label), "`");
  }
  BANDANA_ASSIGN_OR_RETURN(LossMechanism mechanism,
                           LossMechanism::Create({.epsilon = options.epsilon,
                                                  .delta = options.delta,
                                                  .range = options.range,
                                                  .binary = options.binary,
                                                  .kind = kind}));
  channel.name_ = std::string(mechanism.name());
  channel.variance_ = mechanism.VarianceMax();
  channel.variance_proxy_ = mechanism.VarianceProxy();
  if (mechanism.kind() == LossMechanismKind::kRandomizer) {
    channel.output_range_ = mechanism.OutputRange();
  }
  channel.mechanism_ = std::move(mechanism);
  return channel;
}

absl::StatusOr<double> NumberChannel::Release(double value) {
  if (mechanism_.has_value()) {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedLoss released,
                             mechanism_->Release(RawReward(value), range_.min, *noise_));
    return mechanism_->Value(released);
  }
  const double clipped = std::clamp(value, range_.min, range_.max);
  if (normals_ == nullptr) return clipped;
  BANDANA_ASSIGN_OR_RETURN(const double normal, normals_->Normal());
  return clipped + published_stddev_ * normal;
}

double NumberChannel::scale() const {
  const double half_width = range_.width() / 2;
  return std::sqrt(half_width * half_width + variance_);
}

}  // namespace bandana::lab
