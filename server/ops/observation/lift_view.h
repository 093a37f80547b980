// The lift of a model as metrics and status page show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"

namespace bandana::server {

struct LiftValueView {
  std::string against;  // "", "uniform" or "first"
  std::optional<double> value, low, high;
};

struct LiftPointView {
  absl::Time time;
  std::vector<LiftValueView> values;
};

// As v1::LiftStats.
struct LiftView {
  std::string none;
  std::uint64_t decisions = 0;
  std::uint64_t first = 0;
  std::uint64_t waiting = 0;
  std::uint64_t left_out = 0;
  std::optional<std::uint64_t> needed;
  std::vector<LiftValueView> values;
  std::vector<LiftPointView> points;
};

LiftView LiftViewOf(const v1::LiftStats& stats);

}  // namespace bandana::server
