#include "tools/lab/recsys20/catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "tools/lab/recsys20/model_learner.h"
#include "tools/lab/recsys20/published_learner.h"
#include "tools/lab/recsys20/shaped_learner.h"

namespace bandana::lab {
namespace {

absl::StatusOr<std::unique_ptr<Learner>> MakePlanned(const World& world,
                                                     const LearnerOptions& options,
                                                     bool counters_only) {
  BANDANA_ASSIGN_OR_RETURN(const PlanRequest request, PlanRequestOf(world, options));
  BANDANA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  for (const PlanCandidate& candidate : plan.candidates) {
    if (!candidate.excluded.empty()) continue;
    switch (candidate.kind) {
      case PlanCandidate::Kind::kCounter:
        return MakeCounted(world, options, candidate.counter);
      case PlanCandidate::Kind::kShaped:
        if (!counters_only) return MakeShaped(world, options);
        break;
      case PlanCandidate::Kind::kRandomizer:
        if (!counters_only) return MakeRandomized(world, options);
        break;
      case PlanCandidate::Kind::kCentred:
        if (!counters_only) return MakeCentred(world, options);
        break;
    }
  }
  return InvalidArgument("no counter can be used: ", plan.candidates.back().excluded);
}

}  // namespace

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

absl::StatusOr<PlanRequest> PlanRequestOf(const World& world, const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const Tuning tuning = world.TuningOf(options.family, options.epsilon);
  PlanRequest request;
  request.scope =
      options.scope == Scope::kCentral ? PlanRequest::Scope::kCentral : PlanRequest::Scope::kLocal;
  request.dimension = info.dimension;
  request.feature_l2_max = info.feature_l2_max;
  request.rewards = EnforcedRange(world, options);
  request.rewards_binary = info.reward_binary;
  request.reward_stddev = tuning.reward_stddev;
  request.prior_stddev = tuning.prior_stddev;
  BANDANA_ASSIGN_OR_RETURN(request.coupling,
                           world.MakeCoupling(options.family, tuning.laplacian_weight));
  request.events_per_node = (options.horizon + world.nodes() - 1) / world.nodes();
  request.epsilon = options.epsilon;
  request.delta = options.delta;
  return request;
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
  if (label == "non-private") return MakeNonPrivate(world, options);
  if (label == "published") return MakePublished(world, options, {});
  if (label == "published-l2")
    return MakePublished(world, options, {.noise = PublishedNoiseKind::kL2Norm});
  if (label == "randomizer") return MakeRandomized(world, options);
  if (label == "shaped") return MakeShaped(world, options);
  if (label == "centred") return MakeCentred(world, options);
  return MakePlanned(world, options, label == "counter" || label == "central");
}

}  // namespace bandana::lab
