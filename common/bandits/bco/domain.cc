#include "common/bandits/bco/domain.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Squares of finite coordinates may overflow; scaled by the largest they do not.
double Norm(std::span<const double> x) {
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 0;
  double squares = 0;
  for (const double value : x) squares += (value / largest) * (value / largest);
  return largest * std::sqrt(squares);
}

}  // namespace

absl::Status ConvexDomain::Validate() const {
  if (dimension < 1 || dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", dimension);
  }
  if (!(radius > 0 && radius <= kScaleMax)) {
    return InvalidArgument("radius must be in (0, ", kScaleMax, "], got ", radius);
  }
  return absl::OkStatus();
}

bool ConvexDomain::Contains(std::span<const double> x, double scale) const {
  if (x.size() != static_cast<std::size_t>(dimension)) return false;
  if (!std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); })) {
    return false;
  }
  const double bound = scale * radius * (1 + 1e-9);
  if (kind == Kind::kBall) return Norm(x) <= bound;
  return std::all_of(x.begin(), x.end(), [&](double value) { return std::abs(value) <= bound; });
}

void ConvexDomain::Project(std::vector<double>& x, double scale) const {
  const double bound = scale * radius;
  if (kind == Kind::kBox) {
    for (double& value : x) value = std::clamp(value, -bound, bound);
    return;
  }
  const double norm = Norm(x);
  if (norm <= bound) return;
  for (double& value : x) value = value / norm * bound;
}

}  // namespace bandana
