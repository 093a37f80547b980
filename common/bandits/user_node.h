// One independent user: statistics and posterior in one immutable object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/bandits/component.h"
#include "common/bandits/model.h"
#include "common/ranking/exploration.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"

namespace bandana {

struct FewEvents;  // common/linalg/quadratic_forms.h

// A user with k <= d / 2 events is held as those events, X of k x d and r. With ridge = s2 / tau^2
// and X X' + ridge I = L L',
//   K = tau^2 (I - X' (X X' + ridge I)^-1 X) = tau^2 I - V V',   V = tau X' L'^-1,
//   m = X' c,   c = (X X' + ridge I)^-1 r:
// a score needs X, L^-1 and c alone, K and m are nowhere. S = X'X and beta = X'r are added up when
// they are asked for, in the order of the events, to the bits of AddEvent. A user with more events
// is held as S, beta, m and the packed lower triangle of K. The reasons:
// docs/adr/0022-few-events-are-held-as-they-came.md.
//
// One kind is in between: a user who was restored from sums (a checkpoint's) keeps those, because
// no events give them back to the bit, beside events that give the same posterior.
// In a model that forgets (fading.h) it is as it counts at steps(), and FadedTo brings it to
// another step: S and beta times the weight w, which then stand in the object, and events times its
// root. Threads: immutable.
class UserNode {
 public:
  std::uint64_t events() const { return events_; }
  double moment_variance() const { return moment_variance_; }
  bool few() const { return few_; }  // held as events
  std::uint64_t steps() const { return steps_; }
  // Means, widths and scores as ScoreArms.
  void Score(const ComponentScale& scale, std::span<const double* const> arms,
             ArmScores& out) const;
  // m and K in full.
  void Expand(const ComponentScale& scale, NodePosterior& out) const;
  // S, beta and the number of events, `out` of any shape.
  void Expand(const ComponentScale& scale, NodeStatistics& out) const;
  // Memory of the object with what the allocator adds, about.
  std::size_t bytes(const ComponentScale& scale) const;

 private:
  friend class UserFitter;
  // Where the parts stand in data_, one after another.
  struct Parts {
    double* gram = nullptr;  // packed; nullptr where the rows say it
    double* moment = nullptr;
    // With few events.
    double* rows = nullptr;     // k x d
    double* rewards = nullptr;  // k
    double* inverse = nullptr;  // L^-1, packed
    double* weights = nullptr;  // c
    // With many.
    double* covariance = nullptr;  // packed
    double* mean = nullptr;
    std::size_t size = 0;  // in doubles
  };
  Parts PartsOf(int dimension) const;
  FewEvents Few(const ComponentScale& scale, const Parts& parts) const;

  std::unique_ptr<double[]> data_;
  std::uint64_t events_ = 0;
  double moment_variance_ = 0;  // v: NodeStatistics
  std::uint64_t steps_ = 0;     // the same
  double log_det_ratio_ = 0;
  double alpha_ = 0;
  std::uint16_t rows_ = 0;  // k
  bool few_ = true;
  bool sums_ = false;  // S and beta stand in the object
};

// Makes users of events or sums. Not thread-safe; what it makes is.
class UserFitter {
 public:
  using Node = std::shared_ptr<const UserNode>;
  UserFitter(const ComponentScale& scale, const ExplorationRule& exploration);

  const ComponentScale& scale() const { return scale_; }
  // A user without events.
  Node Prior() const;
  // The user with `events` more, in order, at `steps`; `old` nullptr: one without events. Their
  // positions are not read. Requires moment_variance() == 0, and `steps` not before the user's.
  // Cost of each event: k d multiply-adds for one of few, else ComponentPosterior::Apply's.
  Node Added(const UserNode* old, std::span<const ComponentEvent> events, std::uint64_t steps = 0);
  // The user at a later step; nullptr: it is the same there, as it was or without events. Cost: of
  // k few events k^2 (k + d) multiply-adds and 4 d^2 bytes written, else a rebuild, some d^3.
  Node FadedTo(std::uint64_t steps, const UserNode& user);
  // The user of these sums; nullptr where they are those of no events. Cost:
  // ComponentPosterior::Rebuild's at most.
  Node Fitted(const NodeStatistics& statistics);

 private:
  ComponentPosterior& fit();
  std::shared_ptr<UserNode> Make(std::size_t rows, bool few, bool sums) const;
  // nullptr where the prior is so wide against the noise that only a rebuild keeps the digits.
  std::shared_ptr<UserNode> AddedToFew(const UserNode* old, std::span<const ComponentEvent> events);
  std::shared_ptr<UserNode> AddedToMany(const UserNode* old,
                                        std::span<const ComponentEvent> events);
  Node FittedBySums(const NodeStatistics& statistics);
  // nullptr as AddedToFew, or where the sums are not of few events.
  Node FittedByRows(const NodeStatistics& statistics);
  // Fills in L^-1, c and what follows from them, of rows from `first` on. False: as AddedToFew.
  bool Factor(UserNode& node, std::size_t first) const;
  bool ApplyInBatches(std::span<const ComponentEvent> events);
  // fit_ with the sums of `node` beside it.
  void Finish(UserNode& node) const;

  const ComponentScale scale_;
  const ExplorationRule exploration_;
  const std::size_t few_max_;
  std::optional<ComponentPosterior> fit_;  // of one user at a time, once one has many events
  ComponentScratch scratch_;
  NodeStatistics sums_;
};

}  // namespace bandana
