// A decision that a backend fetched, handed to a device by the C interface.
#include <bandana.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/sha256.h"
#include "tests/support/abi_host.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kWindow = 10 * kSecond;
constexpr int kKept = 7;  // the table

// An answer with all that it points to.
struct Answer {
  explicit Answer(const PublicSpec& spec, std::int64_t now_ns)
      : model(spec.name), policy_hash(AsChars(spec.PolicyHash())), decided_ms(now_ns / kMilli) {}

  bandana_backend_answer Struct() {
    bandana_backend_answer answer = {};
    answer.size = sizeof answer;
    answer.user = BytesFor(user);
    answer.model = BytesFor(model);
    answer.policy_hash = BytesFor(policy_hash);
    answer.decided_ms = decided_ms;
    answer.shown = shown;
    answer.arms = arms.data();
    answer.arms_count = arms.size();
    answer.reward_windows = windows.data();
    answer.reward_windows_count = windows.size();
    answer.token = BytesFor(token);
    return answer;
  }

  std::string user = "u";
  std::string model;
  std::string policy_hash;
  std::int64_t decided_ms;
  int shown = 1;
  std::vector<bandana_ranked_arm> arms = {{1, 0, 0.5, 0.5, 0.1, 1, {}},
                                          {0, 0, 0.4, 0.4, 0.1, 0, {}}};
  std::vector<double> windows;
  std::string token = "a token";
};

class AbiAdoptTest : public ::testing::Test {
 protected:
  void Open(AbiHost::Rows rows = {}, const bandana_mark* seen = nullptr) {
    ASSERT_EQ(host_.Open(std::move(rows), seen), 0) << bandana_error();
    ASSERT_EQ(host_.Connect(spec_.name, 2), 0) << bandana_error();
    host_.Answer(host_.TakeCall(), ModelMessage(spec_).SerializeAsString());
    ASSERT_EQ(host_.Result(2).code, 0) << host_.Result(2).message;
  }
  Answer Now() const { return Answer(spec_, host_.wall_ns); }
  AbiHost::Told Adopt(Answer answer) {
    const bandana_bytes user = BytesFor("u");
    const bandana_backend_answer given = answer.Struct();
    const std::uint64_t tag = ++tag_;
    if (const int code = bandana_adopt(host_.device, host_.client, &user, &given, tag); code != 0) {
      return {.tag = tag, .code = code, .message = bandana_error()};
    }
    return host_.Result(tag);
  }
  std::uint64_t Events() {
    const bandana_bytes user = BytesFor("u");
    EXPECT_EQ(bandana_read_spent(host_.device, host_.client, &user, ++tag_), 0);
    return host_.Result(tag_).spent->events;
  }
  int KeptRows() const {
    int kept = 0;
    for (const auto& [key, row] : host_.rows) kept += key.first == kKept ? 1 : 0;
    return kept;
  }

  PublicSpec spec_ = WindowSpec(absl::Nanoseconds(kWindow), 0);
  AbiHost host_;
  std::uint64_t tag_ = 100;
};

TEST_F(AbiAdoptTest, ItBecomesADecisionOfTheDevicesWithoutACall) {
  Open();
  host_.hooks_called.clear();
  const AbiHost::Told told = Adopt(Now());
  ASSERT_EQ(told.code, 0) << told.message;
  EXPECT_EQ(told.kind, BANDANA_SELECTED);
  EXPECT_THAT(host_.hooks_called, Not(Contains("call")));
  EXPECT_EQ(Events(), 1);
  ASSERT_THAT(told.handles, SizeIs(1));
  EXPECT_THAT(told.handles[0], Not(HasSubstr("a token")));  // the rows keep it
  ASSERT_EQ(host_.Report(told.handles[0], 1, 4), 0) << bandana_error();
  ASSERT_EQ(host_.Result(4).code, 0) << host_.Result(4).message;
  host_.Pass(2 * kWindow);
  v1::SubmitRequest request;
  ASSERT_TRUE(request.ParseFromString(host_.TakeCall().message));
  ASSERT_EQ(request.reports_size(), 1);
  EXPECT_EQ(request.reports(0).token(), "a token");
  EXPECT_EQ(request.reports(0).shown(), 1);
}

TEST_F(AbiAdoptTest, ATokenIsAdoptedOnceUntilItIsTooOldForTheServer) {
  Open();
  const Answer answer = Now();
  ASSERT_EQ(Adopt(answer).code, 0);
  const auto is_refused = [&](const char* why) {
    const AbiHost::Told again = Adopt(answer);
    EXPECT_EQ(again.code, BANDANA_FAILED_PRECONDITION);
    EXPECT_THAT(again.message, StartsWith(why));
  };
  is_refused("answer.token was adopted before");
  Answer younger = answer;  // a backend that lies about the time
  younger.decided_ms += 60'000;
  EXPECT_EQ(Adopt(younger).code, BANDANA_FAILED_PRECONDITION);
  Open(host_.rows, &*host_.mark);
  is_refused("answer.token was adopted before");
  EXPECT_EQ(Events(), 1);
  const std::int64_t lifetime = absl::ToInt64Nanoseconds(spec_.token_lifetime);
  const int kept = KeptRows();
  host_.Pass(lifetime);
  is_refused("the decision is too old");
  younger.decided_ms = host_.wall_ns / kMilli;
  EXPECT_THAT(Adopt(younger).message, StartsWith("answer.token was adopted before"));
  host_.Pass(2 * kHour);
  Answer next = Now();
  next.token = "another token";
  ASSERT_EQ(Adopt(next).code, 0);
  EXPECT_EQ(KeptRows(), kept);  // the first one is forgotten
  is_refused("the decision is too old");
  EXPECT_EQ(Events(), 2);
}

TEST_F(AbiAdoptTest, WhatIsNotTheClientsIsRefusedByItsField) {
  Open();
  const struct {
    std::function<void(Answer&)> change;
    const char* message;
    int code = BANDANA_INVALID_ARGUMENT;
  } cases[] = {
      {[](Answer& a) { a.user = "v"; }, "answer.user is another user"},
      {[](Answer& a) { a.model = "other"; }, "answer.model must be "},
      {[](Answer& a) { a.policy_hash[0] ^= 1; }, "answer.policy_hash is not that of the policy"},
      {[](Answer& a) { a.policy_hash.clear(); }, "answer.policy_hash is not that of the policy"},
      {[](Answer& a) { a.shown = 2; }, "answer.shown must be in [0, 2), got 2"},
      {[](Answer& a) { a.shown = -1; }, "answer.shown must be in [0, 2), got -1"},
      {[](Answer& a) { a.arms.clear(); }, "answer.arms must be 1 to 100, got 0"},
      {[](Answer& a) { a.arms.resize(101); }, "answer.arms must be 1 to 100, got 101"},
      {[](Answer& a) {
         a.windows = {0, 1};
       },
       "answer.reward_windows must have 0 numbers, got 2"},
      {[](Answer& a) { a.token.clear(); }, "answer.token must not be empty"},
      {[](Answer& a) { a.decided_ms = -1; }, "answer.decided_ms must be in [0, "},
      {[](Answer& a) { a.decided_ms += 3'700'000; }, "answer.decided must be at most an hour after",
       BANDANA_FAILED_PRECONDITION},
      {[](Answer& a) { a.decided_ms -= 86'400'000; }, "the decision is too old",
       BANDANA_FAILED_PRECONDITION},
  };
  for (const auto& one : cases) {
    Answer answer = Now();
    one.change(answer);
    const AbiHost::Told told = Adopt(answer);
    EXPECT_EQ(told.code, one.code) << one.message;
    EXPECT_THAT(told.message, StartsWith(one.message));
  }
  EXPECT_EQ(Events(), 0);
  EXPECT_EQ(Adopt(Now()).code, 0);  // none of them was taken for adopted
}

TEST_F(AbiAdoptTest, WindowsOfACentredModelLieInItsRange) {
  spec_.mechanism = MechanismId::kCentredRandomizer;
  Open();
  Answer answer = Now();
  EXPECT_THAT(Adopt(answer).message, StartsWith("answer.reward_windows must have 4 numbers"));
  answer.windows = {0.25, 0.75, 0.5, 2};
  EXPECT_THAT(Adopt(answer).message, StartsWith("answer.reward_windows[2] and the number behind"));
  answer.windows = {0.25, 0.75, 0.5, 0.75};
  EXPECT_EQ(Adopt(answer).code, 0);
}

TEST_F(AbiAdoptTest, ModelsWithoutAWindowOrWhoseReportsHaveFeaturesAreRefused) {
  spec_.reward_window.reset();
  spec_.one_per_decision = true;
  Open();
  EXPECT_THAT(Adopt(Now()).message, HasSubstr("has no reward window"));
  spec_ = CounterModelSpec();
  spec_.one_per_decision = false;
  spec_.reward_window = RewardWindowSpec{absl::Nanoseconds(kWindow), 0};
  Open();
  const AbiHost::Told told = Adopt(Now());
  EXPECT_EQ(told.code, BANDANA_FAILED_PRECONDITION);
  EXPECT_THAT(told.message, HasSubstr("need the arm's features"));
}

TEST_F(AbiAdoptTest, NothingIsToldBeforeTheCommitAndAFailedOneIsNoDecision) {
  Open();
  host_.answers_commits = false;
  EXPECT_EQ(Adopt(Now()).code, -1);
  host_.answers_commits = true;
  EXPECT_EQ(bandana_committed(host_.device, host_.commits.back(), 14), 0);
  EXPECT_EQ(host_.Result(tag_).code, BANDANA_UNAVAILABLE);
  EXPECT_EQ(Events(), 0);
  host_.commit_code = 0;
  EXPECT_EQ(Adopt(Now()).code, 0);
}

// An older copy of the rows does not know which tokens were adopted since.
TEST_F(AbiAdoptTest, AfterOlderRowsAnswersOfBeforeAreRefused) {
  Open();
  const AbiHost::Rows older = host_.rows;
  const Answer answer = Now();
  ASSERT_EQ(Adopt(answer).code, 0);
  const bandana_mark mark = *host_.mark;
  ASSERT_EQ(host_.Open(older, &mark), 0);  // and ends before it connects
  const AbiHost::Rows found = host_.rows;
  const bandana_mark later = *host_.mark;
  Open(found, &later);
  const AbiHost::Told told = Adopt(answer);
  EXPECT_EQ(told.code, BANDANA_FAILED_PRECONDITION);
  EXPECT_THAT(told.message, StartsWith("answer.decided lies before"));
  Answer next = Now();
  next.token = "another token";
  EXPECT_THAT(Adopt(next).message, StartsWith("answer.decided lies before"));
  host_.Pass(kHour + kSecond);
  Open(host_.rows, &*host_.mark);
  EXPECT_EQ(Adopt(Now()).code, 0);
}

// --- All that leaves, with its time, is the same whether the user reacted.

enum class Adopts { kAtLoad, kAtTheClick, kAgainAtTheClick, kAgainAfterForgetting };

class AbiAdoptTranscriptTest : public AbiAdoptTest {
 protected:
  // The page is loaded again, and the host has lost the rows of adopted tokens.
  void ForgetTokens() {
    AbiHost::Rows rows = host_.rows;
    std::erase_if(rows, [](const auto& entry) {
      return entry.first.first == kKept && entry.second[1].bytes.starts_with("adopted ");
    });
    Open(rows, &*host_.mark);
  }
  // A visit to a page, and the next one. Outputs are left out: they are the randomizer's.
  std::vector<std::string> Visit(Adopts adopts, bool reacts) {
    host_.Restart();
    Open();
    std::vector<std::string> left;
    const auto pass = [&](std::int64_t nanos) {
      host_.PassAndAnswer(nanos, [&](const AbiHost::Call& call) {
        v1::SubmitRequest request;
        EXPECT_TRUE(request.ParseFromString(call.message));
        std::string text = absl::StrCat(host_.elapsed_ns, " ", call.path);
        for (const auto& report : request.reports()) {
          absl::StrAppend(&text, " ", report.token(), " ", report.shown());
        }
        left.push_back(text);
        v1::SubmitResponse response;
        for (int i = 0; i < request.reports_size(); ++i) {
          response.add_results()->set_code(v1::APPLIED);
        }
        return response.SerializeAsString();
      });
    };
    std::string handle;
    const auto adopt = [&] {
      const AbiHost::Told told = Adopt(Now());
      if (told.code == 0) handle = told.handles[0];
    };
    if (adopts != Adopts::kAtTheClick) adopt();
    pass(kSecond);
    if (reacts) {
      if (adopts == Adopts::kAgainAfterForgetting) ForgetTokens();
      if (adopts != Adopts::kAtLoad) adopt();
      host_.Report(handle, 1, ++tag_);
    }
    for (int i = 0; i < 30; ++i) pass(kSecond);
    return left;
  }
};

TEST_F(AbiAdoptTranscriptTest, AReactionToAnAdoptedDecisionChangesNothing) {
  const std::vector<std::string> reacted = Visit(Adopts::kAtLoad, true);
  EXPECT_EQ(reacted, Visit(Adopts::kAtLoad, false));
  EXPECT_THAT(reacted, SizeIs(1));
  // A token that is offered again at the click is not taken.
  EXPECT_EQ(Visit(Adopts::kAgainAtTheClick, true), Visit(Adopts::kAgainAtTheClick, false));
}

TEST_F(AbiAdoptTranscriptTest, AHostThatAdoptsAtTheClickIsNoticed) {
  EXPECT_NE(Visit(Adopts::kAtTheClick, true), Visit(Adopts::kAtTheClick, false));
}

TEST_F(AbiAdoptTranscriptTest, AHostThatAdoptsATokenTwiceIsNoticed) {
  EXPECT_NE(Visit(Adopts::kAgainAfterForgetting, true),
            Visit(Adopts::kAgainAfterForgetting, false));
}

}  // namespace
}  // namespace bandana::testing
