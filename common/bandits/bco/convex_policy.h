// Bandit convex optimisation: actions are points of a ball or a box, the feedback is one number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bandits/bco/domain.h"
#include "common/random/real_samplers.h"

namespace bandana {

// The points to show, and the factor that a report on them will need: `factor` goes with the
// decision, as the state may have moved on when the feedback arrives.
struct ConvexPlay {
  std::vector<std::vector<double>> points;  // one or two, each in the domain
  std::vector<double> factor;  // d: the gradient's estimate is this times (feedback - middle)
  double distance = 0;         // |x_1 - x_2|_2 where there are two
};

// All that a policy remembers.
struct ConvexState {
  std::vector<double> vector;  // d: the centre of play, or the sum of gradients
  std::uint64_t events = 0;
  friend bool operator==(const ConvexState&, const ConvexState&) = default;
};

// Learns from released feedback; never sees a loss function. Not thread-safe; const methods are
// safe together, given a source each.
class ConvexPolicy {
 public:
  virtual ~ConvexPolicy() = default;

  const ConvexDomain& domain() const { return domain_; }
  const ConvexState& state() const { return state_; }

  // The point around which the next points lie; in the domain.
  virtual std::vector<double> Center() const = 0;
  // rho: how far from there, as each policy counts it.
  virtual double Distance() const = 0;
  // The next points. `sampler` chooses a direction: exploration, not privacy. Errors: UNAVAILABLE
  // the source failed.
  virtual absl::StatusOr<ConvexPlay> Play(RealSampler& sampler) const = 0;
  // One event: the feedback on a play, with the factor that went with it. One-point policies take
  // the released loss, two-point policies the released NormalizedDifference. Errors:
  // INVALID_ARGUMENT another dimension, or a product that is not finite; then nothing changed.
  absl::Status Apply(std::span<const double> factor, double feedback);
  // Puts a state in place of the present one. Errors: INVALID_ARGUMENT another dimension, entries
  // that are not finite, a centre outside the domain; then nothing changed.
  absl::Status Restore(ConvexState state);

 protected:
  ConvexPolicy(const ConvexDomain& domain, double feedback_middle)
      : domain_(domain),
        feedback_middle_(feedback_middle),
        state_{.vector = std::vector<double>(domain.dimension, 0.0)} {}
  // Moves `vector` by a gradient's estimate; `events` still counts what came before.
  virtual void Step(std::span<const double> gradient, ConvexState& state) const = 0;
  virtual bool Holds(const ConvexState& state) const = 0;

 private:
  ConvexDomain domain_;
  double feedback_middle_;
  ConvexState state_;
};

// The step lengths of the theory follow from these.
struct ConvexScales {
  double lipschitz = 1;   // G: |f(x) - f(y)| <= G |x - y|; (0, kScaleMax]
  double smoothness = 1;  // H: the gradient is H-Lipschitz; (0, kScaleMax]; barrier policy only
  double feedback_middle = 0;  // the middle of the losses' range; 0 for two points
  // s: a bound of sqrt(E (feedback - middle)^2), feedback as applied. (0, kScaleMax]
  double feedback_scale = 1;
  std::uint64_t horizon = 0;  // T; 0: anytime, the present round stands for it
  // Errors: INVALID_ARGUMENT.
  absl::Status Validate() const;
};

// One-point gradient descent on the sphere: x = y + rho u, gradient (d / rho) f(x) u, projected to
// (1 - rho / r) of the domain, with
//   rho = min(r / 2, sqrt(R d s / (3 G)) T^(-1/4)),   eta = R rho / (d s sqrt(T)),
// r the radius and R the outer radius: what minimises R^2/(2 eta) + eta d^2 s^2 T / (2 rho^2) + 3 G
// rho T. Regret O(T^(3/4)).
// Source: [FKM05] (their constants assume |f| <= C = s); [Z20] Algorithm 1, section 3.
absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeSphericalPolicy(const ConvexDomain& domain,
                                                                  const ConvexScales& scales);

// One point on the Dikin ellipsoid, for smooth losses: x = y + rho A u, A = (Hessian of the barrier
// at y)^(-1/2), gradient (d / rho) f(x) A^-1 u, y = argmin eta <sum of gradients, y> + barrier(y)
// in closed form, with the barrier -ln(r^2 - |y|^2) of a ball (nu = 1) or its sum over coordinates
// for a box (nu = d),
//   rho = min(1, (2 d s sqrt(nu ln(T) / T) / (H r^2))^(1/3)),
//   eta = rho sqrt(nu ln(T) / T) / (d s).
// Regret O(T^(2/3)) up to logarithms.
// Source: [ST11]; [Z20] section 3.
absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeBarrierPolicy(const ConvexDomain& domain,
                                                                const ConvexScales& scales);
// That policy's play at `center` and `distance` (its Center and Distance): a function of these and
// the direction alone, so that whoever has them can play for it. Requires a centre of `dimension`
// entries inside the domain, 0 < distance <= 1. Errors: UNAVAILABLE the source failed.
absl::StatusOr<ConvexPlay> PlayOnEllipsoid(const ConvexDomain& domain,
                                           std::span<const double> center, double distance,
                                           RealSampler& sampler);
// No play of that policy, however many events it had, has a factor with an entry beyond this:
// d / rho by the least width of an ellipsoid. Requires what MakeBarrierPolicy checks.
double BarrierFactorMax(const ConvexDomain& domain, const ConvexScales& scales);

// Two points y +- rho u, gradient d G (normalized difference) u, projected to (1 - rho / r) of the
// domain, rho = min(r / 2, ln(T) / T).
struct TwoPointOptions {
  // 0: R / (G sqrt((d + d^2 (s^2 - 1)) T)) with s the feedback's scale, s^2 - 1 being the noise's
  // variance; [Z20] Algorithm 2 and [ADX10] take 1 / sqrt(T).
  double step_factor = 0;  // otherwise eta = this / sqrt(T)
};
// Regret O(sqrt(T)). Source: [ADX10]; [Z20] Algorithms 2 and 4.
absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeTwoPointPolicy(const ConvexDomain& domain,
                                                                 const ConvexScales& scales,
                                                                 const TwoPointOptions& options);

// The function of two losses that a device may release: (f_1 - f_2) / (G |x_1 - x_2|), which the
// mechanism clips to [-1, 1]. The paper adds a vector n to be multiplied by x_1 - x_2; the server
// learns one number either way, and the law is the same: |x_1 - x_2| times one normal. 0 where the
// points are equal. NaN stays NaN for the mechanism's default. Requires lipschitz > 0, distance >=
// 0.
double NormalizedDifference(double first, double second, double lipschitz, double distance);

}  // namespace bandana
