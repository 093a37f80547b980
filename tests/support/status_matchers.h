// gmock matchers for absl::Status and absl::StatusOr.
//   EXPECT_THAT(Parse(x), IsOk());
//   EXPECT_THAT(Parse(x), StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be"));
//   EXPECT_THAT(Parse(x), IsOkAndHolds(Gt(3)));
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana::testing {

// Names that many tests use. A test stands in this namespace, or in the namespace of its unit and
// uses this one.
using Code = absl::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::Pointwise;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// OK, and for StatusOr holding a value.
MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << "whose status is " << StatusOf(arg);
  return StatusOf(arg).ok();
}

// The code, and a message for which `message_matcher` (a gmock matcher) holds.
MATCHER_P2(StatusMatches, code, message_matcher,
           "has status " + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message_matcher)) {
  *result_listener << "whose status is " << StatusOf(arg);
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(StatusOf(arg).message()),
                                       result_listener);
}

// The code alone, or the code and a part of the message.
inline auto StatusIs(absl::StatusCode code) {
  return StatusMatches(code, ::testing::Matcher<std::string>(::testing::_));
}
inline auto StatusIs(absl::StatusCode code, const std::string& message_part) {
  return StatusMatches(code, ::testing::Matcher<std::string>(::testing::HasSubstr(message_part)));
}

// A StatusOr whose value matches.
MATCHER_P(IsOkAndHolds, value_matcher, "is OK and holds a value that matches") {
  if (!arg.ok()) {
    *result_listener << "whose status is " << arg.status();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace bandana::testing
