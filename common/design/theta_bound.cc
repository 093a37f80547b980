#include "common/design/theta_bound.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace bandana {

void CheckThetaBound(const ModelSpec& spec, const FieldChecks& checks) {
  if (spec.theta_l2_max <= kScaleMax) return;
  checks.Add("prior_stddev",
             absl::StrCat("must keep |theta| = sqrt(dimension) prior_stddev within ", kScaleMax,
                          ", got ", spec.theta_l2_max));
}

}  // namespace bandana
