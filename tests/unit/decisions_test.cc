// Decisions that callers name, defer, split into slots, do not learn from or make by themselves, as
// Recommender serves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/ranking/policies/selection_rules.h"
#include "server/service/access/current_caller.h"
#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelSpec WindowSpec(const std::string& name, Mode mode = Mode::kNonPrivate) {
  ModelSpec spec = PlainSpec(name, 2);
  spec.public_spec.mode = mode;
  spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
  return spec;
}

class DecisionsTest : public ::bandana::testing::ServiceTest {
 protected:
  // Model `m`: d = 2, mean (1, 0), covariance I, alpha 0.5; a window of a minute.
  DecisionsTest() { SetPosterior(model_); }
  static void SetPosterior(FakeModel& model) {
    NodePosterior node{.mean = {1, 0}, .covariance = {1, 0, 0, 1}, .alpha = 0.5};
    model.SetPosterior(PosteriorSnapshot(2, node, 1).With(9, {0}, {node}));
  }

  // Three arms; the second is the best, then the first, then the third.
  static v1::SelectRequest Request(const std::string& id = "", const std::string& model = "m") {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    request.set_decision_id(id);
    for (const double x : {0.0, 1.0, 1.0, 0.0, -1.0, 0.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return request;
  }
  absl::StatusOr<v1::SelectResponse> Select(const v1::SelectRequest& request) {
    v1::SelectResponse response;
    const absl::Status status = recommender_->Select(request, response);
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<std::vector<v1::OutcomeResult>> Report(const v1::ReportRequest& request) {
    v1::ReportResponse response;
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Report(request, response, [&](absl::Status status) { result = status; });
    if (!result.ok()) return result;
    return std::vector<v1::OutcomeResult>(response.results().begin(), response.results().end());
  }
  static v1::ReportRequest ReportOf(const std::string& id, std::uint32_t slot = 0) {
    v1::ReportRequest request;
    request.set_model("m");
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_decision_id(id);
    outcome.set_slot(slot);
    outcome.set_reward(0.5);
    return request;
  }
  void UseRoomyIndex() {
    index_ = DecisionIndex::Open({.limits = {.bytes_max = 40000}}, clock_).value();
    recommender_ =
        MakeRecommender({.arms_per_request_max = 5}, registry_, tokens_, clock_, index_.get());
  }
  absl::StatusOr<std::vector<v1::OutcomeResult>> Activate(const v1::ActivateRequest& request) {
    v1::ActivateResponse response;
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Activate(request, response, [&](absl::Status status) { result = status; });
    if (!result.ok()) return result;
    return std::vector<v1::OutcomeResult>(response.results().begin(), response.results().end());
  }

  FakeModel& model_ = registry_.Add(WindowSpec("m"));
  std::unique_ptr<DecisionIndex> index_ =
      DecisionIndex::Open({.limits = {.bytes_max = 4000, .caller_bytes_max = 4000}}, clock_)
          .value();
  std::unique_ptr<Handlers> recommender_ =
      MakeRecommender({.arms_per_request_max = 5, .batch_decisions_max = 4}, registry_, tokens_,
                      clock_, index_.get());
};

TEST_F(DecisionsTest, ARepeatedSelectGivesTheSameAnswerAndOpensNoSecondWindow) {
  const auto first = Select(Request("shop-1"));
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->decision_id(), "shop-1");
  clock_.Advance(absl::Seconds(10));
  const auto again = Select(Request("shop-1"));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  EXPECT_THAT(model_.recorded(), SizeIs(1));
  const auto other = Select(Request("shop-2"));
  ASSERT_THAT(other, IsOk());
  EXPECT_NE(other->token(), first->token());
  EXPECT_THAT(model_.recorded(), SizeIs(2));
}

TEST_F(DecisionsTest, TheSameIdWithOtherContentIsRefused) {
  ASSERT_THAT(Select(Request("a")), IsOk());
  v1::SelectRequest other = Request("a");
  other.set_user("somebody else");
  EXPECT_THAT(Select(other), StatusIs(Code::kAlreadyExists, "decision_id: was used for"));
  other = Request("a");
  other.set_top_k(2);
  EXPECT_THAT(Select(other), StatusIs(Code::kAlreadyExists, "decision_id: was used for"));
  EXPECT_THAT(model_.recorded(), SizeIs(1));
}

TEST_F(DecisionsTest, IdsBelongToTheirModelAndCaller) {
  SetPosterior(registry_.Add(WindowSpec("other")));
  const auto nobody = Select(Request("a"));
  ASSERT_THAT(nobody, IsOk());
  ASSERT_THAT(Select(Request("a", "other")), IsOk());
  {
    const CurrentCaller shop("shop");
    const auto own = Select(Request("a"));
    ASSERT_THAT(own, IsOk());
    EXPECT_NE(own->token(), nobody->token());
    EXPECT_EQ(Report(ReportOf("a"))->front().code(), v1::APPLIED);
    EXPECT_EQ(model_.reported().back().decision.id, tokens_.Open(own->token())->id);
  }
  const CurrentCaller stranger("stranger");
  const auto results = Report(ReportOf("a"));
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(results->front().reason(), v1::DECISION_UNKNOWN);
}

TEST_F(DecisionsTest, IdsAreKnownForAsLongAsTokens) {
  const auto first = Select(Request("a"));
  const absl::Duration lifetime = model_.spec().public_spec.token_lifetime;
  clock_.Advance(lifetime - absl::Seconds(1));
  EXPECT_EQ(Select(Request("a"))->token(), first->token());
  EXPECT_EQ(Report(ReportOf("a"))->front().code(), v1::APPLIED);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Report(ReportOf("a"))->front().reason(), v1::DECISION_UNKNOWN);
  EXPECT_NE(Select(Request("a"))->token(), first->token());
}

TEST_F(DecisionsTest, AnIdOfAnEarlierModelOfTheNameDoesNotCount) {
  const auto first = Select(Request("a"));
  model_.SetInstance(std::byte{0x11});
  const auto second = Select(Request("a"));
  ASSERT_THAT(second, IsOk());
  EXPECT_NE(second->token(), first->token());
}

TEST_F(DecisionsTest, AFullIndexRefusesNewIdsAlone) {
  int ids = 0;
  absl::StatusOr<v1::SelectResponse> selected;
  for (; ids < 100; ++ids) {
    selected = Select(Request("id-" + std::to_string(ids)));
    if (!selected.ok()) break;
  }
  EXPECT_THAT(selected, StatusIs(Code::kResourceExhausted, "decision_id: "));
  EXPECT_GT(ids, 3);
  EXPECT_THAT(Select(Request("id-0")), IsOk());
  EXPECT_THAT(Select(Request()), IsOk());
  EXPECT_EQ(index_->figures().refused, 1);
  EXPECT_EQ(index_->figures().ids, ids);
  clock_.Advance(model_.spec().public_spec.token_lifetime);
  EXPECT_THAT(Select(Request("id-" + std::to_string(ids))), IsOk());
  EXPECT_EQ(index_->figures().ids, 1);
}

TEST_F(DecisionsTest, ADecisionThatFailedLeavesItsIdFree) {
  model_.SetRecordStatus(absl::UnavailableError("log"));
  EXPECT_THAT(Select(Request("a")), StatusIs(Code::kUnavailable, "log"));
  EXPECT_EQ(index_->figures().ids, 0);
  model_.SetRecordStatus(absl::OkStatus());
  EXPECT_THAT(Select(Request("a")), IsOk());
}

TEST_F(DecisionsTest, IdsOfABatchAreEachTheirOwn) {
  v1::BatchSelectRequest batch;
  for (const char* id : {"a", "b", "a", ""}) *batch.add_decisions() = Request(id);
  v1::BatchSelectResponse response;
  ASSERT_THAT(recommender_->BatchSelect(batch, response), IsOk());
  EXPECT_EQ(response.results(0).selection().token(), response.results(2).selection().token());
  EXPECT_NE(response.results(0).selection().token(), response.results(1).selection().token());
  EXPECT_THAT(model_.recorded(), SizeIs(3));
}

TEST_F(DecisionsTest, RefusesWhatCannotGoTogetherAndSaysWhy) {
  struct Case {
    std::function<void(v1::SelectRequest&)> change;
    std::string text;
  };
  const std::vector<Case> cases = {
      {[](auto& r) { r.set_decision_id(std::string(65, 'x')); },
       "decision_id: must have 1 to 64 bytes, got 65"},
      {[](auto& r) { r.set_decision_id("a\nb"); }, "decision_id: must have no control characters"},
      {[](auto& r) { r.set_slots(17); }, "slots: must be in [0, 16], got 17"},
      {[](auto& r) { r.set_slots(4); }, "slots: must be at most the number of arms, 3, got 4"},
      {[](auto& r) { r.set_slots(2), r.set_top_k(2); }, "top_k: must be 0 with slots"},
      {[](auto& r) { r.set_slots(2), r.set_baseline(1); }, "baseline: must be absent with slots"},
      {[](auto& r) { r.set_slots(2), r.add_slot_baselines(1); },
       "slot_baselines: must be empty or have one position per slot, 2, got 1"},
      {[](auto& r) { r.add_slot_baselines(1); }, "slot_baselines: must be empty without slots"},
      {[](auto& r) { r.set_baseline(3); }, "baseline: must be below the number of arms, 3, got 3"},
      {[](auto& r) { r.set_slots(2), r.add_slot_baselines(1), r.add_slot_baselines(1); },
       "slot_baselines: has position 1 twice"},
      {[](auto& r) { r.set_baseline(0), r.set_top_k(2), r.set_shown(1); },
       "shown: must be 0 with baseline"},
      {[](auto& r) { r.set_learn(false), r.set_decision_id("a"); },
       "decision_id: must be absent with learn: false"},
      {[](auto& r) { r.set_learn(false), r.set_deferred(true); },
       "deferred: must be absent with learn: false"},
      {[](auto& r) { r.set_learn(false), r.set_baseline(0); },
       "baseline: must be absent with learn: false"},
  };
  for (const Case& c : cases) {
    v1::SelectRequest request = Request();
    c.change(request);
    EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, c.text));
  }
  EXPECT_THAT(model_.recorded(), IsEmpty());
}

TEST_F(DecisionsTest, RefusesSlotsAndDeferralsWhereThereAreNone) {
  registry_.Add(WindowSpec("joint", Mode::kJoint));
  ModelSpec local = WindowSpec("local", Mode::kLocalReward);
  registry_.Add(local);
  registry_.Add(PlainSpec("plain", 2));
  ModelSpec arms = PlainSpec("arms", 2);
  arms.arms.emplace();
  arms.config.mutable_arms();
  registry_.Add(arms);
  v1::SelectRequest slots = Request("", "joint");
  slots.set_slots(2);
  EXPECT_THAT(Select(slots), StatusIs(Code::kInvalidArgument, "slots: must be 0: mode JOINT"));
  slots.set_model("arms");
  EXPECT_THAT(Select(slots), StatusIs(Code::kInvalidArgument, "slots: is not for models of arms"));
  v1::SelectRequest deferred = Request("", "plain");
  deferred.set_deferred(true);
  EXPECT_THAT(Select(deferred), StatusIs(Code::kInvalidArgument, "deferred: the model has no"));
  deferred.set_model("local");
  EXPECT_THAT(
      Select(deferred),
      StatusIs(Code::kInvalidArgument, "deferred: the model's reward windows close on the device"));
  deferred.set_model("joint");
  EXPECT_THAT(Select(deferred), IsOk());
}

// A repeated request is told from another one, so an id that somebody can guess would confirm
// guesses of what was on offer.
TEST_F(DecisionsTest, NamesAreRandomWhereContextsArePrivate) {
  UseRoomyIndex();
  SetPosterior(registry_.Add(WindowSpec("joint", Mode::kJoint)));
  for (const std::string& weak :
       {std::string("shop-1"), std::string("0000000000000000000000000000001"),
        std::string("a name with more than 22 bytes"), std::string("7c9e6679742540de944b"),
        std::string("7c9e6679/7425+40de=944be07f")}) {
    EXPECT_THAT(
        Select(Request(weak, "joint")),
        StatusIs(Code::kInvalidArgument, "decision_id: must be at least 128 random bits, as 22"))
        << weak;
    EXPECT_THAT(Select(Request(weak)), IsOk()) << weak;  // nothing is private
  }
  for (const char* const strong : {"7c9e6679-7425-40de-944b-e07fc1f90ae7",
                                   "7c9e6679742540de944be07fc1f90ae7", "fJ5meXQlQN6US-B_wfkK5w"}) {
    EXPECT_THAT(Select(Request(strong, "joint")), IsOk()) << strong;
  }
  EXPECT_THAT(Select(Request("", "joint")), IsOk());
}

// A device's store shows the size of what it sends.
TEST_F(DecisionsTest, ATokenHasOneSizeWhateverWasOnOfferWhereContextsArePrivate) {
  SetPosterior(registry_.Add(WindowSpec("joint", Mode::kJoint)));
  std::set<std::size_t> sizes;
  for (int arms = 1; arms <= 3; ++arms) {
    v1::SelectRequest plain = Request("", "joint");
    plain.mutable_arms()->mutable_inline_arms()->mutable_features()->Truncate(2 * arms);
    plain.set_top_k(3);
    const auto last = static_cast<std::uint32_t>(arms - 1);
    v1::SelectRequest shows = plain;
    shows.set_shown(last);
    v1::SelectRequest has_own = plain;
    has_own.set_baseline(last);
    for (const v1::SelectRequest& request : {plain, shows, has_own}) {
      const auto selected = Select(request);
      ASSERT_THAT(selected, IsOk());
      sizes.insert(selected->token().size());
      const auto opened = tokens_.Open(selected->token());
      ASSERT_THAT(opened, IsOk());
      EXPECT_THAT(opened->arms, SizeIs(static_cast<std::size_t>(arms)));
    }
  }
  EXPECT_THAT(sizes, SizeIs(1));
}

// The index's memory is shown, its file can be looked at.
TEST_F(DecisionsTest, AnAnswerTakesAsMuchRoomWhateverWasOnOfferWhereContextsArePrivate) {
  SetPosterior(registry_.Add(WindowSpec("joint", Mode::kJoint)));
  const auto taken = [&](const v1::SelectRequest& request) {
    const std::uint64_t before = index_->figures().bytes;
    const auto first = Select(request);
    EXPECT_THAT(first, IsOk());
    const std::uint64_t bytes = index_->figures().bytes - before;
    EXPECT_EQ(Select(request)->SerializeAsString(), first->SerializeAsString());
    return bytes;
  };
  v1::SelectRequest request = Request("7c9e6679742540de944be07fc1f90ae7", "joint");
  request.set_top_k(3);
  const std::uint64_t bytes = taken(request);
  for (int arms = 1; arms <= 3; ++arms) {
    UseRoomyIndex();
    v1::SelectRequest fewer = request;
    fewer.mutable_arms()->mutable_inline_arms()->mutable_features()->Truncate(2 * arms);
    EXPECT_EQ(taken(fewer), bytes) << arms;
  }
  request.set_decision_id("0c9e6679742540de944be07fc1f90ae7");
  request.set_explain(true);
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "explain: must be false with"));
}

TEST_F(DecisionsTest, EverySlotIsADecisionOfItsOwn) {
  v1::SelectRequest request = Request("list");
  request.set_slots(3);
  const auto selected = Select(request);
  ASSERT_THAT(selected, IsOk());
  EXPECT_THAT(selected->positions(), ElementsAre(1, 0, 2));
  EXPECT_THAT(selected->propensities(), ElementsAre(1, 1, 1));
  EXPECT_EQ(selected->token(), "");
  ASSERT_THAT(selected->slot_tokens(), SizeIs(3));
  std::set<DecisionId> ids;
  const std::vector<std::vector<double>> features = {{1, 0}, {0, 1}, {-1, 0}};
  for (int slot = 0; slot < 3; ++slot) {
    const auto decision = tokens_.Open(selected->slot_tokens(slot));
    ASSERT_THAT(decision, IsOk());
    ids.insert(decision->id);
    ASSERT_THAT(decision->arms, SizeIs(1));
    EXPECT_EQ(decision->arms[0].features, features[slot]);
    EXPECT_EQ(decision->arms[0].propensity, 1);
    EXPECT_EQ(decision->shown, 0);
  }
  EXPECT_THAT(ids, SizeIs(3));
  EXPECT_THAT(model_.recorded(), SizeIs(3));
  EXPECT_EQ(Report(ReportOf("list", 2))->front().code(), v1::APPLIED);
  EXPECT_THAT(model_.reported().back().decision.arms[0].features, ElementsAre(-1, 0));
  EXPECT_EQ(Report(ReportOf("list", 3))->front().reason(), v1::DECISION_UNKNOWN);
}

// Two equal best arms: each is first with 1/2, and second, given that the other is first, with 1.
TEST_F(DecisionsTest, PropensitiesOfSlotsAreGivenTheSlotsBefore) {
  v1::SelectRequest request = Request();
  auto& features = *request.mutable_arms()->mutable_inline_arms()->mutable_features();
  features.Set(0, 1), features.Set(1, 0);  // as the second arm
  request.set_slots(2);
  std::set<std::uint32_t> first;
  for (int i = 0; i < 100; ++i) {  // all alike with probability 2^-99
    const auto selected = Select(request);
    ASSERT_THAT(selected, IsOk());
    EXPECT_THAT(selected->propensities(), ElementsAre(0.5, 1));
    first.insert(selected->positions(0));
  }
  EXPECT_THAT(first, ElementsAre(0, 1));
}

TEST_F(DecisionsTest, NothingIsKeptOfADecisionThatIsNotLearntFrom) {
  v1::SelectRequest request = Request();
  request.set_learn(false);
  const auto selected = Select(request);
  ASSERT_THAT(selected, IsOk());
  EXPECT_THAT(selected->positions(), ElementsAre(1));
  EXPECT_EQ(selected->token(), "");
  EXPECT_THAT(model_.recorded(), IsEmpty());
  request.set_learn(true);
  EXPECT_NE(Select(request)->token(), "");
}

TEST_F(DecisionsTest, ADeferredDecisionIsRecordedAtItsActivation) {
  v1::SelectRequest request = Request("later");
  request.set_deferred(true);
  const auto selected = Select(request);
  ASSERT_THAT(selected, IsOk());
  EXPECT_THAT(model_.recorded(), IsEmpty());
  EXPECT_TRUE(tokens_.Open(selected->token())->deferred);
  v1::ActivateRequest activate;
  activate.set_model("m");
  activate.add_tokens(selected->token());
  activate.add_tokens("nonsense");
  activate.add_decision_ids("later");
  activate.add_decision_ids("unknown");
  const auto results = Activate(activate);
  ASSERT_THAT(results, IsOk());
  ASSERT_THAT(*results, SizeIs(4));
  EXPECT_EQ((*results)[0].code(), v1::APPLIED);
  EXPECT_EQ((*results)[1].reason(), v1::TOKEN_INVALID);
  EXPECT_EQ((*results)[2].code(), v1::APPLIED);
  EXPECT_EQ((*results)[3].reason(), v1::DECISION_UNKNOWN);
  EXPECT_THAT(model_.activated(), SizeIs(2));
  EXPECT_EQ(model_.rejected(v1::TOKEN_INVALID), 0);  // no report
  activate.add_tokens("one too many");
  EXPECT_THAT(Activate(activate),
              StatusIs(Code::kInvalidArgument, "tokens and decision_ids: 1 to 4 in a call, got 5"));
}

TEST_F(DecisionsTest, AnIdActivatesAllItsSlots) {
  v1::SelectRequest request = Request("list");
  request.set_slots(2);
  request.set_deferred(true);
  ASSERT_THAT(Select(request), IsOk());
  v1::ActivateRequest activate;
  activate.set_model("m");
  activate.add_decision_ids("list");
  ASSERT_THAT(Activate(activate), IsOk());
  ASSERT_THAT(model_.activated(), SizeIs(1));
  EXPECT_THAT(model_.activated()[0], SizeIs(2));
}

TEST_F(DecisionsTest, TheBaselineIsShownAndAgreementIsCounted) {
  v1::SelectRequest request = Request();
  request.set_top_k(3);
  request.set_baseline(2);
  const auto selected = Select(request);
  ASSERT_THAT(selected, IsOk());
  EXPECT_THAT(selected->positions(), ElementsAre(2, 1, 0));
  EXPECT_THAT(selected->propensities(), ElementsAre(1, 0, 0));
  EXPECT_EQ(tokens_.Open(selected->token())->arms[0].agreed, false);
  request.set_baseline(1);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(model_.baselines(), ElementsAre(false, true));
  v1::SelectRequest slots = Request();
  slots.set_slots(2);
  slots.add_slot_baselines(1);  // as the model would
  slots.add_slot_baselines(2);
  EXPECT_THAT(Select(slots)->positions(), ElementsAre(1, 2));
  EXPECT_THAT(model_.baselines(), ElementsAre(false, true, true, false));
}

TEST_F(DecisionsTest, APolicyDrawsAndTheTokenSaysItsPropensity) {
  ModelSpec spec = PlainSpec("mix", 2);
  spec.policy = MakeUniformMix(0.6);
  SetPosterior(registry_.Add(spec));
  spec.public_spec.name = "thompson";
  spec.policy = MakeThompson(50, 0.3);
  SetPosterior(registry_.Add(spec));
  std::set<std::uint32_t> shown;
  for (int i = 0; i < 200; ++i) {  // an arm of 0.2 is never shown with 0.8^200 < 1e-19
    const auto selected = Select(Request("", "mix"));
    ASSERT_THAT(selected, IsOk());
    shown.insert(selected->positions(0));
    const double expected = selected->positions(0) == 1 ? 0.6 : 0.2;
    EXPECT_NEAR(selected->propensities(0), expected, 1e-15);
    EXPECT_EQ(tokens_.Open(selected->token())->arms[0].propensity, selected->propensities(0));
  }
  EXPECT_THAT(shown, ElementsAre(0, 1, 2));
  const auto drawn = Select(Request("", "thompson"));
  ASSERT_THAT(drawn, IsOk());
  // A share of 50 draws, mixed.
  const double draws = (drawn->propensities(0) - 0.1) / 0.7 * 50;
  EXPECT_NEAR(draws, std::round(draws), 1e-9);
}

// Devices rank by UCB: their propensities would not be those of the policy.
TEST_F(DecisionsTest, DevicesGetNoPosteriorOfAModelThatDraws) {
  ModelSpec spec = PlainSpec("mix", 2);
  spec.policy = MakeUniformMix(0.6);
  registry_.Add(spec);
  v1::GetPosteriorRequest request;
  request.set_model("mix");
  request.set_user("u");
  v1::GetPosteriorResponse response;
  EXPECT_THAT(recommender_->GetPosterior(request, response),
              StatusIs(Code::kFailedPrecondition, "model mix draws its arms by a policy"));
}

}  // namespace
}  // namespace bandana::server
