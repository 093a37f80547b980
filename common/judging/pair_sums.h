// All that is kept of the decisions for one policy, or for the difference of two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/judging/judged_unit.h"
#include "common/judging/moments.h"

namespace bandana {

// Self-normalised sums of one slot position: SNIPS is sum_t w_t y_t / sum_t w_t.
struct NormalisedSums {
  double w = 0, wy = 0, ww = 0, wwy = 0, wwyy = 0;
  void Add(double weight, double y);
  double value() const { return wy / w; }
};

// Sums over decisions, in one pass. Memory: a few numbers per slot position. Not thread-safe.
class PairSums {
 public:
  void Add(const PairUnit& unit, const RewardScale& scale);

  std::uint64_t decisions() const { return ips_.count(); }
  const Moments& ips() const { return ips_; }
  const Moments& dr() const { return dr_; }
  double dm() const { return dm_.mean(); }  // NaN where a decision had no predictions

  // SNIPS summed over slot positions; NaN where no weight was seen. [SJ15]
  double snips() const;
  // The deviation of the terms w (y - value) / mean(w), by the delta method, with n - 1. NaN for
  // lists.
  double snips_deviation() const;

  double weight_mean() const { return weight_.mean(); }
  double weight_max() const { return weight_max_; }  // the largest |c|
  // (sum |c|)^2 / sum c^2.
  double effective_decisions() const;
  // (sum_t sum_a p c^2 m2)^2 / sum_t sum_a p c^4 m4: terms that carry the variance, also those that
  // have not come; 0 where none has any. Where `seen`, of those that came.
  double terms() const { return plain_.terms(); }
  // The fewer of these and of terms that believe no prediction below the mean reward before: an arm
  // that nobody knows yet has a prediction near 0, and would carry nothing.
  double careful_terms() const { return std::min(plain_.terms(), careful_.terms()); }
  bool seen() const { return seen_; }

  double uncovered() const { return uncovered_.mean(); }
  double gained() const { return gained_.mean(); }
  double lost() const { return lost_.mean(); }
  double covered() const { return covered_.mean(); }
  double slots() const { return slots_.mean(); }
  bool lists() const { return lists_; }

  // The decision of the largest |c y|, and its share of their sum; 0 without any.
  const std::string& heaviest() const { return heaviest_; }
  double heaviest_share() const { return heavy_sum_ > 0 ? heavy_max_ / heavy_sum_ : 0; }

 private:
  Moments ips_, dr_, dm_, weight_, uncovered_, gained_, lost_, covered_, slots_, reward01_;
  std::vector<NormalisedSums> one_, two_;
  // Sums of w_one w_two, times y, times y^2: for the deviation of a difference.
  double cross_ = 0, cross_y_ = 0, cross_yy_ = 0;
  double weight_max_ = 0, weight_abs_ = 0, weight_squares_ = 0;
  TermSums plain_, careful_;
  double heavy_max_ = 0, heavy_sum_ = 0;
  std::string heaviest_;
  bool seen_ = false, lists_ = false, two_given_ = false;
};

}  // namespace bandana
