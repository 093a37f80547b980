// The algorithms of experiments by name, and what each may be labelled.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "research/lab/recsys20/learner.h"

namespace bandana::lab {

// A key of docs/design/papers.md#the-papers-algorithms with its labels:
//   published     as printed, coordinate-wise Laplace; published-l2: its L2-norm reading
//   counter       a structured counter, of the kind that the planner predicts to be best
//   central       the same on raw rewards at the server
//   shaped        one central counter, its noise shaped across users
//   randomizer    every reward randomized once
//   centred       the same of what the released posterior did not predict
//   auto          the planner's choice; proven is the same
//   non-private, random
struct Algorithm {
  std::string_view name;
  Family family = Family::kColin;
  Scope scope = Scope::kNonPrivate;
  std::vector<std::string_view> labels;
};
std::span<const Algorithm> Algorithms();

// Errors: INVALID_ARGUMENT lists the names there are.
absl::StatusOr<const Algorithm*> FindAlgorithm(std::string_view name);

// Whether epsilon and delta mean anything for the label.
bool UsesEpsilon(std::string_view label);
bool UsesDelta(std::string_view label);

// `options` with epsilon, delta, horizon and seed set; family and scope come from the algorithm.
// Null for the random policy. Errors: INVALID_ARGUMENT a label the algorithm does not have.
absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(const Algorithm& algorithm,
                                                     std::string_view label, const World& world,
                                                     LearnerOptions options);

}  // namespace bandana::lab
