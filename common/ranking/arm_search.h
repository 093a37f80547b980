// The best arms of a large catalogue without scoring every one: bounds first, then exact scores of
// those that may be among the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "common/ranking/arm_sketch.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"

namespace bandana {

// Arms that are looked at together.
struct ArmRun {
  const ArmSketch* sketch = nullptr;
  // Each arm's own part: a mean, with what else is added to its score, sketch->size() of them or
  // none, and a variance from 0 to variance_max.
  std::span<const float> means;
  float variance_max = 0;
  // So far each of the means may be from the true one.
  float means_error = 0;
  // Positions in the sketch of the arms on offer, ascending; empty: all of them.
  std::span<const std::uint8_t> rows;
};

// Where an arm is.
struct ArmPlace {
  std::uint32_t run = 0;  // in the order of Look, from 0
  std::uint32_t row = 0;  // in its sketch
  int position = 0;       // among all arms on offer
};

struct FoundArm {
  ArmPlace place;
  double mean = 0;
  double width = 0;
  double score = 0;
};

// An arm's score is at most x . m + means + alpha sqrt(lambda |x|^2 + variances), where m is the
// posterior's mean and lambda the largest eigenvalue of its covariance. Arms for which this is
// less than the top_k-th best score are never scored. The answer is that of ScoreArms and RankArms
// over all arms. Where nearly all arms score alike, as before the first event, all are scored.
class ArmSearch {
 public:
  // A part that every arm's reward has besides: a mean, and a variance >= 0.
  struct Common {
    double mean = 0;
    double variance = 0;
  };
  // top_k >= 1.
  ArmSearch(const NodePosterior& posterior, const Common& common, int top_k);

  void Look(const ArmRun& run);
  // Arms on offer in all runs.
  int arms() const { return arms_; }

  // Fills `out` with what ScoreArms, and what the arms have of their own, say of arms at `places`.
  using Score = std::function<void(std::span<const ArmPlace> places, ArmScores& out)>;
  // The best arms, best first, all of them where there are at most top_k. Once.
  std::vector<FoundArm> Finish(std::uint64_t tie_key, const Score& score);
  // Arms that have the best score, once Finish is done.
  std::size_t ties() const { return ties_; }
  // Arms that Finish has scored.
  std::size_t scored() const { return scored_; }

 private:
  struct Candidate {
    double bound = 0;  // of its score, from above
    ArmPlace place;
  };
  // Bounds of alpha times the width of an arm with so large a norm.
  double WidestOf(double norm, double variance) const;
  double NarrowestOf(double norm) const;
  // `slack`: so far its sum may be from the true one.
  void LookAt(const ArmRun& run, const ArmPlace& place, double slack);
  void NoteScoreOfAtLeast(double score);
  void DropBelow(double score);
  // The `count` candidates with the highest bounds, taken out.
  std::vector<ArmPlace> TakeBest(std::size_t count);

  const std::size_t top_k_;
  const Common common_;
  double alpha_ = 0;
  double largest_ = 0;  // bounds of the covariance's eigenvalues
  double smallest_ = 0;
  const ArmSketch::Vector mean_;
  std::uint32_t runs_ = 0;
  int arms_ = 0;
  std::size_t scored_ = 0;
  double best_ = -std::numeric_limits<double>::infinity();
  std::size_t ties_ = 0;
  std::vector<float> sums_;       // of one run: products and the arms' means
  std::vector<double> at_least_;  // a heap: the top_k largest scores from below, the least first
  std::vector<Candidate> candidates_;
  std::size_t next_drop_ = 0;
};

}  // namespace bandana
