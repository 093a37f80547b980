// Why a line of a decision log is not used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bandana {

// Keys under which lines that are not used are counted.
namespace skip_reason {
inline constexpr std::string_view kCutLine = "cut_line";          // the log is being written
inline constexpr std::string_view kMalformed = "malformed";       // not a line of this format
inline constexpr std::string_view kPropensity = "propensity";     // impossible p
inline constexpr std::string_view kReward = "reward";             // out of its range
inline constexpr std::string_view kSlotMissing = "slot_missing";  // a list without one of its lines
inline constexpr std::string_view kDuplicate = "duplicate";
inline constexpr std::string_view kPending = "pending";  // its window is open
inline constexpr std::string_view kUnreported = "unreported";
inline constexpr std::string_view kSingleArm = "single_arm";  // says nothing of any policy
inline constexpr std::string_view kSkipLearn = "skip_learn";  // DSJSON: not to be learnt from
inline constexpr std::string_view kSampled =
    "sampled";  // DSJSON: stands for others, left out by chance
}  // namespace skip_reason

struct DecisionFault {
  std::uint64_t line = 0;   // the first one, from 1
  std::uint64_t lines = 1;  // that are not used
  std::string_view reason;  // of skip_reason
  std::string message;      // "line 7: p: must add up to 1, got 0.9"
  bool operator==(const DecisionFault&) const = default;
};

}  // namespace bandana
