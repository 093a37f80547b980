#include "common/promise/features_policy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/promise/privacy_rules.h"

namespace bandana {

std::shared_ptr<const FeatureSchema> MakeSchema(const v1::FeatureSchema& schema, double l2_max,
                                                int dimension_max, const FieldChecks& checks) {
  if (!(l2_max > 0 && l2_max <= kScaleMax)) return nullptr;
  return FeatureSchema::Make(
      schema, l2_max, dimension_max, [&](std::string_view field, std::string message) {
        checks.Add(field.empty() ? "features" : absl::StrCat("features.", ToAbsl(field)),
                   std::move(message));
      });
}

void CheckFeatures(const v1::GetModelResponse& response, PublicSpec& spec,
                   const FieldChecks& checks) {
  if (!response.has_features()) return;
  spec.features = MakeSchema(response.features(), spec.feature_l2_max,
                             DimensionMax(response.mechanism()), checks);
  if (spec.features == nullptr || spec.features->dimension() == spec.dimension) return;
  checks.Add("dimension", absl::StrCat("must be the schema's, ", spec.features->dimension(),
                                       ", got ", spec.dimension));
}

std::string FeaturesText(const PublicSpec& spec) {
  return spec.features == nullptr ? "" : spec.features->Text();
}

std::vector<std::string> FeatureLines(const PublicSpec& spec) {
  std::vector<std::string> lines;
  if (spec.features == nullptr) return lines;
  lines.push_back(absl::StrFormat("every block times %.6g", spec.features->scale()));
  for (const FeatureBlock& block : spec.features->blocks()) {
    const std::string entries = block.size == 1
                                    ? absl::StrCat(block.begin)
                                    : absl::StrCat(block.begin, "..", block.begin + block.size - 1);
    lines.push_back(absl::StrFormat("%-9s %s", entries, block.text));
  }
  return lines;
}

}  // namespace bandana
