#include "common/design/features_config.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/wire_messages.h"
#include "common/features/schema_text.h"
#include "common/promise/features_policy.h"

namespace bandana {

void ParseFeatures(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  const Family& family = FamilyOf(spec);
  if (!family.has_named_features()) {
    checks.Add("features", absl::StrCat("is not for ", ToAbsl(family.scope().plural)));
    return;
  }
  out.features = MakeSchema(FromProto(config.features()), out.feature_l2_max,
                            family.scope().dimension_max, checks);
  if (out.features == nullptr) return;
  out.dimension = out.features->dimension();
  if (config.dimension() != 0 && config.dimension() != static_cast<std::uint32_t>(out.dimension)) {
    checks.Add("dimension", absl::StrCat("follows from features: leave it out, or give ",
                                         out.dimension, ", got ", config.dimension()));
  }
}

std::vector<std::string> FeatureLines(const PublicSpec& spec) {
  std::vector<std::string> lines;
  if (spec.features == nullptr) return lines;
  lines.push_back(absl::StrFormat("every block times %.6g", spec.features->scale()));
  const std::vector<std::string> texts = SchemaLines(spec.features->message());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const FeatureBlock& block = spec.features->blocks()[i];
    const std::string entries = block.size == 1
                                    ? absl::StrCat(block.begin)
                                    : absl::StrCat(block.begin, "..", block.begin + block.size - 1);
    lines.push_back(absl::StrFormat("%-9s %s", entries, texts[i]));
  }
  return lines;
}

}  // namespace bandana
