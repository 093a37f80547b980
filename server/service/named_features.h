// Named values of one decision: its context, arms in the words of the model's schema, and what its
// caller is told about them.
#pragma once

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"
#include "common/features/encoder.h"
#include "common/ranking/posterior.h"
#include "server/models/catalogue/catalogue.h"
#include "server/service/arm_set.h"

namespace bandana::server {

// Reused between decisions. Not thread-safe.
class NamedFeatures {
 public:
  // Encodes the request's context. `rules` must outlive the decision. Errors: INVALID_ARGUMENT a
  // context or named arms for a model without schema, a context beside vectors that have one in
  // them, values by ValueLog.
  absl::Status Begin(const PublicSpec& rules, const v1::SelectRequest& request);

  // As LoadArms, with named arms too, and with the context in the vectors of catalogue arms. More
  // errors: INVALID_ARGUMENT ids of named arms that are empty, too long or not unique.
  absl::Status Load(const v1::ArmSet& arms, const FeatureBounds& bounds, int arms_max,
                    const OfferRules& offer, const Catalogue& catalogue, ArmBlock& block);

  // Puts the context into arms of the catalogue, whose vectors are then in `block.scaled`.
  void Join(ArmBlock& block) const;
  // Whether Join changes nothing.
  bool no_context() const { return context_.entries.empty(); }
  // The posterior as the catalogue's own vectors meet it in this context: of a vector `row` and its
  // x of Join, x . mean and x' covariance x are those of row with `to`. False: the schema has no
  // bias, and what the context adds by itself is no function of the row.
  bool Fold(const NodePosterior& from, NodePosterior& to) const;
  // By field of the schema; empty where nothing named came.
  const std::vector<FieldCount>& counts() const { return log_.counts(); }

  // The names of the ranked arms, and the notes.
  void Fill(const ArmBlock& block, const Catalogue& catalogue, const std::vector<int>& ranking,
            v1::SelectResponse& response) const;

 private:
  absl::Status LoadNamed(const v1::NamedArms& arms, int arms_max, const Catalogue& catalogue,
                         ArmBlock& block);

  const FeatureSchema* schema_ = nullptr;
  ValueLog log_;
  EncodedContext context_;
  std::vector<double> row_;
  absl::flat_hash_set<std::string_view> ids_;
};

}  // namespace bandana::server
