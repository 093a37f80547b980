// The C interface under a host that behaves, and under one that does not.
#include <bandana.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/design/wire_messages.h"
#include "tests/support/abi_host.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kWindow = 10 * kSecond;
constexpr int kReports = 3;  // the table
constexpr int kContent = 7;  // its private column

// A device of a model whose rewards are private, with a window.
class AbiTest : public ::testing::Test {
 protected:
  void Open(AbiHost::Rows rows = {}, const bandana_mark* seen = nullptr) {
    ASSERT_EQ(host_.Open(std::move(rows), seen), 0) << bandana_error();
    ASSERT_EQ(host_.Result(1).code, 0) << host_.Result(1).message;
    Connect();
    ASSERT_EQ(host_.Result(2).code, 0) << host_.Result(2).message;
  }
  void Connect() {
    ASSERT_EQ(host_.Connect(spec_.name, 2), 0) << bandana_error();
    const AbiHost::Call call = host_.TakeCall();
    ASSERT_EQ(call.path, "/bandana.v1.Recommender/GetModel");
    EXPECT_TRUE(call.keep_connection);
    host_.Answer(call, ModelMessage(spec_).SerializeAsString());
  }
  // The handle of a decision that the server made.
  std::string Select(std::uint64_t tag = 3) {
    EXPECT_EQ(host_.Select("u", tag), 0) << bandana_error();
    v1::SelectResponse response;
    response.add_positions(0);
    for (auto* list : {response.mutable_scores(), response.mutable_means(),
                       response.mutable_widths(), response.mutable_propensities()}) {
      list->Add(0.5);
    }
    response.set_token("token");
    host_.Answer(host_.TakeCall(), response.SerializeAsString());
    const AbiHost::Told told = host_.Result(tag);
    EXPECT_EQ(told.code, 0) << told.message;
    return told.handles.empty() ? "" : told.handles[0];
  }
  AbiRow ReportRow() {
    for (const auto& [key, row] : host_.rows) {
      if (key.first == kReports) return row;
    }
    return {};
  }
  static void AnswerApplied(AbiHost& host) {
    v1::SubmitResponse response;
    response.add_results()->set_code(v1::APPLIED);
    host.Answer(host.TakeCall(), response.SerializeAsString());
  }

  PublicSpec spec_ = WindowSpec(absl::Nanoseconds(kWindow), 0);
  AbiHost host_;
};

TEST_F(AbiTest, AWindowEndsInOneReportThatTheServerApplies) {
  Open();
  const std::string handle = Select();
  ASSERT_EQ(host_.Report(handle, 1, 4), 0) << bandana_error();
  EXPECT_EQ(host_.Result(4).kind, BANDANA_QUEUED);
  EXPECT_EQ(host_.Result(4).code, 0);
  EXPECT_THAT(host_.calls, IsEmpty());
  ASSERT_GE(host_.wake_ns, host_.elapsed_ns + kWindow);
  host_.Pass(host_.wake_ns - host_.elapsed_ns);
  ASSERT_THAT(host_.calls, SizeIs(1));
  EXPECT_EQ(host_.calls[0].path, "/bandana.v1.Recommender/Submit");
  v1::SubmitRequest request;
  ASSERT_TRUE(request.ParseFromString(host_.calls[0].message));
  ASSERT_EQ(request.reports_size(), 1);
  EXPECT_EQ(request.reports(0).token(), "token");
  AnswerApplied(host_);
  bandana_stats stats = {};
  stats.size = sizeof stats;
  ASSERT_EQ(bandana_get_stats(host_.device, host_.client, &stats), 0);
  EXPECT_EQ(stats.selections, 1);
  EXPECT_EQ(stats.reports_applied, 1);
  const bandana_bytes user = BytesFor("u");
  ASSERT_EQ(bandana_read_spent(host_.device, host_.client, &user, 5), 0);
  ASSERT_TRUE(host_.Result(5).spent);
  EXPECT_EQ(host_.Result(5).spent->events, 1);
}

TEST_F(AbiTest, AReactionChangesThePrivateCellAloneAndSetsNoAlarm) {
  Open();
  const std::string handle = Select();
  const AbiRow before = ReportRow();
  const std::int64_t alarm = host_.wake_ns;
  host_.hooks_called.clear();
  host_.wall_ns += 2 * kWindow;  // the device slept: its alarm is late
  host_.elapsed_ns += 2 * kWindow;
  ASSERT_EQ(host_.Report(handle, 1, 4), 0);
  AbiRow after = ReportRow();
  ASSERT_THAT(after, SizeIs(before.size()));
  EXPECT_EQ(after[kContent].bytes.size(), before[kContent].bytes.size());
  after[kContent] = before[kContent];
  EXPECT_EQ(after, before);
  EXPECT_THAT(host_.hooks_called, Not(Contains("call")));
  EXPECT_THAT(host_.hooks_called, Not(Contains("wake")));
  EXPECT_EQ(host_.wake_ns, alarm);
}

// A connection that outlives its call ends with the process, and tells when that was.
TEST_F(AbiTest, AClientThatLeavesAtStartsKeepsNoConnection) {
  ASSERT_EQ(host_.Open({}), 0) << bandana_error();
  bandana_options options = AbiHost::Options("m");
  options.leave = BANDANA_AT_START;
  ASSERT_EQ(bandana_connect(host_.device, &options, 2), 0) << bandana_error();
  const AbiHost::Call call = host_.TakeCall();
  EXPECT_FALSE(call.keep_connection);
  EXPECT_EQ(call.target, "host");
}

TEST_F(AbiTest, AnotherDeviceGoesOnFromTheRows) {
  Open();
  const std::string handle = Select();
  const AbiHost::Rows rows = host_.rows;
  Open(rows, &*host_.mark);
  EXPECT_EQ(host_.Result(1).value, 0);
  ASSERT_EQ(host_.Report(handle, 1, 4), 0) << bandana_error();
  EXPECT_EQ(host_.Result(4).code, 0) << host_.Result(4).message;
  host_.Pass(2 * kWindow);
  ASSERT_THAT(host_.calls, SizeIs(1));
  EXPECT_EQ(host_.calls[0].path, "/bandana.v1.Recommender/Submit");
}

TEST_F(AbiTest, OlderRowsAreToldAndCharged) {
  Open();
  const AbiHost::Rows older = host_.rows;
  Select();
  const bandana_mark mark = *host_.mark;
  Open(older, &mark);
  EXPECT_EQ(host_.Result(1).value, 1);
  const bandana_bytes user = BytesFor("somebody else");
  ASSERT_EQ(bandana_read_spent(host_.device, host_.client, &user, 5), 0);
  EXPECT_EQ(host_.Result(5).spent->events, 1);
}

TEST_F(AbiTest, RowsOfAnotherStoreThanTheMarkAreRefused) {
  Open();
  const bandana_mark mark = *host_.mark;
  ASSERT_EQ(host_.Open({}, &mark), 0);
  EXPECT_EQ(host_.Result(1).code, BANDANA_DATA_LOSS);
  EXPECT_EQ(host_.Connect(spec_.name, 2), BANDANA_FAILED_PRECONDITION);
}

TEST_F(AbiTest, AStoreThatIsNotDurableIsRefusedForALocalModel) {
  ASSERT_EQ(host_.Open({}, nullptr, /*durable=*/false), 0);
  Connect();
  EXPECT_EQ(host_.Result(2).code, BANDANA_FAILED_PRECONDITION);
  EXPECT_THAT(host_.Result(2).message, HasSubstr("durable"));
}

TEST_F(AbiTest, ASelectionIsToldWhenItsCommitIsAnswered) {
  Open();
  host_.answers_commits = false;
  ASSERT_EQ(host_.Select("u", 3), 0);
  v1::SelectResponse response;
  response.add_positions(0);
  for (auto* list : {response.mutable_scores(), response.mutable_means(), response.mutable_widths(),
                     response.mutable_propensities()}) {
    list->Add(0.5);
  }
  response.set_token("token");
  host_.Answer(host_.TakeCall(), response.SerializeAsString());
  EXPECT_EQ(host_.Result(3).code, -1);
  host_.hooks_called.clear();
  const std::uint64_t commit = host_.commits.back();
  EXPECT_EQ(bandana_committed(host_.device, commit + 1, 0), BANDANA_INVALID_ARGUMENT);
  EXPECT_EQ(host_.Result(3).code, -1);
  EXPECT_EQ(bandana_committed(host_.device, commit, 0), 0);
  EXPECT_EQ(host_.Result(3).code, 0);
  // The mark is kept before anybody hears of the commit.
  EXPECT_EQ(host_.hooks_called[0], "mark");
  EXPECT_EQ(bandana_committed(host_.device, commit, 14), 0);  // said twice: passed over
  EXPECT_EQ(host_.Result(3).code, 0);
}

TEST_F(AbiTest, AFailedCommitIsNoDecision) {
  Open();
  const AbiHost::Rows before = host_.rows;
  host_.commit_code = BANDANA_UNAVAILABLE;
  ASSERT_EQ(host_.Select("u", 3), 0);
  v1::SelectResponse response;
  response.add_positions(0);
  for (auto* list : {response.mutable_scores(), response.mutable_means(), response.mutable_widths(),
                     response.mutable_propensities()}) {
    list->Add(0.5);
  }
  response.set_token("token");
  host_.Answer(host_.TakeCall(), response.SerializeAsString());
  EXPECT_EQ(host_.Result(3).code, BANDANA_UNAVAILABLE);
  EXPECT_EQ(host_.rows, before);
  host_.commit_code = 0;
  host_.Pass(3 * kWindow);
  EXPECT_THAT(host_.calls, IsEmpty());
  Select(4);
}

TEST_F(AbiTest, NothingIsSentWhenEntropyFails) {
  Open();
  Select();
  host_.entropy_fails = true;
  host_.Pass(2 * kWindow);
  EXPECT_THAT(host_.calls, IsEmpty());
  EXPECT_EQ(host_.code_inside_random, BANDANA_FAILED_PRECONDITION);  // the hook called back
}

TEST_F(AbiTest, AHookMayFreeTheDevice) {
  Open();
  host_.free_in_commit = true;
  ASSERT_EQ(host_.Select("u", 3), 0);
  v1::SelectResponse response;
  response.set_token("token");
  response.add_positions(0);
  for (auto* list : {response.mutable_scores(), response.mutable_means(), response.mutable_widths(),
                     response.mutable_propensities()}) {
    list->Add(0.5);
  }
  EXPECT_EQ(host_.Answer(host_.TakeCall(), response.SerializeAsString()), 0);
  EXPECT_EQ(host_.Result(3).code, -1);
  EXPECT_EQ(bandana_wake(host_.device), BANDANA_INVALID_ARGUMENT);
}

TEST_F(AbiTest, AnswersToUnknownCallsAndSecondAnswersArePassedOver) {
  Open();
  ASSERT_EQ(host_.Select("u", 3), 0);
  const AbiHost::Call call = host_.TakeCall();
  AbiHost::Call unknown = call;
  unknown.id += 1000;
  EXPECT_EQ(host_.Answer(unknown, "x"), 0);
  EXPECT_EQ(host_.Result(3).code, -1);
  EXPECT_EQ(
      host_.AnswerWith(call, 200, WebBody("", "grpc-status: 5\r\ngrpc-message: no%20arm\r\n")), 0);
  EXPECT_EQ(host_.Result(3).code, BANDANA_NOT_FOUND);
  EXPECT_EQ(host_.Result(3).message, "no arm");
  EXPECT_EQ(host_.Answer(call, "x"), 0);
  EXPECT_EQ(host_.Result(3).code, BANDANA_NOT_FOUND);
}

TEST_F(AbiTest, ARequestSaysWhatGrpcWebNeeds) {
  Open();
  ASSERT_EQ(host_.Select("u", 3), 0);
  const AbiHost::Call call = host_.TakeCall();
  EXPECT_EQ(call.path, "/bandana.v1.Recommender/Select");
  EXPECT_EQ(call.deadline_ms, 1000);
  EXPECT_THAT(call.headers, ElementsAre(Pair("content-type", "application/grpc-web+proto"),
                                        Pair("x-grpc-web", "1"), Pair("grpc-timeout", "1000m")));
}

TEST_F(AbiTest, AnswersThatAreNoGrpcWebFail) {
  Open();
  const struct {
    int http_status;
    std::string body;
    std::vector<bandana_header> headers;
    int code;
  } cases[] = {
      {200, "", {}, BANDANA_INTERNAL},
      {200, std::string("\0\0\0\0\x09x", 6), {}, BANDANA_INTERNAL},
      {200, WebBody("a") + "x", {}, BANDANA_INTERNAL},
      {200, WebBody("a", "grpc-message: x\r\n"), {}, BANDANA_INTERNAL},
      {200, WebBody("a", "grpc-status: many\r\n"), {}, BANDANA_UNKNOWN},
      {200, WebBody("a", "grpc-status: 99\r\n"), {}, BANDANA_UNKNOWN},
      {200, "", {{"GRPC-Status", "5"}, {"grpc-message", "no"}}, BANDANA_NOT_FOUND},
      {500, "", {{"grpc-status", "00"}}, BANDANA_UNKNOWN},
      {401, "", {}, BANDANA_UNAUTHENTICATED},
      {404, "<html>", {}, BANDANA_UNIMPLEMENTED},
      {500, WebBody("a"), {}, BANDANA_UNKNOWN},
  };
  std::uint64_t tag = 10;
  for (const auto& one : cases) {
    ASSERT_EQ(host_.Select("u", ++tag), 0);
    ASSERT_EQ(host_.AnswerWith(host_.TakeCall(), one.http_status, one.body, one.headers), 0);
    EXPECT_EQ(host_.Result(tag).code, one.code)
        << one.http_status << ": " << host_.Result(tag).message;
  }
}

// --- Bad use: each has a code, and a text that names the field.

TEST(AbiMisuseTest, HooksAreChecked) {
  AbiHost host;
  bandana_device device = 7;
  EXPECT_EQ(bandana_device_new(nullptr, &device), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("hooks must not be null"));
  EXPECT_EQ(device, 0);
  bandana_hooks hooks = host.Hooks();
  EXPECT_EQ(bandana_device_new(&hooks, nullptr), BANDANA_INVALID_ARGUMENT);
  hooks.size -= 8;
  EXPECT_EQ(bandana_device_new(&hooks, &device), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("hooks.size must be "));
  hooks = host.Hooks();
  hooks.commit = nullptr;
  EXPECT_EQ(bandana_device_new(&hooks, &device), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("hooks.commit must not be null"));
}

TEST(AbiMisuseTest, FreedAndForeignDevicesAreRefused) {
  AbiHost host;
  const bandana_hooks hooks = host.Hooks();
  bandana_device device = 0;
  ASSERT_EQ(bandana_device_new(&hooks, &device), 0);
  EXPECT_EQ(bandana_device_free(device), 0);
  for (const bandana_device gone : {device, bandana_device{0}, bandana_device{0xfffffff0}}) {
    EXPECT_EQ(bandana_device_free(gone), BANDANA_INVALID_ARGUMENT);
    EXPECT_EQ(bandana_wake(gone), BANDANA_INVALID_ARGUMENT);
    EXPECT_EQ(bandana_committed(gone, 1, 0), BANDANA_INVALID_ARGUMENT);
    EXPECT_EQ(bandana_load(gone, 0, nullptr, 0), BANDANA_INVALID_ARGUMENT);
    EXPECT_THAT(bandana_error(), HasSubstr("does not live"));
  }
}

TEST(AbiMisuseTest, RowsAreChecked) {
  AbiHost host;
  const bandana_hooks hooks = host.Hooks();
  bandana_device device = 0;
  ASSERT_EQ(bandana_device_new(&hooks, &device), 0);
  std::vector<bandana_cell> cells(2);  // of `drawn`
  const auto load = [&](int table) {
    return bandana_load(device, table, cells.data(), cells.size());
  };
  EXPECT_EQ(load(-1), BANDANA_INVALID_ARGUMENT);
  EXPECT_EQ(load(8), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("table must be in [0, 8), got 8"));
  EXPECT_EQ(load(kReports), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("count must be 8 in table reports, got 2"));
  constexpr int kDrawn = 6;
  EXPECT_EQ(load(kDrawn), 0) << bandana_error();
  EXPECT_EQ(load(kDrawn), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), HasSubstr("has a row of this key already"));
  cells[1].kind = 9;
  EXPECT_EQ(load(kDrawn), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("cells[1].kind must be 0 in table drawn, got 9"));
  EXPECT_EQ(bandana_connect(device, nullptr, 1), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("options must not be null"));
  const bandana_options options = AbiHost::Options("m");
  EXPECT_EQ(bandana_connect(device, &options, 1), BANDANA_FAILED_PRECONDITION);
  // Rows without the store's own are not a store.
  bandana_start_of start = {};
  start.size = sizeof start;
  EXPECT_EQ(bandana_start(device, &start, 1), BANDANA_DATA_LOSS);
  EXPECT_EQ(bandana_device_free(device), 0);
}

TEST_F(AbiTest, ArgumentsAreChecked) {
  Open();
  const double features[] = {1, 0};
  bandana_arms arms = {};
  arms.size = sizeof arms;
  arms.features = features;
  arms.features_count = 2;
  bandana_request request = {};
  request.size = sizeof request;
  request.top_k = 1;
  request.user = BytesFor("u");
  request.arms = &arms;
  const auto error = [&] {
    EXPECT_EQ(bandana_select(host_.device, host_.client, &request, 9), BANDANA_INVALID_ARGUMENT);
    return std::string(bandana_error());
  };
  request.by = 5;
  EXPECT_THAT(error(), StartsWith("request.by must be in [0, 4], got 5"));
  request.by = 0;
  request.user = {"u", std::size_t{1} << 31};
  EXPECT_THAT(error(), StartsWith("request.user.size must be below 2^31"));
  request.user = {nullptr, 1};
  EXPECT_THAT(error(), StartsWith("request.user.data must not be null"));
  request.user = BytesFor("u");
  request.size = 1;
  EXPECT_THAT(error(), StartsWith("request.size must be "));
  request.size = sizeof request;
  request.arms = nullptr;
  EXPECT_THAT(error(), StartsWith("arms must not be null"));
  request.arms = &arms;
  arms.form = 5;
  EXPECT_THAT(error(), StartsWith("arms.form must be in [0, 4], got 5"));
  arms.form = BANDANA_INLINE;
  arms.features_count = std::size_t{1} << 40;
  EXPECT_THAT(error(), StartsWith("arms.features must have less than 2^31 bytes"));
  arms.features_count = 2;
  arms.tags_any_count = 1;
  EXPECT_THAT(error(), StartsWith("arms.tags_any must not be null"));
  arms.tags_any_count = 0;
  bandana_value value = {};
  value.kind = 5;
  arms.context = &value;
  arms.context_count = 1;
  EXPECT_THAT(error(), StartsWith("arms.context[0].kind must be in [0, 4], got 5"));
  arms.context = nullptr;
  arms.context_count = 0;
  bandana_rules rules = {};
  arms.rules = &rules;
  EXPECT_THAT(error(), StartsWith("rules.size must be "));
  rules.size = sizeof rules;
  rules.boosts_count = 1;
  EXPECT_THAT(error(), StartsWith("rules.boosts must not be null"));
  EXPECT_EQ(bandana_begin(host_.device, host_.client + 1), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), HasSubstr("is not connected"));
  bandana_options options = AbiHost::Options("m");
  options.leave = 2;
  EXPECT_EQ(bandana_connect(host_.device, &options, 9), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("options.leave must be in [0, 1], got 2"));
  options = AbiHost::Options("m");
  options.epsilon_max = std::nan("");
  EXPECT_EQ(bandana_connect(host_.device, &options, 9), BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(bandana_error(), StartsWith("options.policy.epsilon_max must be >= 0"));
  EXPECT_THAT(host_.calls, IsEmpty());
}

TEST_F(AbiTest, ForeignHandlesAreRefused) {
  Open();
  ASSERT_EQ(host_.Report("not a handle", 1, 9), 0);
  EXPECT_EQ(host_.Result(9).code, BANDANA_INVALID_ARGUMENT);
  const std::string handle = Select();
  Open();  // another store
  ASSERT_EQ(host_.Report(handle, 1, 9), 0);
  EXPECT_EQ(host_.Result(9).code, BANDANA_INVALID_ARGUMENT);
  EXPECT_THAT(host_.Result(9).message, HasSubstr("another device store"));
}

TEST_F(AbiTest, AClosedClientIsGone) {
  Open();
  EXPECT_EQ(bandana_close(host_.device, host_.client), 0);
  EXPECT_EQ(bandana_close(host_.device, host_.client), BANDANA_INVALID_ARGUMENT);
  EXPECT_EQ(host_.Select("u", 3), BANDANA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace bandana::testing
