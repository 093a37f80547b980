// The rules of one decision (docs/design/rules.md): which catalogue arms are on offer, what is
// added to their scores, and what the whole list must be. Compiled once, from the request and the
// catalogue alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/ranking/policies/list_rules.h"
#include "server/models/catalogue/catalogue.h"
#include "server/service/arm_set.h"
#include "server/service/selection.h"

namespace bandana::server {

// Arms whose scores are raised or lowered.
struct CompiledBoost {
  enum class Of { kArm, kTag, kGroup };
  Of of = Of::kArm;
  std::uint32_t number = ArmNames::kNone;  // id; or of the tag or value in the catalogue, or kNone
  std::size_t group = 0;                   // of the shape
  double add = 0;                          // reward units
};

struct CompiledPin {
  std::uint32_t arm = 0;
  int rank = 0;
};

struct CompiledLimit {
  bool tag = false;
  std::uint32_t number = ArmNames::kNone;  // of the tag
  std::size_t group = 0;                   // of the shape
  int count = 1;
};

struct CompiledRules {
  OfferRules offer;
  std::vector<CompiledBoost> boosts;
  std::vector<CompiledPin> pins;
  std::vector<CompiledLimit> limits;
  // Whether scores alone decide.
  bool plain_list() const { return pins.empty() && limits.empty(); }
  void Clear();
};

// Errors: INVALID_ARGUMENT rules where the request has no arms of the catalogue; too many of them;
// a field that no arm has, a range without bounds or with a NaN, a boost that is no finite number
// or too large, a group that the model does not have, ranks or arms of pins twice or out of range,
// counts out of range; NOT_FOUND a boosted or pinned arm that the catalogue does not have.
absl::Status CompileRules(const Selecting& select, const Catalogue& catalogue,
                          CompiledRules& compiled);

// The sum of the boosts of an arm.
double BoostOf(std::span<const CompiledBoost> boosts, const CatalogueEntry& arm);

// Adds to `sums`, one per arm of the page, their boosts. Returns so much as single precision may
// have taken from them.
float AddBoosts(std::span<const CompiledBoost> boosts, const ArmPage& page, std::span<float> sums);

// For the arms of `block`, which are the catalogue's.
void ReadBoosts(const CompiledRules& rules, const Catalogue& catalogue, const ArmBlock& block,
                std::vector<double>& boosts);
// Pins of arms that are not in the block are left out.
void FindListRules(const CompiledRules& rules, const Catalogue& catalogue, const ArmBlock& block,
                   ListRules& list);

}  // namespace bandana::server
