// Decisions that are shown later, or never, of a model whose windows the server closes: by the C
// interface.
#include <bandana.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "tests/support/abi_host.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kWindow = 10 * kSecond;
constexpr int kReports = 3;  // the tables
constexpr int kKept = 7;

class AbiActivateTest : public ::testing::Test {
 protected:
  AbiActivateTest() {
    spec_.mode = Mode::kCentralReward;
    spec_.reward_window->grace = absl::Seconds(20);
    spec_.events_per_user_max = 5;
  }
  void Open(AbiHost::Rows rows = {}, const bandana_mark* seen = nullptr) {
    ASSERT_EQ(host_.Open(std::move(rows), seen), 0) << bandana_error();
    ASSERT_EQ(host_.Connect(spec_.name, 2), 0) << bandana_error();
    host_.Answer(TakeCall("GetModel"), ModelMessage(spec_).SerializeAsString());
    ASSERT_EQ(host_.Result(2).code, 0) << host_.Result(2).message;
  }
  AbiHost::Call TakeCall(const std::string& method) {
    AbiHost::Call call = host_.TakeCall();
    EXPECT_THAT(call.path, EndsWith("/" + method));
    return call;
  }
  // The handle.
  std::string Deferred() {
    const std::uint64_t tag = ++tag_;
    EXPECT_EQ(host_.Select("u", tag, BANDANA_SELECT_DEFERRED), 0) << bandana_error();
    const AbiHost::Call call = TakeCall("Select");
    v1::SelectRequest request;
    EXPECT_TRUE(request.ParseFromString(call.message));
    EXPECT_TRUE(request.deferred());
    v1::SelectResponse response;
    response.add_positions(0);
    for (auto* list : {response.mutable_scores(), response.mutable_means(),
                       response.mutable_widths(), response.mutable_propensities()}) {
      list->Add(0.5);
    }
    response.set_token("a token");
    host_.Answer(call, response.SerializeAsString());
    const AbiHost::Told told = host_.Result(tag);
    EXPECT_EQ(told.code, 0) << told.message;
    return told.handles.empty() ? "" : told.handles[0];
  }
  AbiHost::Told Activate(const std::string& handle) {
    const bandana_bytes bytes = BytesFor(handle);
    const std::uint64_t tag = ++tag_;
    if (const int code = bandana_activate(host_.device, host_.client, &bytes, tag); code != 0) {
      return {.tag = tag, .code = code, .message = bandana_error()};
    }
    return host_.Result(tag);
  }
  std::uint64_t Events() {
    const bandana_bytes user = BytesFor("u");
    EXPECT_EQ(bandana_read_spent(host_.device, host_.client, &user, ++tag_), 0);
    return host_.Result(tag_).spent->events;
  }
  int Rows(int table) const {
    int count = 0;
    for (const auto& [key, row] : host_.rows) count += key.first == table ? 1 : 0;
    return count;
  }
  static std::string Applied() {
    v1::ActivateResponse response;  // as ReportResponse
    response.add_results()->set_code(v1::APPLIED);
    return response.SerializeAsString();
  }

  PublicSpec spec_ = WindowSpec(absl::Nanoseconds(kWindow), 0);
  AbiHost host_;
  std::uint64_t tag_ = 100;
};

TEST_F(AbiActivateTest, NothingCountsBeforeItIsShown) {
  Open();
  const int kept = Rows(kKept);
  const std::string shown = Deferred();
  Deferred();
  host_.Pass(kSecond);
  EXPECT_THAT(host_.calls, IsEmpty());
  EXPECT_EQ(Rows(kReports), 0);
  EXPECT_EQ(Rows(kKept), kept);
  EXPECT_EQ(host_.Report(shown, 1, ++tag_), 0);
  EXPECT_EQ(host_.Result(tag_).code, BANDANA_FAILED_PRECONDITION);
  EXPECT_EQ(Activate(shown).code, 0);
  EXPECT_EQ(Events(), 1);
  EXPECT_EQ(Rows(kReports), 1);
  EXPECT_EQ(Activate(shown).code, 0);  // a repeat
  EXPECT_THAT(host_.calls, SizeIs(1));
  v1::ActivateRequest request;
  ASSERT_TRUE(request.ParseFromString(TakeCall("Activate").message));
  EXPECT_EQ(request.model(), spec_.name);
  ASSERT_EQ(request.tokens_size(), 1);
  EXPECT_EQ(request.tokens(0), "a token");
  EXPECT_EQ(request.policy_hash(), AsChars(spec_.PolicyHash()));
}

TEST_F(AbiActivateTest, TheCallIsDurableBeforeItGoesOutAndKeepsItsBytes) {
  Open();
  const std::string shown = Deferred();
  host_.answers_commits = false;
  EXPECT_EQ(Activate(shown).code, -1);
  EXPECT_THAT(host_.calls, IsEmpty());
  EXPECT_EQ(Rows(kReports), 1);  // in one commit
  EXPECT_EQ(Rows(kKept), 2);     // and the device's time
  host_.answers_commits = true;
  const AbiHost::Rows durable = host_.rows;
  bandana_committed(host_.device, host_.commits.back(), 0);
  EXPECT_EQ(host_.Result(tag_).code, 0);
  const std::string bytes = TakeCall("Activate").message;
  // The process ends before the answer; the next one's call is refused for now, then lost.
  const bandana_mark mark = *host_.mark;
  Open(durable, &mark);
  AbiHost::Call call = TakeCall("Activate");
  EXPECT_EQ(call.message, bytes);
  host_.AnswerWith(call, 503, "");
  EXPECT_THAT(host_.calls, IsEmpty());
  host_.Pass(3 * kSecond);
  call = TakeCall("Activate");
  EXPECT_EQ(call.message, bytes);
  host_.AnswerWith(call, BANDANA_NO_ANSWER, "");
  host_.Pass(3 * kSecond);
  call = TakeCall("Activate");
  EXPECT_EQ(call.message, bytes);
  host_.Answer(call, Applied());
  host_.Pass(3 * kSecond);
  EXPECT_THAT(host_.calls, IsEmpty());
  EXPECT_EQ(Rows(kKept), 1);
  EXPECT_EQ(Events(), 1);
}

TEST_F(AbiActivateTest, AFailedCommitActivatesNothing) {
  Open();
  const std::string shown = Deferred();
  host_.commit_code = 14;
  EXPECT_EQ(Activate(shown).code, BANDANA_UNAVAILABLE);
  EXPECT_THAT(host_.calls, IsEmpty());
  host_.commit_code = 0;
  EXPECT_EQ(Events(), 0);
  EXPECT_EQ(Activate(shown).code, 0);
  EXPECT_THAT(host_.calls, SizeIs(1));
}

TEST_F(AbiActivateTest, TheReportWaitsForTheAnswer) {
  Open();
  const std::string shown = Deferred();
  ASSERT_EQ(Activate(shown).code, 0);
  const AbiHost::Call call = TakeCall("Activate");
  ASSERT_EQ(host_.Report(shown, 1, ++tag_), 0);
  host_.Pass(2 * kWindow);
  EXPECT_THAT(host_.calls, IsEmpty());
  // So it is in the process after this one.
  const bandana_mark mark = *host_.mark;
  Open(host_.rows, &mark);
  const AbiHost::Call again = TakeCall("Activate");
  EXPECT_EQ(again.message, call.message);
  host_.Pass(kSecond);
  EXPECT_THAT(host_.calls, IsEmpty());
  host_.Answer(again, Applied());
  v1::ReportRequest report;
  ASSERT_TRUE(report.ParseFromString(TakeCall("Report").message));
  ASSERT_EQ(report.outcomes_size(), 1);
  EXPECT_EQ(report.outcomes(0).token(), "a token");
  EXPECT_EQ(report.outcomes(0).reward(), 1);
}

// --- All that leaves, with its time, is the same whether the user reacted.

enum class Shows { kInTime, kLate, kAtTheReaction, kLateAtTheReaction };

class AbiActivateTranscriptTest : public AbiActivateTest {
 protected:
  // Without rewards, which the server may see.
  static std::string Shown(const AbiHost::Call& call) {
    if (!call.path.ends_with("/Report")) return call.message;
    v1::ReportRequest request;
    EXPECT_TRUE(request.ParseFromString(call.message));
    for (auto& outcome : *request.mutable_outcomes()) outcome.clear_reward();
    return request.SerializeAsString();
  }
  // One decision, and a minute.
  std::vector<std::string> Visit(Shows shows, bool reacts) {
    host_.Restart();
    Open();
    std::vector<std::string> left;
    const auto pass = [&](std::int64_t nanos) {
      host_.PassAndAnswer(nanos, [&](const AbiHost::Call& call) {
        left.push_back(absl::StrCat(host_.elapsed_ns, " ", call.path, " ", Shown(call)));
        return Applied();
      });
    };
    const std::string handle = Deferred();
    if (shows == Shows::kInTime) Activate(handle);
    pass(kSecond);
    if (reacts) {
      if (shows == Shows::kAtTheReaction || shows == Shows::kLateAtTheReaction) Activate(handle);
      // A reaction to the application's own order is nobody's.
      if (shows == Shows::kInTime || shows == Shows::kAtTheReaction) {
        host_.Report(handle, 1, ++tag_);
      }
    }
    for (int i = 0; i < 60; ++i) pass(kSecond);
    return left;
  }
};

TEST_F(AbiActivateTranscriptTest, AReactionToADecisionThatWasShownChangesNothing) {
  const std::vector<std::string> reacted = Visit(Shows::kInTime, true);
  EXPECT_EQ(reacted, Visit(Shows::kInTime, false));
  EXPECT_THAT(reacted, SizeIs(2));  // Activate and Report
  EXPECT_THAT(Visit(Shows::kLate, true), IsEmpty());
}

TEST_F(AbiActivateTranscriptTest, AHostThatActivatesAtTheReactionIsNoticed) {
  EXPECT_NE(Visit(Shows::kAtTheReaction, true), Visit(Shows::kAtTheReaction, false));
}

TEST_F(AbiActivateTranscriptTest, AHostThatActivatesWhatWasLateIsNoticed) {
  EXPECT_NE(Visit(Shows::kLateAtTheReaction, true), Visit(Shows::kLateAtTheReaction, false));
}

}  // namespace
}  // namespace bandana::testing
