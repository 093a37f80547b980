#include "common/promise/features_policy.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/promise/privacy_rules.h"

namespace bandana {

std::shared_ptr<const FeatureSchema> MakeSchema(const wire::FeatureSchema& schema, double l2_max,
                                                int dimension_max, const FieldChecks& checks) {
  if (!(l2_max > 0 && l2_max <= kScaleMax)) return nullptr;
  return FeatureSchema::Make(
      schema, l2_max, dimension_max, [&](std::string_view field, std::string message) {
        checks.Add(field.empty() ? "features" : absl::StrCat("features.", ToAbsl(field)),
                   std::move(message));
      });
}

void CheckFeatures(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks) {
  if (!model.features) return;
  spec.features = MakeSchema(*model.features, spec.feature_l2_max,
                             DimensionMax(MechanismId{model.mechanism}), checks);
  if (spec.features == nullptr || spec.features->dimension() == spec.dimension) return;
  checks.Add("dimension", absl::StrCat("must be the schema's, ", spec.features->dimension(),
                                       ", got ", spec.dimension));
}

}  // namespace bandana
