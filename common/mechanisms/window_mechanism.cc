#include "common/mechanisms/window_mechanism.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

using Uint128 = unsigned __int128;

constexpr std::uint64_t kGrainMax = std::uint64_t{1} << 47;
constexpr std::uint64_t kTotalMax = std::uint64_t{1} << 63;

absl::Status CheckShape(const WindowMechanism::Shape& shape) {
  if (shape.steps < 1 || shape.steps > (1u << 24)) {
    return InvalidArgument("steps must be in [1, 2^24], got ", shape.steps);
  }
  if (shape.positions < 1 || shape.positions > (1u << 12) || shape.steps % shape.positions != 0) {
    return InvalidArgument("positions must be in [1, 2^12] and divide steps, got ",
                           shape.positions);
  }
  if (shape.width < 1 || shape.width > (1u << 12)) {
    return InvalidArgument("width must be in [1, 2^12], got ", shape.width);
  }
  if (shape.grain < 1 || shape.grain > std::min(kGrainMax, kTotalMax / shape.steps)) {
    return InvalidArgument("grain must be in [1, min(2^47, 2^63 / steps)], got ", shape.grain);
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: reward_randomizer begin
bool WithinRatio(std::uint64_t a, std::uint64_t b, const LikelihoodRatio& ratio) {
  BANDANA_CHECK(b < kGrainMax);  // numerator <= 2^80: no overflow
  return (Uint128{a} << LikelihoodRatio::kFractionBits) <= ratio.numerator * b;
}

absl::StatusOr<WindowMechanism> WindowMechanism::Create(const Shape& shape,
                                                        const LikelihoodRatio& ratio) {
  BANDANA_RETURN_IF_ERROR(CheckShape(shape));
  // w high + J low = J grain in integers: high = (J/g) h and low = grain - (w/g) h, g = gcd(w, J).
  // Then high <= R low is h (J/g + R w/g) <= R grain.
  const std::uint32_t divisor = std::gcd(shape.width, shape.positions);
  const std::uint64_t positions = shape.positions / divisor;
  const std::uint64_t width = shape.width / divisor;
  const Uint128 one = Uint128{1} << LikelihoodRatio::kFractionBits;
  const auto h = static_cast<std::uint64_t>(ratio.numerator * shape.grain /
                                            (positions * one + ratio.numerator * width));
  const std::uint64_t high = positions * h;
  const std::uint64_t low = shape.grain - width * h;
  if (high <= low) {
    return InvalidArgument("epsilon is too small for ", shape.grain, " probability units");
  }
  const WindowMechanism mechanism(shape, high, low);
  BANDANA_RETURN_IF_ERROR(mechanism.Verify(ratio));
  return mechanism;
}

absl::Status WindowMechanism::Verify(const LikelihoodRatio& ratio) const {
  for (std::uint32_t position = 0; position <= shape_.positions; ++position) {
    std::uint64_t sum = 0;
    for (std::uint32_t cell = 0; cell < cells(); ++cell) sum += KnotMass(position, cell);
    if (sum != knot_total()) return Internal("window mechanism: masses do not sum to one");
  }
  for (std::uint32_t cell = 0; cell < cells(); ++cell) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most = 0;
    for (std::uint32_t position = 0; position <= shape_.positions; ++position) {
      least = std::min(least, KnotMass(position, cell));
      most = std::max(most, KnotMass(position, cell));
    }
    if (least == 0 || least >= kGrainMax || !WithinRatio(most, least, ratio)) {
      return Internal("window mechanism: likelihood ratio above its bound");
    }
  }
  return absl::OkStatus();
}

std::uint64_t WindowMechanism::Mass(std::uint32_t step, std::uint32_t cell) const {
  BANDANA_CHECK(step <= shape_.steps);
  BANDANA_CHECK(cell < cells());
  const std::uint32_t position = step / steps_per_position();
  const std::uint64_t up = step % steps_per_position();
  return (steps_per_position() - up) * KnotMass(position, cell) + up * KnotMass(position + 1, cell);
}

std::uint32_t WindowMechanism::Cell(std::uint32_t step, std::uint64_t draw) const {
  BANDANA_CHECK(step <= shape_.steps);
  BANDANA_CHECK(draw < total());
  // draw = rounding * M + x with rounding uniform below F and x uniform below M, independent.
  const std::uint64_t rounding = draw / knot_total();
  const std::uint64_t x = draw % knot_total();
  const std::uint64_t round_up = rounding < step % steps_per_position();
  const std::uint64_t position = step / steps_per_position() + round_up;
  const std::uint64_t inside = shape_.width * high_;
  if (x < inside) return static_cast<std::uint32_t>(position + x / high_);
  const std::uint64_t outside = (x - inside) / low_;  // index among the J cells beside the window
  const std::uint64_t behind = outside >= position;
  return static_cast<std::uint32_t>(outside + behind * shape_.width);
}
// PROOF: reward_randomizer end

double WindowMechanism::Value(std::uint32_t cell) const {
  BANDANA_CHECK(cell < cells());
  const double centred = 2.0 * cell - (cells() - 1.0);
  return centred * static_cast<double>(shape_.grain) /
         (shape_.width * static_cast<double>(high_ - low_));
}

std::vector<double> WindowMechanism::SecondMoments() const {
  std::vector<double> below(cells() + 1, 0.0);  // sums of v^2 over the first cells
  for (std::uint32_t cell = 0; cell < cells(); ++cell) {
    below[cell + 1] = below[cell] + Value(cell) * Value(cell);
  }
  std::vector<double> moments(shape_.positions + 1);
  for (std::uint32_t j = 0; j <= shape_.positions; ++j) {
    const double window = below[j + shape_.width] - below[j];
    moments[j] =
        (static_cast<double>(low_) * below.back() + static_cast<double>(high_ - low_) * window) /
        static_cast<double>(knot_total());
  }
  return moments;
}

}  // namespace bandana
