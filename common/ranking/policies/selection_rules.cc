#include "common/ranking/policies/selection_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/check.h"

namespace bandana {
namespace {

double OrLeast(double value) {
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

// Adds `share` to the entries of the best values among those that are left, in equal parts.
void ShareAmongBest(std::span<const double> values, std::span<const int> left, double share,
                    std::vector<double>& law) {
  double best = -std::numeric_limits<double>::infinity();
  for (const int position : left) best = std::max(best, OrLeast(values[position]));
  std::size_t equal = 0;
  for (const int position : left) equal += OrLeast(values[position]) == best ? 1 : 0;
  const double each = share / static_cast<double>(equal);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (OrLeast(values[left[i]]) == best) law[i] += each;
  }
}

class Ucb final : public SelectionRule {
 public:
  std::string words() const override { return "the best by UCB"; }
  bool ranks_by_score() const override { return true; }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    law.assign(left.size(), 0.0);
    ShareAmongBest(arms.scores, left, 1, law);
  }
};

class UniformMix final : public SelectionRule {
 public:
  explicit UniformMix(double share) : share_(share) {}
  std::string words() const override {
    return absl::StrFormat("uniform mix: any arm with probability %g, else the best by UCB",
                           share_);
  }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    law.assign(left.size(), share_ / static_cast<double>(left.size()));
    ShareAmongBest(arms.scores, left, 1 - share_, law);
  }

 private:
  const double share_;
};

class Thompson final : public SelectionRule {
 public:
  Thompson(int draws, double uniform_share) : draws_(draws), share_(uniform_share) {}
  std::string words() const override {
    return absl::StrFormat("Thompson sampling: one of %d draws of the posterior, uniform share %g",
                           draws_, share_);
  }
  int draws() const override { return draws_; }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    const std::size_t n = arms.means.size();
    BANDANA_CHECK(arms.draws.size() == n * static_cast<std::size_t>(draws_));
    law.assign(left.size(), share_ / static_cast<double>(left.size()));
    const double each = (1 - share_) / draws_;
    for (int draw = 0; draw < draws_; ++draw) {
      ShareAmongBest(arms.draws.subspan(static_cast<std::size_t>(draw) * n, n), left, each, law);
    }
  }

 private:
  const int draws_;
  const double share_;
};

class Softmax final : public SelectionRule {
 public:
  explicit Softmax(double temperature) : temperature_(temperature) {}
  std::string words() const override {
    return absl::StrFormat("softmax of the UCB scores at temperature %g", temperature_);
  }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    double best = -std::numeric_limits<double>::infinity();
    for (const int position : left) best = std::max(best, OrLeast(arms.scores[position]));
    law.assign(left.size(), 0.0);
    if (!std::isfinite(best)) return ShareAmongBest(arms.scores, left, 1, law);
    double total = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      law[i] = std::exp((OrLeast(arms.scores[left[i]]) - best) / temperature_);
      total += law[i];  // at least 1, of the best
    }
    for (double& p : law) p /= total;
  }

 private:
  const double temperature_;
};

class InverseGap final : public SelectionRule {
 public:
  explicit InverseGap(double gamma) : gamma_(gamma) {}
  std::string words() const override {
    return absl::StrFormat("inverse gap weighting with gamma %g", gamma_);
  }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    double best = -std::numeric_limits<double>::infinity();
    for (const int position : left) best = std::max(best, OrLeast(arms.means[position]));
    law.assign(left.size(), 0.0);
    if (!std::isfinite(best)) return ShareAmongBest(arms.means, left, 1, law);
    const auto n = static_cast<double>(left.size());
    double others = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double gap = best - OrLeast(arms.means[left[i]]);
      if (gap == 0) continue;
      law[i] = 1 / (n + gamma_ * gap);
      others += law[i];  // below (n - 1) / n, as every gap is above 0
    }
    ShareAmongBest(arms.means, left, 1 - others, law);
  }

 private:
  const double gamma_;
};

class ColdShare final : public SelectionRule {
 public:
  ColdShare(std::shared_ptr<const SelectionRule> rule, double share)
      : rule_(std::move(rule)), share_(share) {}
  std::string words() const override {
    return absl::StrFormat("a cold arm with probability %g, else %s", share_, rule_->words());
  }
  int draws() const override { return rule_->draws(); }
  bool favours_cold() const override { return true; }
  void Law(const Candidates& arms, std::span<const int> left,
           std::vector<double>& law) const override {
    BANDANA_CHECK(arms.cold.size() == arms.means.size());
    rule_->Law(arms, left, law);
    std::size_t cold = 0;
    for (const int position : left) cold += arms.cold[position];
    if (cold == 0) return;
    const double each = share_ / static_cast<double>(cold);
    for (std::size_t i = 0; i < left.size(); ++i) {
      law[i] = (1 - share_) * law[i] + (arms.cold[left[i]] != 0 ? each : 0);
    }
  }

 private:
  const std::shared_ptr<const SelectionRule> rule_;
  const double share_;
};

}  // namespace

std::shared_ptr<const SelectionRule> MakeUcbRule() { return std::make_shared<Ucb>(); }

std::shared_ptr<const SelectionRule> MakeUniformMix(double uniform_share) {
  BANDANA_CHECK(uniform_share > 0 && uniform_share <= 1);
  return std::make_shared<UniformMix>(uniform_share);
}

std::shared_ptr<const SelectionRule> MakeThompson(int draws, double uniform_share) {
  BANDANA_CHECK(draws >= 1 && uniform_share >= 0 && uniform_share <= 1);
  return std::make_shared<Thompson>(draws, uniform_share);
}

std::shared_ptr<const SelectionRule> MakeSoftmax(double temperature) {
  BANDANA_CHECK(temperature > 0);
  return std::make_shared<Softmax>(temperature);
}

std::shared_ptr<const SelectionRule> MakeColdShare(std::shared_ptr<const SelectionRule> rule,
                                                   double share) {
  BANDANA_CHECK(rule != nullptr && share > 0 && share <= 1);
  return std::make_shared<ColdShare>(std::move(rule), share);
}

std::shared_ptr<const SelectionRule> MakeInverseGap(double gamma) {
  BANDANA_CHECK(gamma > 0);
  return std::make_shared<InverseGap>(gamma);
}

}  // namespace bandana
