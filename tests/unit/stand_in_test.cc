// The parts of Abseil that the device's core uses, and their stand-in: built over each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(StandInTest, StatusesKeepCodeAndMessage) {
  absl::Status status = DataLoss("row ", 7, " of ", std::string("reports"));
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_EQ(static_cast<int>(status.code()), 15);
  EXPECT_EQ(status.message(), "row 7 of reports");
  EXPECT_EQ(Annotate(status, "store").message(), "store: row 7 of reports");
  EXPECT_EQ(Annotate(status, "store").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status, absl::DataLossError("row 7 of reports"));
  EXPECT_NE(status, absl::DataLossError("row 8 of reports"));
  status.Update(absl::InternalError("later"));
  EXPECT_TRUE(absl::IsDataLoss(status));
  absl::Status fine;
  EXPECT_TRUE(fine.ok());
  EXPECT_EQ(fine, absl::OkStatus());
  EXPECT_EQ(absl::Status(absl::StatusCode::kOk, "no message").message(), "");
  fine.Update(absl::InternalError("first"));
  EXPECT_EQ(fine.message(), "first");
  EXPECT_EQ(static_cast<int>(absl::UnavailableError("").code()), 14);
  EXPECT_EQ(static_cast<int>(absl::InvalidArgumentError("").code()), 3);
  EXPECT_EQ(static_cast<int>(absl::FailedPreconditionError("").code()), 9);
  EXPECT_EQ(static_cast<int>(absl::ResourceExhaustedError("").code()), 8);
  EXPECT_EQ(static_cast<int>(absl::NotFoundError("").code()), 5);
}

absl::StatusOr<std::unique_ptr<int>> Half(int n) {
  if (n % 2 == 1) return InvalidArgument(n, " is odd");
  return std::make_unique<int>(n / 2);
}

absl::StatusOr<int> Quarter(int n) {
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(n));
  BANDANA_ASSIGN_OR_RETURN(const auto quarter, Half(*half));
  return *quarter;
}

TEST(StandInTest, ResultsHaveAValueOrAFailure) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_TRUE(Quarter(12).status().ok());
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(Quarter(6).value_or(9), 9);
  EXPECT_FALSE(absl::StatusOr<int>().ok());
  absl::StatusOr<std::string> text = "text";
  EXPECT_EQ(text->size(), 4);
  text = absl::UnavailableError("gone");
  EXPECT_TRUE(absl::IsUnavailable(text.status()));
  const absl::StatusOr<std::shared_ptr<const int>> shared = std::make_shared<int>(3);
  EXPECT_EQ(**shared, 3);
  absl::StatusOr<std::unique_ptr<const int>> converted = Half(4);
  EXPECT_EQ(**converted, 2);
  converted = Half(3);
  EXPECT_FALSE(converted.ok());
}

TEST(StandInTest, TextsAreJoined) {
  EXPECT_EQ(absl::StrCat(), "");
  EXPECT_EQ(absl::StrCat("a", std::string("b"), ToAbsl(std::string_view("c")), 1, -2L, 3u),
            "abc1-23");
  EXPECT_EQ(absl::StrCat(kMin, " ", kMax, " ", std::uint64_t{1} << 63),
            "-9223372036854775808 9223372036854775807 9223372036854775808");
  EXPECT_EQ(absl::StrCat(0.1, " ", 1e100, " ", 2.0, " ", 1.0 / 3, " ", -0.0),
            "0.1 1e+100 2 0.333333 -0");
  EXPECT_EQ(absl::StrCat(std::size_t{5}, true), "51");
}

TEST(StandInTest, DurationsAndTimes) {
  const absl::Duration day = absl::Hours(24);
  EXPECT_EQ(absl::ToInt64Seconds(day), 86'400);
  EXPECT_EQ(day, absl::Minutes(1440));
  EXPECT_EQ(day / 2, absl::Hours(12));
  EXPECT_EQ(day * 0.5, absl::Hours(12));
  EXPECT_EQ(3 * absl::Milliseconds(2), absl::Microseconds(6'000));
  EXPECT_EQ(absl::Seconds(0.25), absl::Nanoseconds(250'000'000));
  EXPECT_EQ(absl::ToInt64Milliseconds(-absl::Microseconds(1'500)), -1);
  EXPECT_EQ(absl::ToDoubleSeconds(absl::Milliseconds(1'500)), 1.5);
  EXPECT_LT(absl::ZeroDuration(), absl::Nanoseconds(1));
  EXPECT_LT(-absl::InfiniteDuration(), day);
  EXPECT_LT(day, absl::InfiniteDuration());
  EXPECT_EQ(absl::InfiniteDuration() - day, absl::InfiniteDuration());
  EXPECT_EQ(absl::InfiniteDuration() * 2, absl::InfiniteDuration());
  EXPECT_EQ(day - absl::InfiniteDuration(), -absl::InfiniteDuration());

  const absl::Time time = absl::FromUnixMicros(1'700'000'000'123'456);
  EXPECT_EQ(absl::ToUnixMicros(time), 1'700'000'000'123'456);
  EXPECT_EQ(absl::ToUnixSeconds(time), 1'700'000'000);
  EXPECT_EQ(absl::ToUnixMicros(absl::UnixEpoch() - absl::Nanoseconds(1)), -1);  // towards the past
  EXPECT_EQ(absl::ToUnixMicros(time + day) - absl::ToUnixMicros(time), 86'400'000'000);
  EXPECT_EQ(time - absl::UnixEpoch(), absl::Microseconds(1'700'000'000'123'456));
  EXPECT_EQ(absl::ToUnixMicros(absl::InfiniteFuture()), kMax);
  EXPECT_EQ(absl::ToUnixMicros(absl::InfinitePast()), kMin);
  EXPECT_EQ(absl::InfiniteFuture() - absl::Hours(1), absl::InfiniteFuture());
  EXPECT_LT(absl::InfinitePast(), absl::UnixEpoch());
  EXPECT_LT(time, absl::InfiniteFuture());
}

TEST(StandInTest, TextsGrow) {
  std::string text = "a";
  absl::StrAppend(&text, 1, "b", 0.5);
  EXPECT_EQ(text, "a1b0.5");
}

TEST(StandInTest, DurationsHaveText) {
  const std::pair<absl::Duration, const char*> cases[] = {
      {absl::ZeroDuration(), "0"},
      {absl::InfiniteDuration(), "inf"},
      {-absl::InfiniteDuration(), "-inf"},
      {absl::Nanoseconds(7), "7ns"},
      {absl::Nanoseconds(1'500), "1.5us"},
      {absl::Nanoseconds(-1'050'000), "-1.05ms"},
      {absl::Milliseconds(50), "50ms"},
      {absl::Seconds(1), "1s"},
      {absl::Milliseconds(90'250), "1m30.25s"},
      {absl::Hours(168), "168h"},
      {absl::Hours(1) + absl::Nanoseconds(1), "1h0.000000001s"},
      {absl::Hours(2) + absl::Minutes(3) - absl::Seconds(1), "2h2m59s"},
      {absl::Nanoseconds(999'999'999), "999.999999ms"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(absl::FormatDuration(duration), text);
}

}  // namespace
}  // namespace bandana
