// Aliases: names that stand for models, and what the models behind one must have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bandana/v1/config.pb.h"
#include "common/base/sha256.h"
#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

inline constexpr int kAliasesMax = 1000;    // of a server
inline constexpr int kAliasSharesMax = 16;  // a call hashes its user with each
inline constexpr std::uint32_t kAliasWeightMax = 1'000'000;

struct AliasShare {
  std::string model;
  std::uint32_t weight = 1;  // [1, kAliasWeightMax]
  friend bool operator==(const AliasShare&, const AliasShare&) = default;
};

struct AliasSpec {
  std::string name;
  std::vector<AliasShare> shares;  // 1 to kAliasSharesMax, each of another model
  Sha256Digest policy{};           // what devices agree to under the name (PolicyUnder)
  bool configured = false;         // by the configuration file
  friend bool operator==(const AliasSpec&, const AliasSpec&) = default;
};

// Names, shares and weights; the rest is left as it is. Mistakes are reported by field.
AliasSpec ParseAlias(const v1::Alias& alias, const FieldChecks& checks);
v1::Alias ToProto(const AliasSpec& alias);

// The model as it is called by another name.
PublicSpec Under(const PublicSpec& spec, std::string_view name);
// The hash of the policy that devices agree to when they ask for the model by another name.
Sha256Digest PolicyUnder(const PublicSpec& spec, std::string_view name);

// The first field, by its name in GetModelResponse, in which two policies differ beside their
// names; "" when they are equal.
std::string DifferingField(const PublicSpec& a, const PublicSpec& b);

// Whether these models, at least one, can stand behind one alias: they make the same promise and
// take the same requests; several only if their devices need not know which of them answers.
// Errors: FAILED_PRECONDITION naming the models and the field.
absl::Status CheckBehindAlias(std::string_view alias, std::span<const ModelSpec* const> models);

}  // namespace bandana
