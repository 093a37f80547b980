#include "server/ops/playground/attendance.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/ops/playground/playground.h"

namespace bandana::server {

void Attendance::Begin(const std::string& fleet, std::string_view listen) {
  for (PlaygroundVisitors& visitors : VisitorsOf(listen)) {
    auto started = Visitor::Start(fleet, visitors.arguments);
    if (started.ok()) {
      groups_.push_back({.model = std::move(visitors.model), .fleet = *std::move(started)});
    } else {
      spdlog::error("visitors of {}: {}", visitors.model, std::string(started.status().message()));
    }
  }
}

void Attendance::Look() {
  groups_.remove_if([](Group& group) {
    if (!group.fleet.Ended()) return false;
    spdlog::warn("the visitors of {} have ended", group.model);
    return true;
  });
}

void Attendance::End() {
  for (Group& group : groups_) group.fleet.Ask();
  groups_.clear();
}

}  // namespace bandana::server
