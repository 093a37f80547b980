#include "common/judging/lift_forecast.h"

#include <algorithm>
#include <utility>

#include "common/judging/anytime_bound.h"
#include "common/judging/judged_unit.h"
#include "common/judging/mixture.h"

namespace bandana {
namespace {

constexpr double kDecisionsMost = 1e12;
constexpr double kPrecision = 0.01;

// One decision, as a judge would see it.
struct Example {
  LoggedDecision decision;
  JudgedUnit unit;
  UnitLaws logging, uniform;
  PairUnit pair;

  Example(std::span<const double> law, std::span<const double> mean01) {
    LoggedSlot& slot = decision.slots.emplace_back();
    slot.offered = static_cast<std::uint32_t>(law.size());
    slot.p.assign(law.begin(), law.end());
    slot.chosen_p = law[0];
    JudgedSlot& judged = unit.slots.emplace_back();
    judged.view.decision = &decision;
    judged.whole = true;
    judged.q01.assign(mean01.begin(), mean01.end());
    unit.count = 1;
    logging = {.defined = true, .slots = {{.law = slot.p, .chance = law[0]}}};
    const double chance = 1 / static_cast<double>(law.size());
    uniform = {.defined = true,
               .slots = {{.law = std::vector<double>(law.size(), chance), .chance = chance}}};
    pair.Set(unit, logging, &uniform, ListWeights::kPrefix);
  }
};

}  // namespace

std::optional<double> LeastDecisions(double from, absl::FunctionRef<bool(double)> enough) {
  if (enough(from)) return from;
  double low = from;
  double high = 2 * from;
  while (!enough(high)) {
    if (high > kDecisionsMost) return std::nullopt;
    low = std::exchange(high, 2 * high);
  }
  while (high - low > kPrecision * high) {
    const double middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<double> DecisionsToSee(std::span<const double> law, std::span<const double> mean01,
                                     double sought01, double planned, double log_threshold) {
  const Example example(law, mean01);
  struct Side {
    AnytimeBound bound;
    double square = 0;
  };
  Side sides[2];
  for (const bool upper : {false, true}) {
    BoundDesign design;
    design.CountDecision();
    const auto square = [&](double k) { return example.pair.DesignSquare(upper, k, true, 0); };
    for (std::size_t cut = 0; cut < BoundDesign::kCuts.size(); ++cut) {
      design.Add(cut, square(BoundDesign::kCuts[cut]));
    }
    Side& side = sides[upper ? 1 : 0];
    side.bound = design.Choose(planned, log_threshold);
    side.square = square(side.bound.k());
  }
  return LeastDecisions(1, [&](double decisions) {
    return std::ranges::all_of(sides, [&](const Side& side) {
      const double k = side.bound.k() + 1;
      const double squares = side.square * decisions / (k * k);
      return GammaExponentialRoot(log_threshold, squares, side.bound.r()) * k / decisions <=
             sought01;
    });
  });
}

}  // namespace bandana
