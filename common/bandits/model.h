// The one model family: LinUCB (shared, independent), CoLin and GOBLin differ only in their
// Coupling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/coupling.h"
#include "common/bandits/frozen_statistics.h"
#include "common/ranking/exploration.h"
#include "common/ranking/posterior.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// One event: node `node` was shown features x and the model may use `reward` (for local models the
// randomized value).
struct Event {
  int node = 0;
  std::span<const double> features;  // d, clipped
  double reward = 0;                 // finite
};

// Sufficient statistics of one node. The durable truth.
struct NodeStatistics {
  std::vector<double> gram;    // S_u = sum x x', lower triangle row by row, d (d + 1) / 2
  std::vector<double> moment;  // beta_u = sum x r, or its release beta_u + eta_u, d
  std::uint64_t events = 0;
  double moment_variance = 0;  // v_u: Cov eta_u = v_u I, accumulated up to this release; [0, 1e30]
  // Models that forget (fading.h): S and beta are as they count at this step; from then on they
  // fade as a whole. 0 in other models.
  std::uint64_t steps = 0;
  // Sums of noisy reports: their number less the sum of their squared weights.
  double noise_faded = 0;
};

// State: statistics of every node and the posterior they imply. A node is observed as
//   beta_u ~ N(S_u theta_u, R_u),   R_u = s2 S_u + v_u I,   s2 = observation_variance,
// so that with H_u = S_u R_u^-1 S_u and h_u = S_u R_u^-1 beta_u (S_u / s2 and beta_u / s2 where
// v_u = 0) the posterior is K = (K_0^-1 + blkdiag(H_u))^-1, m = K h, K_0 = prior_variance P (x) I.
// This is equation (5), docs/design/mechanisms.md#noise-aware-posterior. The posterior is a
// function of the statistics up to rounding. P may be singular: nothing inverts it. Each connected
// component of P keeps a dense K of its own. Independent users are held as their events while they
// have few (IndependentModel). Threads: not thread-safe. Copy: no (K may be hundreds of megabytes).
class BanditModel {
 public:
  struct Options {
    int dimension = 0;  // [1, kDimensionMax]
    double observation_variance =
        1;  // s2 = sigma_r^2 + v_r, reward noise and privacy noise; [1e-30, 1e30]
    double prior_variance = 1;  // tau^2, [1e-30, 1e30]
    ExplorationRule exploration;
    int nodes_max = 1;  // independent coupling only
  };

  // Errors: INVALID_ARGUMENT names the option and its constraint.
  static absl::StatusOr<std::unique_ptr<BanditModel>> Create(const Options& options,
                                                             const Coupling& coupling);
  virtual ~BanditModel() = default;

  virtual int dimension() const = 0;
  virtual int nodes() const = 0;
  virtual std::uint64_t events() const = 0;
  virtual std::uint64_t events(int node) const = 0;
  // Good until the next call or change.
  virtual const NodeStatistics& statistics(int node) const = 0;
  // The statistics of all nodes, for another thread to read while the model goes on; null where
  // that would cost a copy of them.
  virtual std::shared_ptr<const FrozenStatistics> Freeze() { return nullptr; }

  // Independent coupling: adds a node without events and returns it. Errors: RESOURCE_EXHAUSTED at
  // nodes_max; FAILED_PRECONDITION for the other couplings.
  virtual absl::StatusOr<int> AddNode() = 0;

  // Independent coupling: the node is as AddNode makes it. Errors: INVALID_ARGUMENT no such node;
  // FAILED_PRECONDITION for the other couplings, where other nodes hold what it told them.
  virtual absl::Status ForgetNode(int /*node*/) {
    return absl::FailedPreconditionError("a coupling joins the node with others");
  }

  // Applies the events in order: rank-one for one event of a component, rank-k for more. Exact
  // either way. Features and rewards must be finite; aborts on a node or a number of features that
  // does not exist. An event of a node with v_u > 0, or with statistics that await Refresh, joins
  // its statistics and reaches the posterior at Refresh. When rounding has cost K its definiteness
  // (prior_variance / observation_variance near 1e16), the component is rebuilt from its
  // statistics. Cost for a component of D = nodes x d rows: D^2 / 2 multiply-adds per event;
  // batches of 32 or more run 5 times faster.
  virtual void Apply(std::span<const Event> events) = 0;

  // Puts one node's statistics in place of the present ones: S_u and the release move together.
  // The posterior follows at Refresh. For noisy S_u (joint privacy) pass it clipped to the
  // semidefinite cone with v_u = v_beta + v_S theta_max^2. Statistics of 0 events say nothing.
  // Errors: INVALID_ARGUMENT as Restore, or on a node that does not exist; then nothing changed.
  // Cost: O(d^3).
  virtual absl::Status SetReleased(int node, NodeStatistics statistics) = 0;

  // Brings the posterior up to date with SetReleased: a rank-d update of K for each node that
  // changed, or the component's rebuild where that is cheaper (half of its nodes or more), or where
  // rounding has cost K its definiteness. Nothing to do costs nothing. Cost for a component of
  // D = nodes x d rows: D^2 d multiply-adds per changed node.
  virtual void Refresh() = 0;

  // Recomputes the posterior from the statistics by Cholesky; removes the drift of many updates.
  // Cost for D rows: 7/6 D^3 multiply-adds and D^2 doubles of memory beside K (1.1 s at D = 2500, 2
  // cores, 2026).
  virtual void Rebuild() = 0;
  // As Rebuild, beside the caller, where a component takes the events of many nodes, or of all
  // users; independent users have few events each: nothing. BeginRebuild does what Refresh does,
  // takes the statistics and starts a thread; what is applied meanwhile is applied there as well.
  // SwapRebuilt waits for the thread and puts its posterior in place of the present one; nothing
  // was begun, or Rebuild, Restore or SetCoupling came between: nothing. The new posterior depends
  // on the calls and their order alone. Memory between the two: K once more.
  virtual void BeginRebuild() {}
  virtual void SwapRebuilt() {}

  // Puts statistics in place of the present ones (recovery, import) and rebuilds. For the
  // independent coupling, nodes() becomes their number. Errors: INVALID_ARGUMENT on their number,
  // shape, non-finite entries, a gram that no events can have, or a step after the present one;
  // then nothing changed.
  virtual absl::Status Restore(std::vector<NodeStatistics> statistics) = 0;

  // The present step of a model that forgets: events that follow count fully at it, and all others
  // as they have faded since theirs. Step 0 is where a model begins. Aborts on a step before the
  // present one. Cost: a rebuild of every component that has events; of independent users nothing,
  // as each is brought there when it is next learnt or read.
  virtual void FadeTo(std::uint64_t steps) = 0;

  // Puts another coupling of as many nodes in place and rebuilds. Errors: INVALID_ARGUMENT on
  // another number of nodes or when either coupling is independent; then nothing changed.
  virtual absl::Status SetCoupling(Coupling coupling) = 0;

  virtual NodePosterior Posterior(int node) const = 0;
  // The posterior of an unknown independent user: mean 0, covariance prior_variance I, alpha at t =
  // 0. (A node of a graph without events has prior_variance P_uu I instead: see Posterior.)
  virtual NodePosterior Prior() const = 0;
  // Nodes of the components that had events or were refreshed or rebuilt since the last call,
  // ascending: their mean, covariance or alpha may have changed. The first call returns every node
  // of a graph model, as their priors differ.
  virtual std::vector<int> TakeChangedNodes() = 0;

  // The view of readers from now on, at `version`, where they share the model's own objects: then
  // nothing is held twice. nullptr where they get copies of Posterior.
  virtual std::shared_ptr<const ServedPosterior> Show(std::uint64_t /*version*/) { return nullptr; }
};

}  // namespace bandana
