// An environment as experiments see it: users as nodes of a graph, arms as features, and what a
// learner may know beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/coupling.h"
#include "common/bandits/graph.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana::lab {

// How the parameters of the users hang together.
enum class Family { kShared, kIndependent, kColin, kGoblin };

// The prior and the exploration of one family, as an operator would configure them: from public
// knowledge of the task, never from rewards of the run.
struct Tuning {
  double reward_stddev = 1;
  double prior_stddev = 1;
  double laplacian_weight = 1;  // kGoblin
  double alpha = 0.3;           // posterior standard deviations added to the mean
  double reward_share = 1;  // of the reward range, about its middle, that a private model enforces
};

struct WorldDecision {
  int node = 0;
  std::vector<double> features;  // n x d, row-major
  std::vector<double> expected;  // n, hidden from learners
  Choice source;
};

// Threads: const methods are safe. Immutable.
class World {
 public:
  // `environment`: gaussian (that is `synthetic`), banditlib, or a folder of bandana-import as
  // hetrec:DIR. The users of a simulated world follow `seed` unless the settings fix `world`.
  // Errors: as MakeEnvironment; NOT_FOUND and INVALID_ARGUMENT for the folder's files.
  static absl::StatusOr<std::unique_ptr<World>> Create(const std::string& environment,
                                                       Settings settings, std::uint64_t seed);

  const EnvironmentInfo& info() const { return environment_->info(); }
  int nodes() const { return nodes_; }
  // The graphs of the family's model; kShared and kIndependent have none.
  const Graph& influence() const { return influence_; }
  const Graph& similarity() const { return similarity_; }
  absl::StatusOr<Coupling> MakeCoupling(Family family, double laplacian_weight) const;
  // `epsilon`: of a private model; nothing for the others.
  Tuning TuningOf(Family family, std::optional<Epsilon> epsilon) const;

  void DecisionAt(std::uint64_t index, WorldDecision& out) const;
  double RewardAt(std::uint64_t index, const WorldDecision& decision, int position) const {
    return environment_->RewardAt(index, decision.source, position);
  }

 private:
  World() = default;
  absl::Status LoadHetrec(const std::string& folder);
  void TakeGraphs();

  std::unique_ptr<Environment> environment_;
  int nodes_ = 0;
  bool recorded_ = false;  // a data set: graphs, arms and users come from files
  Graph influence_;
  Graph similarity_;
  double goblin_weight_ = 1;
  double goblin_variance_ratio_ = 1;
  double own_variance_ratio_ = 1;
  double shared_variance_ratio_ = 1;
  std::unordered_map<std::string, int> node_of_user_;                       // recorded_
  std::unordered_map<std::uint32_t, std::vector<double>> features_of_arm_;  // recorded_
};

}  // namespace bandana::lab
