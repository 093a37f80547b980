// Calls about models that another server owns: reports, activations and decisions on their way.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/internal/peer.grpc.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "server/models/aliases/share_of.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/owners/hand_decision.h"
#include "tests/integration/owners_harness.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kAway[] = "the model's owner does not answer; try again";

bool Eventually(const std::function<bool()>& done) {
  for (int i = 0; i < 5000 && !done(); ++i) absl::SleepFor(absl::Milliseconds(2));
  return done();
}

// `mine` is owned by the near server; `m`, and `other` behind the alias `feed`, by the far one.
class HandedReportsTest : public OwnersTest {
 protected:
  HandedReportsTest() {
    for (FakeRegistry* registry : {&near_, &far_}) {
      for (const char* name : {"m", "mine", "other"}) registry->Add(PlainSpec(name, 2));
      Model(*registry, "mine").SetInstance(std::byte{0x11});
      Model(*registry, "other").SetInstance(std::byte{0x22});
      registry->PutAliasOf("feed", {{"mine", 1}, {"other", 1}});
    }
    for (const char* name : {"m", "other"}) Model(near_, name).SetOwner(peers_->address());
    Model(far_, "mine").SetOwner("");
  }
  ~HandedReportsTest() override { peers_->Shutdown(absl::ZeroDuration()); }

  static FakeModel& Model(FakeRegistry& registry, const std::string& name) {
    return static_cast<FakeModel&>(*registry.Find(name));
  }

  const PublicSpec m_ = PlainSpec("m", 2).public_spec;

  v1::SelectResponse Select(const std::string& model, const std::string& user,
                            const std::function<void(v1::SelectRequest&)>& change = nullptr) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user(user);
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    if (change) change(request);
    v1::SelectResponse response;
    EXPECT_THAT(recommender_->Select(request, response), IsOk());
    return response;
  }
  std::string Token(const std::string& model, const std::string& user = "u") {
    return Select(model, user).token();
  }
  // A user whom the model takes under `feed`.
  static std::string UserOf(const std::string& model) {
    const AliasSpec alias{.name = "feed", .shares = {{"mine", 1}, {"other", 1}}};
    for (int i = 0;; ++i) {
      const std::string user = absl::StrCat("user-", i);
      if (alias.shares[ShareOf(alias, user)].model == model) return user;
    }
  }
  static v1::ReportRequest ReportOf(const std::string& model,
                                    const std::vector<std::string>& tokens) {
    v1::ReportRequest request;
    request.set_model(model);
    for (const std::string& token : tokens) {
      v1::Outcome& outcome = *request.add_outcomes();
      outcome.set_token(token);
      outcome.set_reward(0.5);
    }
    return request;
  }

  // Waits for the answer.
  template <typename Request, typename Response>
  absl::Status Wait(void (Handlers::*method)(const Request&, Response&, Finish),
                    const Request& request, Response& response) {
    absl::Status answer;
    std::atomic<int> finished = 0;
    response.Clear();
    ((*recommender_).*method)(request, response, [&](absl::Status status) {
      answer = std::move(status);
      ++finished;
    });
    EXPECT_TRUE(Eventually([&] { return finished == 1; }));
    return answer;
  }
  absl::Status Report(const v1::ReportRequest& request) {
    return Wait(&Handlers::Report, request, reported_);
  }
  absl::Status Activate(const v1::ActivateRequest& request) {
    return Wait(&Handlers::Activate, request, activated_);
  }

  FakeRegistry near_;
  FakeRegistry far_;
  std::unique_ptr<Peers> peers_ = Serve(far_);
  std::unique_ptr<RecommenderHandlers> recommender_ =
      MakeRecommender({}, near_, tokens_, clock_, near_index_.get(), &peers_->owners());
  v1::ReportResponse reported_;
  v1::ActivateResponse activated_;
};

TEST_F(HandedReportsTest, TheOwnerTakesTheReport) {
  const std::string token = Token("m");
  // The owner alone knows the newest epoch.
  Model(near_, "m").SetEpoch(9);
  ASSERT_THAT(Report(ReportOf("m", {token, "forged"})), IsOk());
  ASSERT_THAT(reported_.results(), SizeIs(2));
  EXPECT_EQ(reported_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(reported_.results(1).reason(), v1::TOKEN_INVALID);
  EXPECT_THAT(Model(far_, "m").reported(), SizeIs(1));
  EXPECT_EQ(Model(far_, "m").rejected(v1::TOKEN_INVALID), 1);
  EXPECT_THAT(Model(near_, "m").reported(), IsEmpty());
  EXPECT_EQ(Model(near_, "m").rejected(v1::TOKEN_INVALID), 0);
}

TEST_F(HandedReportsTest, TheOwnersErrorsAreTheCallers) {
  Model(far_, "m").SetReportStatus(FailedPrecondition("all streams are exhausted"));
  EXPECT_THAT(Report(ReportOf("m", {Token("m")})),
              StatusIs(Code::kFailedPrecondition, "all streams are exhausted"));
  v1::SubmitRequest submit;
  submit.set_model("m");
  submit.add_reports()->set_token(Token("m"));
  v1::SubmitResponse response;
  EXPECT_THAT(Wait(&Handlers::Submit, submit, response),
              StatusIs(Code::kFailedPrecondition, "model is not LOCAL_REWARD"));
}

TEST_F(HandedReportsTest, DecisionsThatTheCallerNamedAreFoundHere) {
  const auto named = [](v1::SelectRequest& request) { request.set_decision_id("first"); };
  Select("m", "u", named);
  v1::ReportRequest request = ReportOf("m", {Token("m")});
  request.add_outcomes()->set_decision_id("unknown");
  v1::Outcome& by_id = *request.add_outcomes();
  by_id.set_decision_id("first");
  by_id.set_reward(0.25);
  ASSERT_THAT(Report(request), IsOk());
  ASSERT_THAT(reported_.results(), SizeIs(3));
  EXPECT_EQ(reported_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(reported_.results(1).reason(), v1::DECISION_UNKNOWN);
  EXPECT_EQ(reported_.results(2).code(), v1::APPLIED);
  ASSERT_THAT(Model(far_, "m").reported(), SizeIs(2));
  EXPECT_EQ(Model(far_, "m").reported()[1].reward, 0.25);
}

TEST_F(HandedReportsTest, AnAliassReportsGoToTheirModels) {
  const std::string here = Token("feed", UserOf("mine"));
  const std::string there = Token("feed", UserOf("other"));
  v1::ReportRequest request = ReportOf("feed", {there, "forged", here, there});
  request.mutable_outcomes(3)->clear_reward();
  ASSERT_THAT(Report(request), IsOk());
  ASSERT_THAT(reported_.results(), SizeIs(4));
  EXPECT_EQ(reported_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(reported_.results(1).reason(), v1::TOKEN_INVALID);
  EXPECT_EQ(reported_.results(2).code(), v1::APPLIED);
  EXPECT_EQ(reported_.results(3).code(), v1::APPLIED);
  ASSERT_THAT(Model(far_, "other").reported(), SizeIs(2));
  EXPECT_EQ(Model(far_, "other").reported()[1].reward, std::nullopt);
  EXPECT_THAT(Model(near_, "mine").reported(), SizeIs(1));
  EXPECT_THAT(Model(near_, "other").reported(), IsEmpty());
  // A call whose reports are all for one server goes whole.
  ASSERT_THAT(Report(ReportOf("feed", {there})), IsOk());
  EXPECT_THAT(Model(far_, "other").reported(), SizeIs(3));
}

TEST_F(HandedReportsTest, OutputsOfDevicesGoToTheOwner) {
  const ModelSpec spec =
      PrivateSpec("local", 2, Mode::kLocalReward, MechanismId::kRewardRandomizer);
  near_.Add(spec).SetOwner(peers_->address());
  FakeModel& owned = far_.Add(spec);
  v1::SubmitRequest request;
  request.set_model("local");
  const Sha256Digest policy = spec.public_spec.PolicyHash();
  request.set_policy_hash(std::string(AsChars(policy)));
  request.add_reports()->set_token(Token("local"));
  v1::SubmitResponse response;
  ASSERT_THAT(Wait(&Handlers::Submit, request, response), IsOk());
  ASSERT_THAT(response.results(), SizeIs(1));
  EXPECT_EQ(response.results(0).code(), v1::APPLIED);
  EXPECT_THAT(owned.reported(), SizeIs(1));
}

TEST_F(HandedReportsTest, ThePolicyIsCheckedHereAndByTheOwner) {
  v1::ReportRequest request = ReportOf("m", {Token("m"), "forged"});
  request.set_policy_hash(std::string(32, 'x'));
  const auto differs = StatusIs(Code::kFailedPrecondition, "policy_hash");
  EXPECT_THAT(Report(request), differs);
  // This server has not heard yet that the owner's model has another policy.
  ModelSpec changed = PlainSpec("m", 2);
  changed.public_spec.token_lifetime = absl::Hours(1);
  FakeModel& owned = far_.Add(changed);
  const std::string stale(AsChars(Model(near_, "m").policy()));
  request.set_policy_hash(stale);
  EXPECT_THAT(Report(request), differs);
  EXPECT_EQ(owned.rejected(v1::TOKEN_INVALID), 0);
  EXPECT_THAT(owned.reported(), IsEmpty());
  // Parts of a call say it as well.
  request = ReportOf("feed", {Token("feed", UserOf("other")), Token("feed", UserOf("mine"))});
  const std::string shared(AsChars(PolicyUnder(PlainSpec("mine", 2).public_spec, "feed")));
  request.set_policy_hash(shared);
  EXPECT_THAT(Report(request), IsOk());
}

TEST_F(HandedReportsTest, AnIdStandsForAllSlotsOfItsDecision) {
  const auto deferred = [](v1::SelectRequest& request) {
    request.set_decision_id("page");
    request.set_slots(2);
    request.set_deferred(true);
  };
  for (const char* name : {"m", "other"}) {
    ModelSpec spec = PlainSpec(absl::StrCat("windowed-", name), 2);
    spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
    near_.Add(spec).SetOwner(peers_->address());
    far_.Add(spec);
  }
  Select("windowed-m", "u", deferred);
  v1::ActivateRequest request;
  request.set_model("windowed-m");
  request.add_decision_ids("unknown");
  request.add_decision_ids("page");
  ASSERT_THAT(Activate(request), IsOk());
  ASSERT_THAT(activated_.results(), SizeIs(2));
  EXPECT_EQ(activated_.results(0).reason(), v1::DECISION_UNKNOWN);
  EXPECT_EQ(activated_.results(1).code(), v1::APPLIED);
  EXPECT_THAT(Model(far_, "windowed-m").activated(), SizeIs(2));
}

TEST_F(HandedReportsTest, ACallersQuotaOfNewUsersHoldsHere) {
  ModelSpec spec = PlainSpec("windowed", 2);
  spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
  spec.config.mutable_independent();
  spec.coupling = Coupling::Independent();
  near_.Add(spec).SetOwner(peers_->address());
  FakeModel& owned = far_.Add(spec);
  const auto deferred = [](v1::SelectRequest& request) { request.set_deferred(true); };
  v1::ActivateRequest request;
  request.set_model("windowed");
  for (const char* user : {"a", "b"}) {
    request.add_tokens(Select("windowed", user, deferred).token());
  }
  NewUserQuota quota(1, clock_);
  const CallQuota call(&quota);
  ASSERT_THAT(Activate(request), IsOk());
  ASSERT_THAT(activated_.results(), SizeIs(2));
  EXPECT_EQ(activated_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(activated_.results(1).reason(), v1::USER_LIMIT);
  EXPECT_THAT(owned.activated(), SizeIs(1));
}

TEST_F(HandedReportsTest, AnOwnerWhoIsAwayIsUnavailableAndNothingIsCounted) {
  const std::string token = Token("m");
  const std::string there = Token("feed", UserOf("other"));
  const std::string here = Token("feed", UserOf("mine"));
  for (const char* address : {"", "127.0.0.1:1"}) {
    for (const char* name : {"m", "other"}) Model(near_, name).SetOwner(address);
    EXPECT_THAT(Report(ReportOf("m", {token, "forged"})), StatusIs(Code::kUnavailable, kAway));
    EXPECT_THAT(Report(ReportOf("feed", {there, here})), StatusIs(Code::kUnavailable, kAway));
  }
  EXPECT_THAT(Model(near_, "m").reported(), IsEmpty());
  EXPECT_EQ(Model(near_, "m").rejected(v1::TOKEN_INVALID), 0);
  EXPECT_THAT(Model(far_, "m").reported(), IsEmpty());
}

TEST_F(HandedReportsTest, AnOwnerThatWasStartedAnewIsFound) {
  const std::string token = Token("m");
  peers_->Shutdown(absl::ZeroDuration());
  EXPECT_THAT(Report(ReportOf("m", {token})), StatusIs(Code::kUnavailable, kAway));
  const std::unique_ptr<Peers> again = Serve(far_);
  Model(near_, "m").SetOwner(again->address());
  EXPECT_THAT(Report(ReportOf("m", {token})), IsOk());
  again->Shutdown(absl::ZeroDuration());
}

TEST_F(HandedReportsTest, NoCallGoesRound) {
  // Each takes the other for the owner.
  for (const char* name : {"m", "other"}) Model(far_, name).SetOwner(peers_->address());
  EXPECT_THAT(Report(ReportOf("m", {Token("m")})), StatusIs(Code::kUnavailable, kAway));
  const std::string there = Token("feed", UserOf("other"));
  EXPECT_THAT(Report(ReportOf("feed", {there})), StatusIs(Code::kUnavailable, kAway));
  EXPECT_THAT(Model(far_, "m").reported(), IsEmpty());
  EXPECT_THAT(Model(far_, "other").reported(), IsEmpty());
}

// Nobody is heard who does not prove in the handshake that it has the key.
TEST_F(HandedReportsTest, OnlyPeersComeIn) {
  const v1::ReportRequest request = ReportOf("m", {Token("m")});
  const std::string address = peers_->address();
  PeerIdentity silent = IdentityOf('a');  // knows the authority, and has no certificate
  silent.private_key_pem = silent.certificate_pem = "";
  for (const auto& channel : {grpc::CreateChannel(address, grpc::InsecureChannelCredentials()),
                              ChannelOf(silent, address), ChannelOf(IdentityOf('b'), address)}) {
    grpc::ClientContext report;
    v1::ReportResponse reported;
    EXPECT_EQ(v1::Recommender::NewStub(channel)->Report(&report, request, &reported).error_code(),
              grpc::StatusCode::UNAVAILABLE);
    grpc::ClientContext record;
    internal::RecordResponse recorded;
    EXPECT_EQ(internal::Peer::NewStub(channel)->Record(&record, {}, &recorded).error_code(),
              grpc::StatusCode::UNAVAILABLE);
    grpc::ClientContext admin;
    v1::GetStatsRequest of_m;
    of_m.set_model("m");
    v1::GetStatsResponse stats;
    EXPECT_EQ(v1::Admin::NewStub(channel)->GetStats(&admin, of_m, &stats).error_code(),
              grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_THAT(Model(far_, "m").reported(), IsEmpty());
}

// Whoever answers at an owner's address must have the key, and the address.
TEST_F(HandedReportsTest, AReportGoesToNobodyElse) {
  const v1::ReportRequest request = ReportOf("m", {Token("m")});
  const auto hand = [&](OwnerChannels& by, const std::string& to) {
    Model(near_, "m").SetOwner(to);
    recommender_ = MakeRecommender({}, near_, tokens_, clock_, near_index_.get(), &by);
    return Report(request);
  };
  OwnerChannels of_another_key({.identity = IdentityOf('b')});
  EXPECT_THAT(hand(of_another_key, peers_->address()), StatusIs(Code::kUnavailable, kAway));
  // The right server behind another name: what is handed on there was meant for somebody else.
  const std::string port = peers_->address().substr(peers_->address().rfind(':'));
  EXPECT_THAT(hand(peers_->owners(), "localhost" + port), StatusIs(Code::kUnavailable, kAway));
  EXPECT_THAT(Model(far_, "m").reported(), IsEmpty());
  EXPECT_THAT(hand(peers_->owners(), peers_->address()), IsOk());
  EXPECT_THAT(Model(far_, "m").reported(), SizeIs(1));
}

TEST_F(HandedReportsTest, AnUnrecordedReportLeavesNoLine) {
  ModelSpec spec = PrivateSpec("private", 2, Mode::kCentralReward, MechanismId::kCounter, {1e-6});
  spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
  ASSERT_TRUE(HidesReports(spec.public_spec));
  near_.Add(spec).SetOwner(peers_->address());
  far_.Add(spec).SetReportStatus(Internal("broken"));
  EXPECT_THAT(Report(ReportOf("private", {Token("private")})), StatusIs(Code::kUnavailable, kAway));
  EXPECT_EQ(log_.lines(), 0);
}

TEST_F(HandedReportsTest, DecisionsDoNotWaitBehindReports) {
  Model(far_, "m").HoldReports();
  const v1::ReportRequest request = ReportOf("m", {Token("m")});
  // More than a connection's streams.
  std::atomic<int> finished = 0;
  std::vector<v1::ReportResponse> responses(200);
  for (v1::ReportResponse& response : responses) {
    recommender_->Report(request, response, [&](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      ++finished;
    });
  }
  ASSERT_TRUE(Eventually([&] { return Model(far_, "m").held() >= 100; }));
  const Decision decision = tokens_.Open(Token("m")).value();
  HandDecisionTo(peers_->owners(), tokens_, peers_->address(), m_, {&decision, 1});
  EXPECT_TRUE(Eventually([&] { return Model(far_, "m").recorded().size() == 1; }));
  EXPECT_EQ(finished, 0);
  EXPECT_TRUE(Eventually([&] {
    Model(far_, "m").ReleaseReports();
    return finished == 200;
  }));
}

TEST_F(HandedReportsTest, ItIsSeenWhoIsReached) {
  OwnerChannels& owners = peers_->owners();
  const std::string address = peers_->address();
  EXPECT_TRUE(Eventually([&] { return owners.Reaches(address); }));
  EXPECT_FALSE(owners.Reaches("127.0.0.1:1"));
  peers_->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(Eventually([&] { return !owners.Reaches(address); }));
}

// An owner that froze has lost its models: nobody waits for it any longer.
TEST_F(HandedReportsTest, NobodyWaitsForAnOwnerThatIsGone) {
  Model(far_, "m").HoldReports();
  const v1::ReportRequest request = ReportOf("m", {Token("m")});
  std::atomic<int> finished = 0;
  absl::Status answer;
  recommender_->Report(request, reported_, [&](absl::Status status) {
    answer = std::move(status);
    ++finished;
  });
  ASSERT_TRUE(Eventually([&] { return Model(far_, "m").held() == 1; }));
  peers_->owners().GiveUp("192.0.2.1:1");
  EXPECT_EQ(finished, 0);
  peers_->owners().GiveUp(peers_->address());
  ASSERT_TRUE(Eventually([&] { return finished == 1; }));
  EXPECT_THAT(answer, StatusIs(Code::kUnavailable, kAway));
  Model(far_, "m").ReleaseReports();
}

TEST_F(HandedReportsTest, SlotsAreRecordedTogetherByTheOwnerAlone) {
  std::vector<Decision> slots(2, tokens_.Open(Token("m")).value());
  slots[1].id[0] ^= std::byte{1};
  const std::string& address = peers_->address();
  HandDecisionTo(peers_->owners(), tokens_, address, m_, slots);
  ASSERT_TRUE(Eventually([&] { return Model(far_, "m").recorded().size() == 2; }));
  EXPECT_EQ(Model(far_, "m").recorded()[1].id, slots[1].id);

  const auto record = [&](const std::string& model, const std::vector<std::string>& tokens) {
    const auto stub = internal::Peer::NewStub(ChannelOf(IdentityOf('a'), address));
    grpc::ClientContext context;
    internal::RecordRequest request;
    request.set_model(model);
    internal::RecordedDecision& decision = *request.add_decisions();
    for (const std::string& token : tokens) decision.add_slot_tokens(token);
    internal::RecordResponse response;
    return stub->Record(&context, request, &response).error_code();
  };
  EXPECT_EQ(record("m", {Token("m")}), grpc::StatusCode::OK);
  EXPECT_EQ(record("m", {}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(record("m", {"forged"}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(record("other", {Token("m")}), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(record("none", {Token("m")}), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(record("mine", {Token("mine")}), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Model(far_, "mine").recorded(), IsEmpty());
}

// Between servers a size may be seen, and must not tell how many arms were on offer.
TEST_F(HandedReportsTest, HandedSlotsHaveOneSizeWhereContextsArePrivate) {
  PublicSpec joint = m_;
  joint.mode = Mode::kJoint;
  Decision decision = tokens_.Open(Token("m")).value();
  const auto size = [&](const PublicSpec& model, std::size_t arms) {
    decision.arms.resize(arms, decision.arms.front());
    return RecordOf(tokens_, model, {&decision, 1}).value().ByteSizeLong();
  };
  EXPECT_EQ(size(joint, 1), size(joint, 5));
  EXPECT_LT(size(m_, 1), size(m_, 5));
}

TEST_F(HandedReportsTest, DecisionsBeyondTheBoundAreLost) {
  OwnerChannels few({.identity = IdentityOf('a'), .decisions_max = 0});
  const Decision decision = tokens_.Open(Token("m")).value();
  HandDecisionTo(few, tokens_, peers_->address(), m_, {&decision, 1});
  HandDecisionTo(few, tokens_, "", m_, {&decision, 1});
  HandDecisionTo(peers_->owners(), tokens_, peers_->address(), m_, {&decision, 1});
  ASSERT_TRUE(Eventually([&] { return Model(far_, "m").recorded().size() == 1; }));
}

}  // namespace
}  // namespace bandana::server
