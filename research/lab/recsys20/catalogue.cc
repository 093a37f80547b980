#include "research/lab/recsys20/catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "research/lab/recsys20/published_learner.h"
#include "research/lab/recsys20/served_learner.h"

namespace bandana::lab {

std::span<const Algorithm> Algorithms() {
  static const std::vector<Algorithm> algorithms = {
      {"random", Family::kShared, Scope::kNonPrivate, {"random"}},
      {"linucb-shared", Family::kShared, Scope::kNonPrivate, {"non-private"}},
      {"linucb", Family::kIndependent, Scope::kNonPrivate, {"non-private"}},
      {"colin", Family::kColin, Scope::kNonPrivate, {"non-private"}},
      {"goblin", Family::kGoblin, Scope::kNonPrivate, {"non-private"}},
      {"linucb-private",
       Family::kIndependent,
       Scope::kCentral,
       {"published", "published-l2", "central", "auto", "proven"}},
      {"dp-colin",
       Family::kColin,
       Scope::kCentral,
       {"published", "published-l2", "central", "shaped", "randomizer", "auto", "proven"}},
      {"dp-goblin",
       Family::kGoblin,
       Scope::kCentral,
       {"published", "published-l2", "central", "shaped", "randomizer", "auto", "proven"}},
      {"ldp-colin",
       Family::kColin,
       Scope::kLocal,
       {"published", "published-l2", "counter", "randomizer", "centred", "auto", "proven"}},
      {"ldp-goblin",
       Family::kGoblin,
       Scope::kLocal,
       {"published", "published-l2", "counter", "randomizer", "centred", "auto", "proven"}},
  };
  return algorithms;
}

absl::StatusOr<const Algorithm*> FindAlgorithm(std::string_view name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : Algorithms()) {
    if (algorithm.name == name) return &algorithm;
    names.emplace_back(algorithm.name);
  }
  return InvalidArgument("algorithm must be one of ", absl::StrJoin(names, ", "), ", got `",
                         ToAbsl(name), "`");
}

bool UsesEpsilon(std::string_view label) { return label != "non-private" && label != "random"; }

bool UsesDelta(std::string_view label) {
  return UsesEpsilon(label) && !label.starts_with("published") && label != "randomizer" &&
         label != "centred";
}

absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(const Algorithm& algorithm,
                                                     std::string_view label, const World& world,
                                                     LearnerOptions options) {
  if (std::find(algorithm.labels.begin(), algorithm.labels.end(), label) ==
      algorithm.labels.end()) {
    return InvalidArgument(
        "label of ", ToAbsl(algorithm.name), " must be one of ",
        absl::StrJoin(algorithm.labels, ", ",
                      [](std::string* out, std::string_view text) { out->append(text); }),
        ", got `", ToAbsl(label), "`");
  }
  options.family = algorithm.family;
  options.scope = algorithm.scope;
  if (label == "random") return nullptr;
  if (label == "published") return MakePublished(world, options, {});
  if (label == "published-l2")
    return MakePublished(world, options, {.noise = PublishedNoiseKind::kL2Norm});
  BANDANA_ASSIGN_OR_RETURN(const ServedMechanism mechanism, MechanismOf(label, world, options));
  return MakeServed(world, options, mechanism);
}

}  // namespace bandana::lab
