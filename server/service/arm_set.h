// The arms of one decision, from the request or from the catalogue, validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/catalogue/catalogue.h"

namespace bandana::server {

// The bounds enforced on features: they are clipped to a ball (docs/design/mechanisms.md).
struct FeatureBounds {
  int dimension = 0;
  double l2_max = 1;    // L
  bool reject = false;  // out of range: INVALID_ARGUMENT instead of scaling
  // Arms that are not finite count as zeros instead of INVALID_ARGUMENT: where contexts are
  // private, no value of a feature may decide whether there is an event.
  bool zero_when_not_finite = false;
};

// Reused between decisions; arms lie in the request, the catalogue or `scaled`, and live as long as
// they do.
struct ArmBlock {
  std::vector<const double*> arms;      // n, each of d features
  std::vector<std::uint32_t> ids;       // n catalogue ids; empty for inline and named arms
  std::vector<std::string_view> names;  // n ids of named arms, in the request; else empty
  // Models with effects: n x parts of the catalogue (CatalogueEntry::keys); else empty. Inline arms
  // have a key where the request names their id, and are in the groups that the catalogue has of
  // it.
  std::vector<EffectKey> keys;
  // Where the arms are a choice of those on offer: n positions among these. Else empty.
  std::vector<int> positions;
  bool left_out = false;    // of arms that were asked for by id or name, some are not on offer
  std::size_t clipped = 0;  // arms whose features were scaled to L
  // n x d vectors that are made for this decision: of named arms, of catalogue arms in a context,
  // and of inline arms where one had to be scaled.
  std::vector<double> scaled;

  void Clear();
};

// The id of an inline arm that has none.
inline constexpr std::uint32_t kNoArmId = 0xffffffff;

// Tags of one query: each is compared with every tag of the catalogue.
inline constexpr int kQueryTagsMax = 64;
// Arms that one query excludes, by ids and by names.
inline constexpr int kQueryExcludedMax = 1000;

void AddArm(const CatalogueEntry& arm, ArmBlock& block);

// Which arms of the catalogue are on offer, of those that a request asks for.
struct OfferRules {
  std::vector<FieldRange> where;
  std::optional<absl::Time> now = std::nullopt;  // none: also arms that are not available
  std::vector<std::uint32_t> excluded = {};      // ids
};

// Errors: INVALID_ARGUMENT too many of something.
absl::Status CheckQuery(const v1::CatalogueQuery& query);
ArmFilter FilterOf(const v1::CatalogueQuery& query, const OfferRules& offer = {});

// Fills `block` with 1 to arms_max arms; of the catalogue those that `offer` leaves. Errors:
// INVALID_ARGUMENT no form set, empty or too many arms, a size that is not a multiple of d, ids
// that are not one per arm, NaN or infinite features, norms above L where that is to be rejected;
// NOT_FOUND an unknown id, a query that matches nothing, or an offer that leaves none.
absl::Status LoadArms(const v1::ArmSet& arms, const FeatureBounds& bounds, int arms_max,
                      const Catalogue& catalogue, ArmBlock& block, const OfferRules& offer = {});

}  // namespace bandana::server
