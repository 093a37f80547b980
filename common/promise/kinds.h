// Modes, mechanisms and reasons of refusals by their numbers on the wire (proto/bandana/v1), and
// their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/mechanisms/counters/counter_kind.h"

namespace bandana {

// A number that this version does not know has no name, and is no kind of any table.
enum class Mode : std::int32_t {
  kUnspecified = 0,
  kNonPrivate = 1,
  kLocalReward = 2,
  kCentralReward = 3,
  kJoint = 4,
  kLocalContext = 5,
};

enum class MechanismId : std::int32_t {
  kUnspecified = 0,
  kAuto = 1,
  kRewardRandomizer = 2,
  kCounter = 3,
  kCentredRandomizer = 4,
  kShapedCounter = 5,
  kPooledCounter = 6,
  kPrivUnit = 7,
  kJointGaussian = 8,
  kSparseRelease = 9,
};

// Why a report is refused: the reasons that a mechanism finds or a device tells apart.
enum class RejectReason : std::int32_t {
  kTokenInvalid = 1,
  kTokenForeign = 2,
  kShownOutOfRange = 5,
  kOutputOutOfRange = 6,
  kUserLimit = 7,
  kPolicyMismatch = 8,
  kStreamGap = 9,
  kStreamForked = 10,
  kStreamExhausted = 11,
};

// As in a configuration: "LOCAL_REWARD". "" where there is none.
std::string ModeName(Mode mode);
std::string MechanismName(MechanismId id);

// Counters that are served. Nothing for another number; 0 and "" for a kind that is not served.
std::optional<CounterKind> CounterKindOf(std::int32_t number);
std::int32_t NumberOf(CounterKind kind);
std::string ServedName(CounterKind kind);  // "BLT"

}  // namespace bandana
