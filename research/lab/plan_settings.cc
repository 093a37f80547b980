#include "research/lab/plan_settings.h"

#include <array>
#include <string>
#include <string_view>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::lab {
namespace {

// P = W' W for W with `weight` from each of the others and the rest from oneself.
absl::StatusOr<Coupling> EvenCoupling(int users, double weight, int dimension) {
  Graph graph;
  graph.kind = Graph::Kind::kInfluence;
  graph.nodes = users;
  for (int i = 0; i < users; ++i) {
    for (int j = 0; j < users; ++j) {
      const double w = i == j ? 1 - weight * (users - 1) : weight;
      if (w > 0) graph.entries.push_back({i, j, w});
    }
  }
  return Coupling::CoLin(graph, dimension);
}

}  // namespace

absl::StatusOr<PlanRequest> PlanRequestFromSettings(Settings settings) {
  constexpr std::array<std::string_view, 2> kModes = {"local", "central"};
  constexpr std::array<std::string_view, 2> kAnswers = {"no", "yes"};
  PlanRequest request;
  BANDANA_ASSIGN_OR_RETURN(const std::string mode, settings.TakeChoice("mode", "local", kModes));
  request.mode = mode == "local" ? Mode::kLocalReward : Mode::kCentralReward;
  BANDANA_ASSIGN_OR_RETURN(request.dimension, settings.TakeInt("dimension", 10, 1, kDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(const int users, settings.TakeInt("users", 1, 1, 512));
  BANDANA_ASSIGN_OR_RETURN(const double others,
                           settings.TakeDouble("influence_of_others", 0, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(const int events, settings.TakeInt("events", 1000, 1, 1 << 30));
  request.events_per_node = events;
  BANDANA_ASSIGN_OR_RETURN(request.epsilon.value,
                           settings.TakeDouble("epsilon", 2, 1e-6, kEpsilonResearchMax));
  BANDANA_ASSIGN_OR_RETURN(request.delta.value, settings.TakeDouble("delta", 1e-5, 0, 0.999));
  BANDANA_ASSIGN_OR_RETURN(request.feature_l2_max,
                           settings.TakeDouble("feature_l2_max", 1, 1e-6, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(request.rewards.min,
                           settings.TakeDouble("reward_min", -0.5, -kScaleMax, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(request.rewards.max,
                           settings.TakeDouble("reward_max", 0.5, -kScaleMax, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(const std::string binary,
                           settings.TakeChoice("reward_binary", "no", kAnswers));
  request.rewards_binary = binary == "yes";
  BANDANA_ASSIGN_OR_RETURN(request.reward_stddev,
                           settings.TakeDouble("reward_stddev", 0.05, 1e-6, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(request.prior_stddev,
                           settings.TakeDouble("prior_stddev", 0.316, 1e-6, kScaleMax));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  if (users > 1) {
    BANDANA_ASSIGN_OR_RETURN(request.coupling,
                             EvenCoupling(users, others / users, request.dimension));
  }
  return request;
}

}  // namespace bandana::lab
