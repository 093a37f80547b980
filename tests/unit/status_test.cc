#include "common/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using absl::StatusCode;

absl::Status FailIf(bool fail, int& calls) {
  ++calls;
  return fail ? InvalidArgument("call ", calls) : absl::OkStatus();
}

absl::Status Twice(bool first, bool second, int& calls) {
  BANDANA_RETURN_IF_ERROR(FailIf(first, calls));
  BANDANA_RETURN_IF_ERROR(FailIf(second, calls));
  return absl::OkStatus();
}

TEST(Status, ReturnIfErrorStopsAtTheFirstErrorAndEvaluatesOnce) {
  int calls = 0;
  EXPECT_THAT(Twice(false, false, calls), IsOk());
  EXPECT_EQ(calls, 2);
  calls = 0;
  EXPECT_THAT(Twice(true, false, calls), StatusIs(StatusCode::kInvalidArgument, "call 1"));
  EXPECT_EQ(calls, 1);
  calls = 0;
  EXPECT_THAT(Twice(false, true, calls), StatusIs(StatusCode::kInvalidArgument, "call 2"));
}

absl::StatusOr<std::unique_ptr<int>> Boxed(int value) {
  if (value < 0) return NotFound("no ", value);
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<int> x, Boxed(a));
  std::unique_ptr<int> y;
  BANDANA_ASSIGN_OR_RETURN(y, Boxed(b));
  return *x + *y;
}

TEST(Status, AssignOrReturnMovesValuesAndPassesErrors) {
  EXPECT_THAT(Sum(1, 2), IsOkAndHolds(3));
  EXPECT_THAT(Sum(-1, 2), StatusIs(StatusCode::kNotFound, "no -1"));
  EXPECT_THAT(Sum(1, -2), StatusIs(StatusCode::kNotFound, "no -2"));
}

TEST(Status, BuildersSetTheirCode) {
  EXPECT_THAT(InvalidArgument("n = ", 3), StatusIs(StatusCode::kInvalidArgument, "n = 3"));
  EXPECT_THAT(FailedPrecondition("x"), StatusIs(StatusCode::kFailedPrecondition, "x"));
  EXPECT_THAT(NotFound("x"), StatusIs(StatusCode::kNotFound, "x"));
  EXPECT_THAT(DataLoss("x"), StatusIs(StatusCode::kDataLoss, "x"));
  EXPECT_THAT(Unavailable("x"), StatusIs(StatusCode::kUnavailable, "x"));
  EXPECT_THAT(Internal("x"), StatusIs(StatusCode::kInternal, "x"));
}

TEST(Status, AnnotateKeepsTheCode) {
  EXPECT_THAT(Annotate(absl::OkStatus(), "model a"), IsOk());
  EXPECT_EQ(Annotate(DataLoss("bad checksum"), "model a").ToString(),
            DataLoss("model a: bad checksum").ToString());
}

TEST(Status, AnnotateKeepsWhatTheStatusCarries) {
  absl::Status status = DataLoss("bad checksum");
  status.SetPayload("one", absl::Cord("first"));
  status.SetPayload("other", absl::Cord());
  const absl::Status annotated = Annotate(status, "model a");
  EXPECT_EQ(annotated.message(), "model a: bad checksum");
  EXPECT_EQ(annotated.GetPayload("one"), absl::Cord("first"));
  EXPECT_EQ(annotated.GetPayload("other"), absl::Cord());
  EXPECT_FALSE(annotated.GetPayload("none").has_value());
}

TEST(Status, StringViewsConvertBothWays) {
  const std::string_view text("a\0b", 3);
  EXPECT_EQ(ToStd(ToAbsl(text)), text);
}

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  const int two = 2;
  BANDANA_CHECK(two == 2);
  EXPECT_DEATH(BANDANA_CHECK(two == 3), "status_test.cc:[0-9]+: check failed: two == 3");
}

}  // namespace
}  // namespace bandana::testing
