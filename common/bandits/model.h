// The one model family: LinUCB (shared, independent), CoLin and GOBLin differ only in their Coupling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/graph.h"
#include "common/bandits/posterior.h"

namespace bandana {

// How alpha follows from the state. MECHANISMS section 1, equation (3).
struct ExplorationRule {
  enum class Kind { kConstant, kLog, kConfidence };
  Kind kind = Kind::kConstant;
  double alpha = 0.3;                 // kConstant: alpha; kLog: alpha * sqrt(ln(t + 2))
  double failure_probability = 0.01;  // kConfidence
  double theta_l2_max = 1;            // kConfidence
};

// One event: node `node` was shown features x and the model may use `reward` (for local models the randomized value).
struct Event {
  int node = 0;
  std::span<const double> features;  // d, clipped
  double reward = 0;                 // finite
};

// Sufficient statistics of one node, MECHANISMS equation (1). The durable truth.
struct NodeStatistics {
  std::vector<double> gram;    // S_u = sum x x', lower triangle row by row, d (d + 1) / 2
  std::vector<double> moment;  // beta_u = sum x r, d
  std::uint64_t events = 0;
};

// State: statistics of every node and the posterior they imply, K = (K_0^-1 + blkdiag(S_u)/s2)^-1, m = K beta/s2, with
// K_0 = prior_variance P (x) I and s2 = observation_variance. The posterior is a function of the statistics up to rounding.
// Threads: not thread-safe. Copy: not copyable (K may be hundreds of megabytes).
class BanditModel {
 public:
  struct Options {
    int dimension = 0;                // [1, kDimensionMax]
    double observation_variance = 1;  // s2 = sigma_r^2 + v_r, > 0 (MECHANISMS sections 5b, 7)
    double prior_variance = 1;        // tau^2, > 0
    ExplorationRule exploration;
    int nodes_max = 1;                // independent coupling only
  };

  // Errors: INVALID_ARGUMENT names the option and its constraint.
  static absl::StatusOr<std::unique_ptr<BanditModel>> Create(const Options& options, Coupling coupling);
  virtual ~BanditModel() = default;

  virtual int dimension() const = 0;
  virtual int nodes() const = 0;
  virtual std::uint64_t events() const = 0;
  virtual const NodeStatistics& statistics(int node) const = 0;

  // Independent coupling: adds a node without events and returns it. Errors: RESOURCE_EXHAUSTED at nodes_max;
  // FAILED_PRECONDITION for the other couplings.
  virtual absl::StatusOr<int> AddNode() = 0;

  // Applies the events in order: rank-one for one event of a component, rank-k for more. Exact either way.
  virtual void Apply(std::span<const Event> events) = 0;

  // Recomputes the posterior from the statistics by Cholesky; removes the drift of many updates.
  virtual void Rebuild() = 0;

  // Puts statistics in place of the present ones (recovery, import) and rebuilds. Errors: INVALID_ARGUMENT on shape or
  // non-finite entries; then nothing changed.
  virtual absl::Status Restore(std::vector<NodeStatistics> statistics) = 0;

  // Puts another coupling of as many nodes in place and rebuilds.
  virtual absl::Status SetCoupling(Coupling coupling) = 0;

  virtual NodePosterior Posterior(int node) const = 0;
  // The posterior of a node without events in a model without events; what an unknown independent user is served from.
  virtual NodePosterior Prior() const = 0;
  // Nodes whose posterior changed since the last call, ascending.
  virtual std::vector<int> TakeChangedNodes() = 0;
};

}  // namespace bandana
