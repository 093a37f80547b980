#include "tools/audit/published.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "tools/audit/linear_attack.h"

namespace bandana::audit {
namespace {

constexpr int kGridBits = 53;

double Magnitude(double grid_steps, double epsilon) {
  return -std::log(std::ldexp(grid_steps, -kGridBits)) / epsilon;
}

// Is there a u on the grid that gives this magnitude? exp and log are within a few units of their
// last place, so only the nearest grid points can.
bool Reachable(double magnitude, double epsilon) {
  const double nearest = std::round(std::ldexp(std::exp(-magnitude * epsilon), kGridBits));
  for (int offset = -8; offset <= 8; ++offset) {
    const double grid_steps = nearest + offset;
    if (grid_steps >= 1 && Magnitude(grid_steps, epsilon) == magnitude) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Attack> AttackPublishedNoise(const Claim& claim, PublishedNoiseKind kind) {
  const std::size_t size = kind == PublishedNoiseKind::kCoordinateLaplace ? 16 : 2;
  const double each = 1 / std::sqrt(static_cast<double>(size));
  BANDANA_ASSIGN_OR_RETURN(
      PublishedNoise noise,
      PublishedNoise::Create(
          {.kind = kind, .epsilon = claim.epsilon, .size = size, .sensitivity = {1}}));
  return MakeLinearAttack(
      [noise, size, each](Neighbour neighbour,
                          BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        std::vector<double> released(size);
        BANDANA_RETURN_IF_ERROR(noise.Sample(released, bits));
        if (neighbour == Neighbour::kP) {
          for (double& value : released) value += each;
        }
        return released;
      },
      Threshold::kTail);
}

absl::StatusOr<Attack> AttackPorousLaplace(const Claim& claim) {
  const double epsilon = claim.epsilon.value;
  return Attack([epsilon](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, bits.NextBits(kGridBits));
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t sign, bits.NextBits(1));
    const double noise = Magnitude(static_cast<double>(draw) + 1, epsilon);
    const double y = (neighbour == Neighbour::kP ? 0.0 : 1.0) + (sign == 0 ? noise : -noise);
    return Reachable(std::abs(y), epsilon);
  });
}

}  // namespace bandana::audit
