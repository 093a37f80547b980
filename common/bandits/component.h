// The joint posterior of one connected component of the prior coupling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/effective.h"
#include "common/bandits/model.h"
#include "common/linalg/symmetric.h"
#include "common/ranking/exploration.h"
#include "common/ranking/posterior.h"

namespace bandana {

// P on a component's n nodes, and P = C C'. Shared by all users of an independent model.
struct ComponentPrior {
  int n = 0;
  std::vector<double> p;  // n x n
  SemidefiniteFactor factor;
};
std::shared_ptr<const ComponentPrior> MakeComponentPrior(const CouplingComponent& coupling);

// Scale of the model: K_0 = prior_variance P (x) I_d, rewards observed with observation_variance
// (s2).
struct ComponentScale {
  int dimension = 0;
  double observation_variance = 1;
  double prior_variance = 1;
};

// One event with the node's position in the component.
struct ComponentEvent {
  int position = 0;
  const double* features = nullptr;  // d entries
  double reward = 0;
};

// Buffers of an update, kept between updates. Tall matrices are transposed: one row per event, or
// per feature of Update's node.
struct ComponentScratch {
  std::vector<double> products;   // K F, then V
  std::vector<double> remainder;  // Z of Update
  std::vector<double> gram;       // F' K F + s2 I, then its factor
  std::vector<double> residual;
};

// Most events in one batch.
inline constexpr int kBatchEventsMax = 64;

// K = (K_0^-1 + blkdiag(H_u))^-1 and m = K h over the component's nodes, n d rows, where H_u = S_u
// / s2 and h_u = beta_u / s2 for statistics without noise (effective.h). K is dense, row-major, and
// only its lower triangle is kept: symmetry cannot drift. Threads: not thread-safe.
class ComponentPosterior {
 public:
  ComponentPosterior(std::shared_ptr<const ComponentPrior> prior, const ComponentScale& scale);

  // The number of events, at most kBatchEventsMax, at which a batch costs least per event; 1 for
  // small components.
  int batch_events() const;

  // Applies a batch: with F the matrix of columns e_u (x) x and G = s2 I + F' K F = L L',
  //   V = K F L^-T,   K -= V V',   m += V L^-1 (r - F' m).
  // For one event this is the rank-one update K -= k k' / q, m += k (r - x' m_u) / q with q = s2 +
  // x' K_uu x. False, with nothing changed, when rounding has cost K its definiteness (a pivot of G
  // under s2): then Rebuild.
  [[nodiscard]] bool Apply(std::span<const ComponentEvent> events, ComponentScratch& scratch);

  // Replaces one node's effective statistics. With E the columns of its rows, K_uu = L L', D the
  // change of H_u and I + L' D L = Q Q',
  //   Y = K E L^-T,   Z = Y Q^-T,   K += Z Z' - Y Y',   m += Z (E'Z)' (change of h_u - D m_u).
  // K loses what it knew of the node and gains it anew: D may be indefinite and of any rank, and
  // neither P nor S nor R is inverted. False, with nothing changed, when rounding has cost K_uu or
  // the update its definiteness: then Rebuild. Cost for D rows: D^2 d multiply-adds.
  [[nodiscard]] bool Update(int position, const EffectiveStatistics& old,
                            const EffectiveStatistics& next, ComponentScratch& scratch);

  // Computes K and m from the effective statistics of the component's nodes, in their order. See
  // rebuild in component.cc.
  void Rebuild(std::span<const EffectiveStatistics> statistics);

  // The prior, without events.
  void Reset();
  // Takes K (packed lower triangle), m and what they have seen from elsewhere, and gives K and m.
  // To the bit: what was loaded goes on as if it had been here.
  void Load(const double* covariance, const double* mean, const ComponentCount& seen);
  void Store(double* covariance, double* mean) const;

  // m_u and K_uu in full of the node at a position.
  void CopyNode(int position, NodePosterior& out) const;

  std::uint64_t events() const { return events_; }
  // ln(det A_t / det A_0) >= 0 with A the papers' dN x dN matrix (docs/notation.md); the sum of
  // ln(q / s2) over events.
  double log_det_ratio() const { return log_det_ratio_; }

 private:
  int rows() const { return prior_->n * scale_.dimension; }
  void CopyColumns(int first, std::vector<double>& columns) const;
  void FillInformation(std::span<const EffectiveStatistics> statistics,
                       std::vector<double>& a) const;
  std::vector<double> SeenFromFactor(std::span<const EffectiveStatistics> statistics) const;
  // K from the factor L of A and from L^-1 C~' h, and the mean: K = prior_variance V V', or, more
  // than twice as fast, by the inverse of A.
  std::vector<double> ByRows(std::vector<double> l, const std::vector<double>& seen);
  std::vector<double> ByInverse(std::vector<double> l, std::vector<double> seen);

  std::shared_ptr<const ComponentPrior> prior_;
  ComponentScale scale_;
  std::vector<double> k_;     // rows x rows, lower triangle
  std::vector<double> mean_;  // rows
  std::uint64_t events_ = 0;
  double log_det_ratio_ = 0;
};

}  // namespace bandana
