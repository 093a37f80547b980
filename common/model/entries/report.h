// Reports as a server hands them to their model, and the model's answers, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/decision.h"

namespace bandana {

// One outcome: the token is open, its model and instance match.
struct ReportedOutcome {
  Decision decision;
  std::uint32_t shown = 0;
  std::optional<double> reward;         // Report: raw; missing allowed
  std::optional<std::uint32_t> output;  // Submit: index into the randomizer's grid
  bool whole_range = false;             // Submit, CENTRED_RANDOMIZER: not in the arm's window
};

// One report of a device's counter stream, its tokens opened.
struct ReportedCounter {
  std::array<std::byte, 16> stream{};
  std::uint64_t step = 0;      // at least the number of decisions
  std::vector<double> moment;  // d
  // The decisions of the steps step - n + 1 .. step; nullopt: the token does not open. At least
  // one.
  std::vector<std::optional<Decision>> decisions;
  std::vector<std::uint32_t> shown;  // one per decision
};

// One context report, of the shape that the model's mechanism has. Nothing in it names a user or a
// decision.
struct ReportedContext {
  std::array<std::byte, 16> id{};
  std::uint64_t epoch = 0;
  std::string seed;                  // PRIVUNIT: 16 bytes, else empty
  std::vector<std::int64_t> values;  // JOINT_GAUSSIAN: d (d + 1) / 2 + d, else empty
};

// The answer to one report.
struct ReportResult {
  v1::OutcomeCode code = v1::OUTCOME_CODE_UNSPECIFIED;
  v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED;
  std::uint64_t acknowledged_step = 0;  // counter streams: newest step that is durable
};

}  // namespace bandana
