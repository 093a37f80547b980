// Spans: their form, the queue, and the way to a collector.
#include "server/ops/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "server/ops/span_sender.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using namespace server;

CallRecord Traced(std::string_view method = "Select") {
  return {.method = method,
          .caller = "app \"one\"",
          .duration = absl::Milliseconds(3),
          .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
          .parent_id = "00f067aa0ba902b7"};
}

TEST(OtlpJson, HasTheRecordAndNothingElse) {
  const absl::Time end = absl::FromUnixSeconds(1'700'000'000);
  CallRecord failed = Traced("Report");
  failed.status_code = 13;  // INTERNAL
  failed.request_id = "0123456789abcdef";
  const CallSpan spans[] = {{Traced(), "1111111111111111", end}, {failed, "2222222222222222", end}};
  const nlohmann::json body = nlohmann::json::parse(OtlpJson(spans));
  const nlohmann::json& resource = body.at("resourceSpans").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"),
            "bandana-server");
  const nlohmann::json& list = resource.at("scopeSpans").at(0).at("spans");
  ASSERT_EQ(list.size(), 2);
  const nlohmann::json first = {
      {"traceId", "4bf92f3577b34da6a3ce929d0e0e4736"},
      {"spanId", "1111111111111111"},
      {"parentSpanId", "00f067aa0ba902b7"},
      {"name", "bandana.v1.Recommender/Select"},
      {"kind", 2},
      {"startTimeUnixNano", "1699999999997000000"},
      {"endTimeUnixNano", "1700000000000000000"},
      {"attributes",
       {{{"key", "rpc.service"}, {"value", {{"stringValue", "bandana.v1.Recommender"}}}},
        {{"key", "rpc.method"}, {"value", {{"stringValue", "Select"}}}},
        {{"key", "rpc.grpc.status_code"}, {"value", {{"intValue", "0"}}}},
        {{"key", "bandana.caller"}, {"value", {{"stringValue", "app \"one\""}}}}}},
      {"status", nlohmann::json::object()}};
  EXPECT_EQ(list[0], first);
  EXPECT_EQ(list[1].at("status").at("code"), 2);
  EXPECT_EQ(list[1].at("attributes").back().at("value").at("stringValue"), "0123456789abcdef");
}

TEST(SpanQueue, DropsAndCountsWhatHasNoPlace) {
  FakeClock clock;
  SpanQueue queue(clock);
  for (std::size_t i = 0; i < SpanQueue::kSpansMax + 3; ++i) queue.Write(Traced());
  EXPECT_EQ(queue.figures().dropped, 3);
  EXPECT_EQ(queue.Take(10).size(), 10);
  queue.Write(Traced());
  EXPECT_EQ(queue.figures().dropped, 3);
  EXPECT_EQ(queue.Take(SpanQueue::kSpansMax).size(), SpanQueue::kSpansMax - 9);
  EXPECT_TRUE(queue.Take(1).empty());
}

TEST(ParseCollector, IsOnThisMachine) {
  const auto plain = ParseCollector("http://127.0.0.1:4318");
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->path, "/v1/traces");
  EXPECT_EQ(plain->address.port, 4318);
  EXPECT_EQ(ParseCollector("http://[::1]:4318/")->path, "/v1/traces");
  EXPECT_EQ(ParseCollector("http://localhost:1/v1/other")->path, "/v1/other");
  for (const char* const bad :
       {"", "127.0.0.1:4318", "https://127.0.0.1:4318", "http://127.0.0.1", "http://127.0.0.1:0",
        "http://192.0.2.1:4318", "http://collector:4318", "http://127.0.0.1:1/a b",
        "http://127.0.0.1:1/\r\nX: y", "http://127.0.0.1.example:1"}) {
    EXPECT_THAT(ParseCollector(bad), StatusIs(Code::kInvalidArgument, "must be http://HOST:PORT"))
        << bad;
  }
}

TEST(PostSpans, ACollectorThatIsDownIsUnavailable) {
  // Nobody listens on port 1 of loopback.
  EXPECT_THAT(PostSpans({.address = {.host = "127.0.0.1", .port = 1}}, "{}"),
              StatusIs(Code::kUnavailable, "no answer"));
}

}  // namespace
}  // namespace bandana::testing
