#include "common/design/mechanisms/contexts.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/ranking/link.h"

namespace bandana {
namespace {

// All reports of a model's life, far beyond any: their variances must stay inside double's and the
// posterior's range.
constexpr double kContextReportsMax = 0x1p40;
constexpr double kNoiseVarianceMax = 1e30;  // NoisyStatistics

class Contexts final : public ServerMechanism {
 public:
  void Check(const ModelSpec& spec, const FieldChecks& checks) const override {
    const ReportVariance one = spec.public_spec.made->contexts()->variance();
    const double variance = one.moment + one.gram * spec.theta_l2_max * spec.theta_l2_max;
    if (one.gram * kContextReportsMax <= kNoiseVarianceMax &&
        variance * kContextReportsMax <= kNoiseVarianceMax) {
      return;
    }
    checks.Add("feature_l2_max",
               "and the reward range are too large for the noise of mode LOCAL_CONTEXT: rescale "
               "features and rewards");
  }
  // All that a report's noise and its decoding depend on.
  Fields IdentityFields(const ModelSpec& spec) const override {
    const ContextSpec agreed = spec.public_spec.made->contexts()->spec();
    return {{"context", absl::StrCat(agreed.grid_bits, " ", ToHex(agreed.parameters), " l2 ",
                                     absl::StrFormat("%.17g", spec.public_spec.feature_l2_max))}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    const Mechanism& made = *spec.public_spec.made;
    const ReportVariance one = made.contexts()->variance();
    const Link link = spec.public_spec.link;
    return absl::StrFormat(
        "%s on the device%s, noise sd of a report %.3g in x x', %.3g in r x; |theta| up to %g "
        "weighed",
        made.name(), link == Link::kLogistic ? " of straightened events" : "", std::sqrt(one.gram),
        std::sqrt(one.moment), spec.theta_l2_max / LinkSlope(link, 0));
  }
};

}  // namespace

MadeServerMechanism MakeServerContexts(const ModelSpec&) { return std::make_shared<Contexts>(); }

}  // namespace bandana
