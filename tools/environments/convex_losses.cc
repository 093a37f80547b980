#include "tools/environments/convex_losses.h"

#include <cmath>

#include "common/base/status.h"
#include "tools/environments/random.h"

namespace bandana {
namespace {

constexpr double kMinimiserNorm = 0.5;

std::vector<double> Direction(SeededStream& stream, int dimension) {
  std::vector<double> u(dimension);
  double squares = 0;
  for (double& value : u) {
    value = stream.Normal();
    squares += value * value;
  }
  for (double& value : u) value /= std::sqrt(squares);
  return u;
}

}  // namespace

absl::StatusOr<LossShape> ParseLossShape(std::string_view name) {
  if (name == "cone") return LossShape::kCone;
  if (name == "quadratic") return LossShape::kQuadratic;
  return InvalidArgument("loss must be cone or quadratic, got `", ToAbsl(name), "`");
}

absl::StatusOr<ConvexLosses> ConvexLosses::Create(const Options& options) {
  if (options.dimension < 1 || options.dimension > 256) {
    return InvalidArgument("dimension must be in [1, 256], got ", options.dimension);
  }
  if (!(options.outer_radius >= kMinimiserNorm && options.outer_radius <= 1e3)) {
    return InvalidArgument("outer_radius must be in [0.5, 1000], got ", options.outer_radius);
  }
  return ConvexLosses(options);
}

ConvexLosses::ConvexLosses(const Options& options) : options_(options) {
  SeededStream stream(options.seed, StreamPurpose::kUserParameter, 0);
  minimiser_ = Direction(stream, options.dimension);
  for (double& value : minimiser_) value *= kMinimiserNorm;
}

double ConvexLosses::Expected(std::span<const double> x) const {
  double squares = 0;
  for (std::size_t i = 0; i < minimiser_.size(); ++i) {
    squares += (x[i] - minimiser_[i]) * (x[i] - minimiser_[i]);
  }
  return options_.shape == LossShape::kCone ? std::sqrt(squares) / 2 : squares / 2;
}

double ConvexLosses::Slope(std::uint64_t round, std::span<const double> x) const {
  SeededStream stream(options_.seed, StreamPurpose::kReward, round);
  double squares = 0;
  double product = 0;
  for (const double value : x) {
    const double g = stream.Normal();
    squares += g * g;
    product += g * value;
  }
  return product / std::sqrt(squares) / 2;
}

double ConvexLosses::lipschitz() const {
  const double farthest = options_.outer_radius + kMinimiserNorm;
  return 0.5 + (options_.shape == LossShape::kCone ? 0.5 : farthest);
}

double ConvexLosses::value_max() const {
  const double farthest = options_.outer_radius + kMinimiserNorm;
  return options_.outer_radius / 2 +
         (options_.shape == LossShape::kCone ? farthest / 2 : farthest * farthest / 2);
}

}  // namespace bandana
