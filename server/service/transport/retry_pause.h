// Tells a refused caller when to come again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace bandana::server {

// Trailing metadata of gRPC, and a header of HTTP: whole milliseconds; -1: never.
inline constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
// About the time in which a full server clears what it has admitted.
inline constexpr absl::Duration kOverloadPause = absl::Milliseconds(50);
// A call that cannot succeed.
inline constexpr absl::Duration kNeverAgain = absl::InfiniteDuration();

// Rounded up, at least 1. Requires that it is finite.
inline std::int64_t PushbackMillis(absl::Duration pause) {
  return std::max<std::int64_t>(
      1, absl::ToInt64Milliseconds(absl::Ceil(pause, absl::Milliseconds(1))));
}
// The value of kPushbackKey.
inline std::string PushbackText(absl::Duration pause) {
  return pause == kNeverAgain ? "-1" : absl::StrCat(PushbackMillis(pause));
}

}  // namespace bandana::server
