// Lines about calls: what is in them, and how many there may be.
#include "server/ops/observation/call_lines.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status_code_enum.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "server/ops/descriptors.h"
#include "server/ops/log_setup.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class CallLinesTest : public ::testing::Test {
 protected:
  CallLinesTest() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)));
    spdlog::set_pattern("%l %v");
  }
  ~CallLinesTest() override { SetUpLog(v1::TEXT); }

  static CallRecord Failed(int code) {
    return {.method = "Select",
            .caller = "app",
            .status_code = code,
            .duration = absl::Microseconds(1250),
            .request_id = "00112233aabbccdd"};
  }
  int Count(const std::string& part) const {
    const std::string text = out_.str();
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

  std::ostringstream out_;
  testing::FakeClock clock_;
  CallLines lines_{clock_};
};

TEST_F(CallLinesTest, ALineHoldsTheseWordsAndNoOthers) {
  CallRecord record = Failed(grpc::StatusCode::INTERNAL);
  EXPECT_EQ(CallLine(record),
            "caller=app method=Select code=INTERNAL ms=1.250 request_id=00112233aabbccdd");
  record.trace_id = "0af7651916cd43dd8448eb211c80319c";
  record.model = "news";
  EXPECT_EQ(CallLine(record),
            "caller=app method=Select model=news code=INTERNAL ms=1.250 "
            "request_id=00112233aabbccdd trace_id=0af7651916cd43dd8448eb211c80319c");
}

TEST_F(CallLinesTest, LevelsTellWhoseFaultItWas) {
  lines_.Write(Failed(grpc::StatusCode::UNAVAILABLE));
  lines_.Write(Failed(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(out_.str(), "");  // until Flush: writing never waits
  lines_.Flush();
  EXPECT_EQ(Count("warning call: caller=app method=Select code=UNAVAILABLE"), 1);
  EXPECT_EQ(Count("info call: caller=app method=Select code=INVALID_ARGUMENT"), 1);
  CallRecord slow = Failed(grpc::StatusCode::OK);
  slow.duration = absl::Seconds(2);
  lines_.Write(slow);
  lines_.Flush();
  EXPECT_EQ(Count("warning call: caller=app method=Select code=OK ms=2000.000"), 1);
}

TEST_F(CallLinesTest, AreBoundedASecondAndCounted) {
  for (int second = 1; second <= 2; ++second) {
    for (int i = 0; i < 1000; ++i) {
      lines_.Write(Failed(grpc::StatusCode::NOT_FOUND));
      if (i % 2 == 0) lines_.Write(Failed(grpc::StatusCode::INTERNAL));
    }
    lines_.Flush();
    EXPECT_EQ(Count("code=NOT_FOUND"), second * kCallerFaultLinesMax);
    EXPECT_EQ(Count("code=INTERNAL"), second * kServerFaultLinesMax);
    EXPECT_EQ(Count("call: 1475 further"), second);
    EXPECT_EQ(lines_.dropped(), second * 1475);
  }
}

TEST_F(CallLinesTest, CallsOfAdminAreWrittenAtOnceAndAllOfThem) {
  CallRecord record = Failed(grpc::StatusCode::OK);
  record.admin = true;
  for (int i = 0; i < 100; ++i) lines_.Write(record);
  EXPECT_EQ(Count("info admin: caller=app"), 100);
}

TEST_F(CallLinesTest, AsJsonTheWordsAreMembers) {
  const std::string path = ::testing::TempDir() + "call_lines_test.log";
  ::testing::internal::CaptureStderr();
  SetUpLog(v1::JSON);
  lines_.Write(Failed(grpc::StatusCode::INTERNAL));
  lines_.Flush();
  spdlog::info("reload: a=b stays text");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr(R"("caller":"app","method":"Select","code":"INTERNAL","ms":"1.250",)"
                              R"("request_id":"00112233aabbccdd"})"));
  EXPECT_THAT(text, Not(HasSubstr(R"("a":"b")")));
}

TEST(Descriptors, ConnectionsTakeWhatModelsLeave) {
  EXPECT_THAT(ConnectionsThatFit(4096, 100, 65'536), testing::IsOkAndHolds(4096));
  EXPECT_THAT(ConnectionsThatFit(4096, 100, 1024), testing::IsOkAndHolds(160));  // 1024 - 864
  EXPECT_THAT(ConnectionsThatFit(4096, 1000, ~0ull), testing::IsOkAndHolds(4096));
  EXPECT_THAT(ConnectionsThatFit(4096, 100, 870),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition, "870 file descriptors"));
  EXPECT_GE(RaiseDescriptorLimit(64), 64);
}

}  // namespace
}  // namespace bandana::server
