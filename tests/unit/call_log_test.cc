// Names of calls, and which calls have a line.
#include "server/service/transport/call_log.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status_code_enum.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace bandana::server {
namespace {

using namespace std::string_literals;  // NOLINT: strings with zero bytes

constexpr char kId[] = "0af7651916cd43dd8448eb211c80319c";

TEST(CallLog, RequestIdsAreSixteenDigitsAndDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.insert(NewRequestId());
    EXPECT_THAT(*ids.rbegin(), ::testing::MatchesRegex("[0-9a-f]{16}"));
  }
  EXPECT_EQ(ids.size(), 1000);
}

TEST(CallLog, ReadsTraceparent) {
  const std::string id = kId;
  EXPECT_EQ(ParseTraceparent("00-" + id + "-b7ad6b7169203331-01").trace_id, id);
  EXPECT_EQ(ParseTraceparent("01-" + id + "-b7ad6b7169203331-01-more").trace_id, id);
  for (const std::string& bad :
       {""s, "00"s, "00-" + id + "-b7ad6b7169203331-0", "00-" + id + "-b7ad6b7169203331-01-more",
        "00-" + id + "-b7ad6b7169203331-01 ", "ff-" + id + "-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"s,
        "00-00000000000000000000000000000000-b7ad6b7169203331-01"s,
        "00-" + id + "-0000000000000000-01", "00_" + id + "-b7ad6b7169203331-01",
        "00-" + id + "-b7ad6b716920333x-01",
        "00-0af7651916cd43dd8448eb211c8031\n9-b7ad6b7169203331-01"s}) {
    EXPECT_EQ(ParseTraceparent(bad).trace_id, "") << bad;
    EXPECT_FALSE(ParseTraceparent(bad).sampled) << bad;
  }
}

TEST(CallLog, TheLowestBitOfTheFlagsAsksForSpans) {
  const std::string before = absl::StrCat("00-", kId, "-b7ad6b7169203331-");
  EXPECT_EQ(ParseTraceparent(before + "01").parent_id, "b7ad6b7169203331");
  for (const char* const flags : {"01", "03", "ff", "0b"}) {
    EXPECT_TRUE(ParseTraceparent(before + flags).sampled) << flags;
  }
  for (const char* const flags : {"00", "02", "fe", "10"}) {
    EXPECT_FALSE(ParseTraceparent(before + flags).sampled) << flags;
  }
}

TEST(CallLog, HasLinesOfFailedAndSlowCallsOnly) {
  using enum grpc::StatusCode;
  for (const int code : {OK, CANCELLED, UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED}) {
    EXPECT_FALSE(HasLine(code, absl::Milliseconds(999))) << code;
    EXPECT_TRUE(HasLine(code, absl::Seconds(1))) << code;
  }
  for (const int code : {INTERNAL, UNAVAILABLE, DATA_LOSS, UNKNOWN, DEADLINE_EXCEEDED, ABORTED}) {
    EXPECT_EQ(FaultOf(code), Fault::kServer) << code;
    EXPECT_TRUE(HasLine(code, absl::ZeroDuration())) << code;
  }
  for (const int code : {INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, OUT_OF_RANGE}) {
    EXPECT_EQ(FaultOf(code), Fault::kCaller) << code;
    EXPECT_TRUE(HasLine(code, absl::ZeroDuration())) << code;
  }
  EXPECT_EQ(FaultOf(99), Fault::kServer);
}

}  // namespace
}  // namespace bandana::server
