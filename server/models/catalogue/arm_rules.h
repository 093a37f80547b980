// The rules for an arm that enters a catalogue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/models/catalogue/arm_page.h"

namespace bandana {
class FeatureSchema;
}  // namespace bandana

namespace bandana::server {

// The rules for an arm that enters a catalogue.
struct ArmRules {
  int dimension = 0;
  double feature_l2_max = 1;
  bool reject_features = false;           // a norm above feature_l2_max: refuse, else scale to it
  std::vector<std::string> groups;        // that an arm may be in
  const FeatureSchema* schema = nullptr;  // null: raw vectors alone
};

// Checks shape, finiteness, tags (at most 16, each 1 to 64 bytes without tab, comma or line break),
// groups (of the rules; values as CheckGroupValue says, without comma), the name (at most 128 bytes
// without control characters), facts (CheckFacts), with a schema that the vector is one of an arm,
// and clips or refuses the norm. `clipped` counts scaled arms. Errors: INVALID_ARGUMENT naming the
// arm's id; then `arm` may be partly changed.
absl::Status CheckArm(const ArmRules& rules, CatalogueArm& arm, std::uint64_t& clipped);

}  // namespace bandana::server
