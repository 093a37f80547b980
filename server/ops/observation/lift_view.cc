#include "server/ops/observation/lift_view.h"

namespace bandana::server {
namespace {

std::vector<LiftValueView> ValuesOf(const auto& values) {
  std::vector<LiftValueView> out;
  for (const v1::LiftValue& value : values) {
    LiftValueView& view = out.emplace_back(LiftValueView{.against = value.against()});
    if (value.has_value()) view.value = value.value();
    if (value.has_low()) view.low = value.low();
    if (value.has_high()) view.high = value.high();
  }
  return out;
}

}  // namespace

LiftView LiftViewOf(const v1::LiftStats& stats) {
  LiftView view{.none = stats.none(),
                .decisions = stats.decisions(),
                .first = stats.first_decisions(),
                .waiting = stats.waiting(),
                .left_out = stats.left_out(),
                .values = ValuesOf(stats.values())};
  if (stats.has_decisions_needed()) view.needed = stats.decisions_needed();
  for (const v1::LiftPoint& point : stats.points()) {
    view.points.push_back({.time = absl::FromUnixSeconds(point.time().seconds()) +
                                   absl::Nanoseconds(point.time().nanos()),
                           .values = ValuesOf(point.values())});
  }
  return view;
}

}  // namespace bandana::server
