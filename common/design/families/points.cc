#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/bandits/bco/play_factor.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/families/drawn.h"
#include "common/design/families/families.h"
#include "common/design/points_policy.h"

namespace bandana {
namespace {

class Points final : public DrawnFamily {
 public:
  std::string_view name() const override { return "points"; }
  Choice choice() const override { return Choice::kPoint; }
  Scope scope() const override {
    return {.plural = "models of points",
            .modes = {Mode::kNonPrivate, Mode::kLocalReward},
            .keeps = "their plays follow one path of gradients, of which no event can fade",
            .own_choice = "their own policy draws the point"};
  }
  void Check(const ModelSpec& spec, const FieldChecks& checks) const override {
    if (!spec.arms_file.empty()) checks.Add("arms_file", "is refused for models of points");
  }
  void CheckMade(const ModelSpec& spec, const FieldChecks& checks) const override {
    const absl::Status policy = MakePointsPolicy(spec).status();
    if (!policy.ok()) checks.Add("points", std::string(policy.message()));
  }
  std::string Features(const ModelSpec& spec) const override {
    return absl::StrCat("none: the server draws the point, ", spec.public_spec.dimension,
                        " numbers");
  }
  double EventReward(const ModelSpec& spec, double reward, double) const override {
    return reward - spec.public_spec.reward_range.middle();
  }
  absl::Status CheckCatalogue(const ModelSpec& spec) const override {
    return FailedPrecondition("model ", spec.public_spec.name,
                              " is of points: it has no catalogue");
  }

 protected:
  bool FitsEvent(std::span<const double> features) const override { return IsPlayFactor(features); }
};

}  // namespace

const Family& PointsFamily() {
  static const auto& family = *new Points();
  return family;
}

void ParsePointsFamily(const v1::ModelConfig& config, const FileSource&, ModelSpec& spec,
                       const FieldChecks& checks) {
  const v1::PointsFamily& points = config.points();
  PointsSpec& out = spec.points.emplace();
  switch (points.domain()) {
    case v1::PointsFamily::DOMAIN_UNSPECIFIED:
    case v1::PointsFamily::BALL:
      out.domain.kind = ConvexDomain::Kind::kBall;
      break;
    case v1::PointsFamily::BOX:
      out.domain.kind = ConvexDomain::Kind::kBox;
      break;
    default:
      checks.Add("domain",
                 absl::StrCat("must be BALL or BOX, got ", static_cast<int>(points.domain())));
  }
  out.domain.dimension = spec.public_spec.dimension;
  out.domain.radius =
      checks.Positive("radius", points.radius() == 0 ? 1 : points.radius(), kScaleMax);
  out.smoothness =
      checks.Positive("smoothness", points.smoothness() == 0 ? 1 : points.smoothness(), kScaleMax);
  out.horizon = points.horizon();
}

std::string PointsWords(const ModelSpec& spec) {
  const PointsSpec& points = *spec.points;
  const std::string steps =
      points.horizon == 0 ? std::string("at any time") : absl::StrCat("tuned to ", points.horizon);
  return absl::StrFormat("points of a %s of radius %g, rewards' smoothness %g, steps %s",
                         points.domain.kind == ConvexDomain::Kind::kBall ? "ball" : "box",
                         points.domain.radius, points.smoothness, steps);
}

}  // namespace bandana
