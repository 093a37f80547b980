#include "tools/environments/quadratic_points.h"

#include <cmath>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/convex_losses.h"

namespace bandana {
namespace {

class QuadraticRewards final : public PointRewards {
 public:
  QuadraticRewards(const ConvexDomain& domain, ConvexLosses losses)
      : domain_(domain), losses_(std::move(losses)) {}

  const ConvexLosses& losses() const { return losses_; }
  const ConvexDomain& domain() const override { return domain_; }
  double smoothness() const override { return losses_.smoothness(); }
  double BestExpected() const override { return 0; }
  // -(E|x|^2 + |x*|^2) / 2: E|x|^2 is r^2 d / (d + 2) in a ball and r^2 d / 3 in a box.
  double MeanExpected() const override {
    const double d = domain_.dimension;
    const double share = domain_.kind == ConvexDomain::Kind::kBall ? d / (d + 2) : d / 3;
    double best = 0;
    for (const double value : losses_.minimiser()) best += value * value;
    return -(share * domain_.radius * domain_.radius + best) / 2;
  }
  double Expected(std::span<const double> point) const override { return -losses_.Expected(point); }
  double RewardAt(std::uint64_t index, std::span<const double> point) const override {
    return -losses_.Value(index, point);
  }

 private:
  ConvexDomain domain_;
  ConvexLosses losses_;
};

class QuadraticPoints final : public Environment {
 public:
  explicit QuadraticPoints(QuadraticRewards rewards) : rewards_(std::move(rewards)) {
    const ConvexDomain& domain = rewards_.domain();
    info_.name = "points";
    info_.dimension = domain.dimension;
    info_.users = 1;
    info_.feature_l2_max = 0;  // there are none
    info_.reward_min = -rewards_.losses().value_max();
    info_.reward_max = -rewards_.losses().value_min();
    // That of <g, x> / 2 where |x| is largest.
    info_.reward_stddev = domain.outer_radius() / (2 * std::sqrt(domain.dimension));
    info_.theta_stddev = 0.5 / std::sqrt(domain.dimension);  // an entry of x*
  }

  const EnvironmentInfo& info() const override { return info_; }
  const PointRewards* points() const override { return &rewards_; }
  void DecisionAt(std::uint64_t, Choice& out) const override { out = {.user = "0"}; }
  double RewardAt(std::uint64_t, const Choice&, int) const override {
    BANDANA_CHECK(false);  // no arms
    return 0;
  }

 private:
  QuadraticRewards rewards_;
  EnvironmentInfo info_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeQuadraticPoints(Settings& settings,
                                                                 std::uint64_t seed) {
  ConvexDomain domain;
  BANDANA_ASSIGN_OR_RETURN(domain.dimension, settings.TakeInt("dimension", 2, 1, kDimensionMax));
  static constexpr std::string_view kDomains[] = {"ball", "box"};
  BANDANA_ASSIGN_OR_RETURN(const std::string kind, settings.TakeChoice("domain", "ball", kDomains));
  if (kind == "box") domain.kind = ConvexDomain::Kind::kBox;
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  BANDANA_ASSIGN_OR_RETURN(ConvexLosses losses,
                           ConvexLosses::Create({.shape = LossShape::kQuadratic,
                                                 .dimension = domain.dimension,
                                                 .outer_radius = domain.outer_radius(),
                                                 .seed = seed}));
  return std::make_unique<QuadraticPoints>(QuadraticRewards(domain, std::move(losses)));
}

}  // namespace bandana
