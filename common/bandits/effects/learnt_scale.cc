#include "common/bandits/effects/learnt_scale.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana {
namespace {

// The prior eta ~ N(0, 0.05), at each step. With 1 for 20, steps under strong noise are mostly
// noise.
constexpr double kPriorPrecision = 20;
constexpr double kStepMax = 1.4;  // one step changes a scale by a factor of 4 at most
constexpr double kEtaMin = -7;
constexpr double kEtaMax = 4;

}  // namespace

void LearntScale::Step() {
  const double step = (slope_ - kPriorPrecision * eta_) / (information_ + kPriorPrecision);
  eta_ = std::clamp(eta_ + std::clamp(step, -kStepMax, kStepMax), kEtaMin, kEtaMax);
  slope_ = 0;
  information_ = 0;
}

void LearntScale::Raise() { eta_ = std::min(eta_ + 0.05, kEtaMax); }

// e^eta by (1 + eta/1024)^1024, within 3 %: the library's exp may round differently elsewhere.
double LearntScale::factor() const {
  double power = 1 + eta_ / 1024;
  for (int i = 0; i < 10; ++i) power *= power;
  return power;
}

void LearntScale::Encode(ByteWriter& out) const {
  out.F64(eta_);
  out.F64(slope_);
  out.F64(information_);
}

absl::Status LearntScale::Decode(ByteReader& in) {
  const double eta = in.F64();
  const double slope = in.F64();
  const double information = in.F64();
  if (!in.ok() || !(eta >= kEtaMin && eta <= kEtaMax) || !std::isfinite(slope) ||
      !(information >= 0 && std::isfinite(information))) {
    return DataLoss("the learnt scale of an effect is cut short or no scale");
  }
  eta_ = eta;
  slope_ = slope;
  information_ = information;
  return absl::OkStatus();
}

}  // namespace bandana
