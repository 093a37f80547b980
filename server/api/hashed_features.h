// Features of Personalizer, namespaces of JSON, as vectors: for models without a schema of their
// own (docs/http.md#personalizer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace bandana::server {

// One feature: the hash of its name, and a value in [-1, 1].
struct HashedFeature {
  std::uint64_t name = 0;
  double value = 0;
};

// Features of one context or one action.
inline constexpr std::size_t kHashedFeaturesMax = 1024;
// Products of a context's features with those of all actions of a decision.
inline constexpr std::size_t kCrossesMax = 4'000'000;
inline constexpr int kHashedDimensionMin = 8;

// Appends the features of a list of objects. A member of an object in the list is a feature, or a
// namespace of features where it is an object itself; names of inner objects are joined by dots.
// A text, or true or false, is a feature of its own with the value 1. A number v has the value
// sign(v) log(1 + |v|) / (1 + log(1 + |v|)). A list has the features of its elements: numbers each
// under the name of their place, `size[2]`, texts and truths under the list's, in any order. Null
// and empty ones have none. Errors: INVALID_ARGUMENT another form, or more than kHashedFeaturesMax
// together; messages begin with `path` and quote nothing. `any_counts`: no errors; what does not
// fit has no features.
absl::Status AppendHashed(const nlohmann::json& list, std::string_view path, bool any_counts,
                          std::vector<HashedFeature>& features);
// The feature that is the name of an action.
HashedFeature ActionFeature(std::string_view id);

// The vector of an action in a context, `dimension` (>= kHashedDimensionMin) numbers with a norm of
// at most l2_max. Entry 0 is the bias, l2_max / 2. A third of the others, rounded down, has the
// action's features, scaled to a norm of l2_max / 2; the rest has the products of each feature of
// the context with each of the action's, scaled to l2_max / sqrt(2). The hash of a name, or of two,
// says entry and sign.
void HashedVector(const std::vector<HashedFeature>& context,
                  const std::vector<HashedFeature>& action, double l2_max, int dimension,
                  double* out);

}  // namespace bandana::server
