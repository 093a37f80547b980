// Calls that name an alias: who answers them, and where the reports of decisions go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/own_number.h"
#include "server/models/aliases/share_of.h"
#include "server/service/recommender.h"
#include "server/service/split_call.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class AliasCallsTest : public ::bandana::testing::ServiceTest {
 protected:
  AliasCallsTest() {
    a_.SetInstance(std::byte{0xa1});
    b_.SetInstance(std::byte{0xb2});
    registry_.PutAliasOf("feed", {{"a", 1}, {"b", 1}});
  }

  // A user whom the model takes under `feed` with equal shares.
  static std::string UserOf(const std::string& model) {
    const AliasSpec alias{.name = "feed", .shares = {{"a", 1}, {"b", 1}}};
    for (int i = 0;; ++i) {
      const std::string user = absl::StrCat("user-", i);
      if (alias.shares[ShareOf(alias, user)].model == model) return user;
    }
  }
  static v1::SelectRequest SelectOf(const std::string& model, const std::string& user) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user(user);
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return request;
  }
  std::string Token(const std::string& name, const std::string& user) {
    v1::SelectResponse response;
    EXPECT_THAT(recommender_->Select(SelectOf(name, user), response), IsOk());
    return response.token();
  }
  static v1::ReportRequest ReportOf(const std::string& name, std::vector<std::string> tokens) {
    v1::ReportRequest request;
    request.set_model(name);
    for (const std::string& token : tokens) {
      v1::Outcome& outcome = *request.add_outcomes();
      outcome.set_token(token);
      outcome.set_reward(0.5);
    }
    return request;
  }
  void Start(const v1::ReportRequest& request) {
    response_.Clear();
    finished_ = 0;
    recommender_->Report(request, response_, [this](absl::Status status) {
      ++finished_;
      status_ = std::move(status);
    });
  }
  absl::Status Report(const std::string& name, std::vector<std::string> tokens) {
    Start(ReportOf(name, std::move(tokens)));
    EXPECT_EQ(finished_, 1);
    return status_;
  }
  v1::RejectReason ReasonOf(const std::string& name, const std::string& token) {
    EXPECT_THAT(Report(name, {token}), IsOk());
    return response_.results(0).reason();
  }
  absl::Status Submit(const v1::SubmitRequest& request) {
    submitted_.Clear();
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Submit(request, submitted_,
                         [&](absl::Status status) { result = std::move(status); });
    return result;
  }
  v1::SubmitRequest SubmitTo(const std::string& alias) {
    v1::SubmitRequest request;
    request.set_model(alias);
    v1::GetModelResponse model;
    v1::GetModelRequest named;
    named.set_model(alias);
    EXPECT_THAT(recommender_->GetModel(named, model), IsOk());
    request.set_policy_hash(model.policy_hash());
    return request;
  }
  std::uint64_t EpochShown(const std::string& alias) {
    v1::GetModelResponse model;
    v1::GetModelRequest named;
    named.set_model(alias);
    EXPECT_THAT(recommender_->GetModel(named, model), IsOk());
    return model.epoch();
  }

  FakeModel& a_ = registry_.Add(PlainSpec("a", 2));
  FakeModel& b_ = registry_.Add(PlainSpec("b", 2));
  std::unique_ptr<RecommenderHandlers> recommender_ =
      MakeRecommender({}, registry_, tokens_, clock_);
  v1::ReportResponse response_;
  v1::SubmitResponse submitted_;
  absl::Status status_;
  int finished_ = 0;
};

TEST_F(AliasCallsTest, AUsersModelAnswersAndTheTokenNamesBoth) {
  for (const std::string model : {"a", "b"}) {
    const auto decision = tokens_.Open(Token("feed", UserOf(model)));
    ASSERT_THAT(decision, IsOk());
    EXPECT_EQ(decision->instance, registry_.Find(model)->instance());
    EXPECT_EQ(decision->asked, (AskedAlias{"feed", model}));
    EXPECT_EQ(tokens_.Open(Token(model, "u"))->asked, std::nullopt);
  }
  v1::BatchSelectRequest batch;
  *batch.add_decisions() = SelectOf("feed", UserOf("b"));
  *batch.add_decisions() = SelectOf("none", "u");
  *batch.add_decisions() = SelectOf("feed", UserOf("a"));
  v1::BatchSelectResponse response;
  ASSERT_THAT(recommender_->BatchSelect(batch, response), IsOk());
  EXPECT_EQ(tokens_.Open(response.results(0).selection().token())->instance, b_.instance());
  EXPECT_EQ(response.results(1).code(), static_cast<int>(Code::kNotFound));
  EXPECT_EQ(tokens_.Open(response.results(2).selection().token())->instance, a_.instance());
}

TEST_F(AliasCallsTest, ACallsReportsGoToTheirModelsAndComeBackInOrder) {
  const std::string a = Token("feed", UserOf("a"));
  const std::string b = Token("feed", UserOf("b"));
  a_.HoldReports();
  b_.HoldReports();
  Start(ReportOf("feed", {a, "forged", b, Token("feed", UserOf("a")), Token("a", "u")}));
  EXPECT_EQ(finished_, 0);
  b_.ReleaseReports();
  EXPECT_EQ(finished_, 0);
  EXPECT_THAT(response_.results(), IsEmpty());
  a_.ReleaseReports();
  EXPECT_EQ(finished_, 1);
  ASSERT_THAT(status_, IsOk());
  ASSERT_THAT(response_.results(), SizeIs(5));
  EXPECT_EQ(response_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(response_.results(1).reason(), v1::TOKEN_INVALID);
  EXPECT_EQ(response_.results(2).code(), v1::APPLIED);
  EXPECT_EQ(response_.results(3).code(), v1::APPLIED);
  EXPECT_EQ(response_.results(4).reason(), v1::TOKEN_FOREIGN);
  EXPECT_THAT(a_.reported(), SizeIs(2));
  EXPECT_THAT(b_.reported(), SizeIs(1));
  EXPECT_EQ(a_.rejected(v1::TOKEN_FOREIGN), 1);
}

TEST_F(AliasCallsTest, AnOpenDecisionStaysWithTheModelThatMadeIt) {
  const std::string token = Token("feed", UserOf("a"));
  registry_.PutAliasOf("feed", {{"b", 1}});
  EXPECT_EQ(tokens_.Open(Token("feed", UserOf("a")))->instance, b_.instance());
  ASSERT_THAT(Report("feed", {token}), IsOk());
  EXPECT_EQ(response_.results(0).code(), v1::APPLIED);
  EXPECT_THAT(a_.reported(), SizeIs(1));
  EXPECT_THAT(b_.reported(), IsEmpty());
}

TEST_F(AliasCallsTest, ADecisionIsReportedUnderTheNameThatItWasAskedBy) {
  registry_.PutAliasOf("shop", {{"a", 1}});
  const std::string token = Token("feed", UserOf("a"));
  EXPECT_EQ(ReasonOf("a", token), v1::TOKEN_FOREIGN);
  EXPECT_EQ(ReasonOf("shop", token), v1::TOKEN_FOREIGN);
  EXPECT_EQ(ReasonOf("feed", Token("a", "u")), v1::TOKEN_FOREIGN);
  EXPECT_EQ(ReasonOf("feed", Token("shop", "u")), v1::TOKEN_FOREIGN);
  EXPECT_THAT(a_.reported(), IsEmpty());
}

TEST_F(AliasCallsTest, TheModelMustStillBeTheOneThatDecided) {
  const std::string token = Token("feed", UserOf("a"));
  registry_.PutAliasOf("feed", {{"b", 1}});
  // Another instance of the name, then another policy, then none.
  registry_.Add(PlainSpec("a", 2)).SetInstance(std::byte{0x77});
  EXPECT_EQ(ReasonOf("feed", token), v1::TOKEN_FOREIGN);
  ModelSpec other = PlainSpec("a", 2);
  other.public_spec.token_lifetime = absl::Hours(1);
  FakeModel& changed = registry_.Add(other);
  changed.SetInstance(std::byte{0xa1});
  EXPECT_EQ(ReasonOf("feed", token), v1::TOKEN_FOREIGN);
  EXPECT_THAT(changed.reported(), IsEmpty());
  ASSERT_THAT(registry_.Delete("a"), IsOk());
  EXPECT_EQ(ReasonOf("feed", token), v1::TOKEN_FOREIGN);
  EXPECT_EQ(b_.rejected(v1::TOKEN_FOREIGN), 3);
}

TEST_F(AliasCallsTest, ReportsOfAnAbsentModelWaitAndTheOthersAreTaken) {
  const std::string a = Token("feed", UserOf("a"));
  const std::string b = Token("feed", UserOf("b"));
  registry_.TakeAway("a");
  EXPECT_THAT(Report("feed", {a}), StatusIs(Code::kUnavailable));
  EXPECT_THAT(Report("feed", {a, b}), StatusIs(Code::kUnavailable));
  EXPECT_THAT(b_.reported(), SizeIs(1));
}

TEST_F(AliasCallsTest, AUserWhoseModelIsNotServedWaits) {
  registry_.TakeAway("a");
  registry_.PutAliasOf("feed", {{"b", 1}, {"a", 1}});
  v1::SelectResponse response;
  EXPECT_THAT(recommender_->Select(SelectOf("feed", UserOf("a")), response),
              StatusIs(Code::kUnavailable, "alias feed is not served now"));
  EXPECT_THAT(recommender_->Select(SelectOf("feed", UserOf("b")), response), IsOk());
  EXPECT_EQ(recommender_->ServingOf("feed"), Serving::kServing);
  b_.SetHealth(absl::UnavailableError("down"));
  EXPECT_EQ(recommender_->ServingOf("feed"), Serving::kNotServing);
  EXPECT_EQ(recommender_->ServingOf("none"), Serving::kUnknownService);
}

TEST_F(AliasCallsTest, TheModelIsDescribedUnderTheAlias) {
  v1::GetModelRequest request;
  request.set_model("feed");
  v1::GetModelResponse response;
  ASSERT_THAT(recommender_->GetModel(request, response), IsOk());
  EXPECT_EQ(response.model(), "feed");
  const auto spec = ParsePublicSpec(response.SerializeAsString());
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->PolicyHash(), PolicyUnder(b_.spec().public_spec, "feed"));
}

TEST_F(AliasCallsTest, ACallersPolicyIsTheAliass) {
  const std::string policy = SubmitTo("feed").policy_hash();
  v1::SelectRequest select = SelectOf("feed", UserOf("a"));
  select.set_policy_hash(policy);
  v1::SelectResponse selected;
  ASSERT_THAT(recommender_->Select(select, selected), IsOk());
  v1::ReportRequest report = ReportOf("feed", {selected.token()});
  report.set_policy_hash(policy);
  Start(report);
  EXPECT_THAT(status_, IsOk());
  const auto differs = StatusIs(Code::kFailedPrecondition, "policy_hash");
  report.set_policy_hash(std::string(AsChars(a_.policy())));
  Start(report);
  EXPECT_THAT(status_, differs);
  select.set_policy_hash(std::string(AsChars(a_.policy())));
  EXPECT_THAT(recommender_->Select(select, selected), differs);
}

TEST_F(AliasCallsTest, CallsWithoutAUserNeedOneModel) {
  v1::GetPosteriorRequest request;
  request.set_model("feed");
  v1::GetPosteriorResponse response;
  EXPECT_THAT(recommender_->GetPosterior(request, response),
              StatusIs(Code::kFailedPrecondition, "alias feed stands for 2 models"));
  v1::GetArmEffectsRequest effects;
  effects.set_model("feed");
  v1::GetArmEffectsResponse page;
  EXPECT_THAT(recommender_->GetArmEffects(effects, page),
              StatusIs(Code::kFailedPrecondition, "alias feed stands for 2 models"));
  registry_.PutAliasOf("feed", {{"a", 1}});
  EXPECT_THAT(recommender_->GetPosterior(request, response), IsOk());
}

TEST_F(AliasCallsTest, AnOlderPosteriorThanTheCallerHasSeenIsUnavailable) {
  const NodePosterior node{.mean = {0, 0}, .covariance = {1, 0, 0, 1}, .alpha = 0.5};
  a_.SetPosterior(PosteriorSnapshot(2, node, 1).With(5, {0}, {node}));
  v1::SelectRequest select = SelectOf("a", "u");
  v1::SelectResponse selected;
  select.set_min_version(5);
  EXPECT_THAT(recommender_->Select(select, selected), IsOk());
  select.set_min_version(6);
  EXPECT_THAT(
      recommender_->Select(select, selected),
      StatusIs(Code::kUnavailable, "min_version: version 5 is served, asked for 6; try again"));
  v1::BatchSelectRequest batch;
  *batch.add_decisions() = select;
  *batch.add_decisions() = SelectOf("a", "u");
  v1::BatchSelectResponse both;
  ASSERT_THAT(recommender_->BatchSelect(batch, both), IsOk());
  EXPECT_EQ(both.results(0).code(), static_cast<int>(Code::kUnavailable));
  EXPECT_EQ(both.results(1).code(), 0);
  v1::GetPosteriorRequest get;
  get.set_model("a");
  get.set_user("u");
  get.set_min_version(6);
  v1::GetPosteriorResponse posterior;
  EXPECT_THAT(recommender_->GetPosterior(get, posterior),
              StatusIs(Code::kUnavailable, "min_version: version 5 is served"));
}

TEST_F(AliasCallsTest, AVersionOfAnotherModelIsNoMinimum) {
  const NodePosterior node{.mean = {0, 0}, .covariance = {1, 0, 0, 1}, .alpha = 0.5};
  a_.SetPosterior(PosteriorSnapshot(2, node, 1).With(5, {0}, {node}));
  v1::SelectResponse of_a;
  ASSERT_THAT(recommender_->Select(SelectOf("feed", UserOf("a")), of_a), IsOk());
  v1::SelectRequest request = SelectOf("feed", UserOf("b"));
  request.set_min_version(of_a.posterior_version());
  v1::SelectResponse of_b;
  EXPECT_THAT(recommender_->Select(request, of_b), IsOk());
  request = SelectOf("feed", UserOf("a"));
  request.set_min_version(of_a.posterior_version());
  EXPECT_THAT(recommender_->Select(request, of_a), IsOk());
  request.set_min_version(of_a.posterior_version() + 1);
  EXPECT_THAT(recommender_->Select(request, of_a), StatusIs(Code::kUnavailable, "min_version: "));
}

// Both models have version 0: a device that knows a's must still get b's.
TEST_F(AliasCallsTest, VersionsOfTwoModelsAreNotTakenForOneAnother) {
  registry_.PutAliasOf("feed", {{"a", 1}});
  v1::GetPosteriorRequest request;
  request.set_model("feed");
  request.set_user("u");
  v1::GetPosteriorResponse first;
  ASSERT_THAT(recommender_->GetPosterior(request, first), IsOk());
  EXPECT_NE(first.version(), 0);
  request.set_if_newer_than(first.version());
  v1::GetPosteriorResponse same;
  ASSERT_THAT(recommender_->GetPosterior(request, same), IsOk());
  // A version of 0 is never said to be known.
  EXPECT_EQ(same.version(), first.version());
  const NodePosterior node{.mean = {0, 0}, .covariance = {1, 0, 0, 1}, .alpha = 0.5};
  a_.SetPosterior(PosteriorSnapshot(2, node, 1).With(5, {0}, {node}));
  v1::GetPosteriorResponse fifth;
  ASSERT_THAT(recommender_->GetPosterior(request, fifth), IsOk());
  EXPECT_FALSE(fifth.not_modified());
  EXPECT_EQ(fifth.version(), first.version() + 5);
  request.set_if_newer_than(fifth.version());
  v1::GetPosteriorResponse known;
  ASSERT_THAT(recommender_->GetPosterior(request, known), IsOk());
  EXPECT_TRUE(known.not_modified());
  registry_.PutAliasOf("feed", {{"b", 1}});
  v1::GetPosteriorResponse moved;
  ASSERT_THAT(recommender_->GetPosterior(request, moved), IsOk());
  EXPECT_FALSE(moved.not_modified());
  EXPECT_FALSE(OfOneModel(moved.version(), fifth.version()));
}

class TokenlessAliasTest : public AliasCallsTest {
 protected:
  FakeModel& Add(const std::string& name, Mode mode, MechanismId mechanism, Delta delta,
                 std::byte instance) {
    FakeModel& model = registry_.Add(PrivateSpec(name, 2, mode, mechanism, delta));
    model.SetInstance(instance);
    return model;
  }
};

TEST_F(TokenlessAliasTest, AReportThatWasDrawnForAnotherModelIsOfNoEpoch) {
  FakeModel& one = Add("c", Mode::kLocalContext, MechanismId::kPrivUnit, {}, std::byte{0xc3});
  FakeModel& other = Add("d", Mode::kLocalContext, MechanismId::kPrivUnit, {}, std::byte{0xd4});
  registry_.PutAliasOf("hidden", {{"c", 1}});
  v1::SubmitRequest request = SubmitTo("hidden");
  v1::ContextReport& report = *request.add_context_reports();
  report.set_report_id(std::string(16, 'r'));
  report.set_epoch(EpochShown("hidden"));
  report.set_seed(std::string(16, 's'));
  ASSERT_THAT(Submit(request), IsOk());
  ASSERT_THAT(one.contexts(), SizeIs(1));
  EXPECT_EQ(one.contexts()[0].epoch, one.epoch());
  registry_.PutAliasOf("hidden", {{"d", 1}});
  EXPECT_NE(EpochShown("hidden"), report.epoch());
  ASSERT_THAT(Submit(request), IsOk());
  ASSERT_THAT(other.contexts(), SizeIs(1));
  EXPECT_EQ(other.contexts()[0].epoch, 0);  // which no model is in: TOKEN_FOREIGN
}

TEST_F(TokenlessAliasTest, AStreamsTokensAreOfOneModel) {
  FakeModel& one = Add("c", Mode::kLocalReward, MechanismId::kCounter, {1e-6}, std::byte{0xc3});
  FakeModel& other = Add("d", Mode::kLocalReward, MechanismId::kCounter, {1e-6}, std::byte{0xd4});
  registry_.PutAliasOf("counts", {{"c", 1}});
  const std::string before = Token("counts", "u");
  registry_.PutAliasOf("counts", {{"d", 1}});
  const std::string after = Token("counts", "u");
  const auto submit = [&](std::vector<std::string> tokens) {
    v1::SubmitRequest request = SubmitTo("counts");
    v1::CounterReport& report = *request.add_counter_reports();
    report.set_stream(std::string(16, 's'));
    report.set_step(tokens.size());
    report.mutable_moment()->Resize(2, 0);
    for (const std::string& token : tokens) report.add_steps()->set_token(token);
    EXPECT_THAT(Submit(request), IsOk());
    return submitted_.counter_results(0);
  };
  EXPECT_EQ(submit({before}).code(), v1::APPLIED);
  EXPECT_THAT(one.counters(), SizeIs(1));
  EXPECT_THAT(other.counters(), IsEmpty());
  EXPECT_EQ(submit({before, after}).reason(), v1::TOKEN_FOREIGN);
  EXPECT_EQ(submit({after, before}).reason(), v1::TOKEN_FOREIGN);
  EXPECT_THAT(other.counters(), IsEmpty());
  EXPECT_EQ(submit({after}).code(), v1::APPLIED);
  EXPECT_THAT(other.counters(), SizeIs(1));
}

class PartsOfCallTest : public ::testing::Test {
 protected:
  using Results = std::vector<ReportResult>;
  // Three reports: the first is refused, the others are of two models.
  SplitCall parts_{{{.code = v1::REJECTED, .reason = v1::TOKEN_INVALID}, {}, {}},
                   {{2}, {1}},
                   absl::OkStatus(),
                   [this](absl::StatusOr<Results> results) {
                     ++finished_;
                     results_ = std::move(results);
                   }};
  int finished_ = 0;
  absl::StatusOr<Results> results_ = absl::UnknownError("not finished");
};

TEST_F(PartsOfCallTest, WhatMustBeRepeatedFailsTheCall) {
  parts_.Take(1, absl::UnavailableError("its log is down"));
  EXPECT_EQ(finished_, 0);
  parts_.Take(0, Results{{.code = v1::APPLIED}});
  EXPECT_EQ(finished_, 1);
  EXPECT_THAT(results_.status(), StatusIs(Code::kUnavailable, "its log is down"));
}

TEST_F(PartsOfCallTest, AnExhaustedModelsReportsAreRejectedBesideOthers) {
  parts_.Take(1, absl::FailedPreconditionError("exhausted"));
  parts_.Take(0, Results{{.code = v1::DUPLICATE}});
  ASSERT_THAT(results_, IsOk());
  EXPECT_EQ((*results_)[0].reason, v1::TOKEN_INVALID);
  EXPECT_EQ((*results_)[1].reason, v1::STREAM_EXHAUSTED);
  EXPECT_EQ((*results_)[2].code, v1::DUPLICATE);
  EXPECT_EQ(finished_, 1);
}

TEST_F(PartsOfCallTest, WhenAllAreExhaustedTheCallSaysSo) {
  parts_.Take(0, absl::FailedPreconditionError("exhausted"));
  parts_.Take(1, absl::FailedPreconditionError("exhausted too"));
  EXPECT_THAT(results_.status(), StatusIs(Code::kFailedPrecondition, "exhausted"));
}

}  // namespace
}  // namespace bandana::server
