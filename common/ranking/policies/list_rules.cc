#include "common/ranking/policies/list_rules.h"

#include <algorithm>
#include <cstddef>

#include "common/base/check.h"
#include "common/ranking/policies/draw_arm.h"

namespace bandana {
namespace {

// Counts the arms of each class that the list has.
class LimitCounts {
 public:
  explicit LimitCounts(std::span<const ClassLimit> limits) : limits_(limits) {
    for (const ClassLimit& limit : limits) {
      int classes = 0;
      for (const int of : limit.classes) classes = std::max(classes, of + 1);
      counts_.emplace_back(static_cast<std::size_t>(classes), 0);
    }
  }
  bool HasRoomFor(int position) const {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const int of = limits_[i].classes[static_cast<std::size_t>(position)];
      if (of >= 0 && counts_[i][static_cast<std::size_t>(of)] >= limits_[i].count) return false;
    }
    return true;
  }
  void Add(int position) {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const int of = limits_[i].classes[static_cast<std::size_t>(position)];
      if (of >= 0) ++counts_[i][static_cast<std::size_t>(of)];
    }
  }

 private:
  std::span<const ClassLimit> limits_;
  std::vector<std::vector<int>> counts_;  // by limit and class
};

class List {
 public:
  List(const SelectionRule& rule, const Candidates& arms, const ListRules& rules,
       std::span<std::vector<double>> laws)
      : rule_(rule),
        arms_(arms),
        laws_(laws),
        counts_(rules.limits),
        first_(arms.means.size(), 0.0) {
    for (std::vector<double>& law : laws_) law.clear();
    std::vector<bool> pinned(arms.means.size());
    for (const PinnedArm& pin : rules.pins) {
      pinned[static_cast<std::size_t>(pin.position)] = true;
      counts_.Add(pin.position);
    }
    for (std::size_t i = 0; i < pinned.size(); ++i) {
      if (!pinned[i]) left_.push_back(static_cast<int>(i));
    }
  }

  void Pin(int position) {
    if (std::vector<double>* const law = LawOfNext()) (*law)[position] = 1;
    list_.push_back({.position = position, .first = list_.empty() ? 1.0 : 0.0, .given = 1});
  }

  void Draw(double uniform) {
    std::erase_if(left_, [&](int position) { return !counts_.HasRoomFor(position); });
    if (left_.empty()) return;
    rule_.Law(arms_, left_, law_);
    if (list_.empty()) {
      for (std::size_t i = 0; i < left_.size(); ++i) first_[left_[i]] = law_[i];
    }
    if (std::vector<double>* const law = LawOfNext()) {
      // A sum of parts may be above 1 by rounding.
      for (std::size_t i = 0; i < left_.size(); ++i) (*law)[left_[i]] = std::min(law_[i], 1.0);
    }
    const int drawn = DrawArm(law_, uniform);
    const int position = left_[drawn];
    list_.push_back({.position = position,
                     .first = std::min(first_[position], 1.0),
                     .given = std::min(law_[drawn], 1.0)});
    counts_.Add(position);
    left_.erase(left_.begin() + drawn);
  }

  std::size_t size() const { return list_.size(); }
  std::vector<RankDraw> Take() { return std::move(list_); }

 private:
  // Where the next rank's law is told; null where nobody asks.
  std::vector<double>* LawOfNext() {
    if (list_.size() >= laws_.size()) return nullptr;
    laws_[list_.size()].assign(arms_.means.size(), kArmLeftOut);
    return &laws_[list_.size()];
  }

  const SelectionRule& rule_;
  const Candidates& arms_;
  const std::span<std::vector<double>> laws_;  // by rank
  LimitCounts counts_;
  std::vector<int> left_;      // positions that a rank may still get
  std::vector<double> first_;  // by position: the law of the first rank
  std::vector<double> law_;
  std::vector<RankDraw> list_;
};

}  // namespace

std::vector<RankDraw> DrawList(const SelectionRule& rule, const Candidates& arms,
                               const ListRules& rules, std::span<const double> uniforms,
                               std::span<std::vector<double>> laws) {
  BANDANA_CHECK(!uniforms.empty() && uniforms.size() <= arms.means.size());
  std::vector<PinnedArm> pins = rules.pins;
  std::ranges::sort(pins, {}, &PinnedArm::rank);
  auto pin = pins.begin();
  List list(rule, arms, rules, laws);
  for (std::size_t rank = 0; rank < uniforms.size(); ++rank) {
    if (pin != pins.end() && static_cast<std::size_t>(pin->rank) == rank) {
      list.Pin((pin++)->position);
    } else {
      list.Draw(uniforms[rank]);
    }
  }
  for (; pin != pins.end() && list.size() < uniforms.size(); ++pin) list.Pin(pin->position);
  return list.Take();
}

}  // namespace bandana
