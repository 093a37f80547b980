// The device as one function of state, event and time, under hosts that are good, slow or hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "client/core/device.h"
#include "client/src/store/key_sealer.h"
#include "common/design/wire_messages.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/hostile_host.h"
#include "tests/support/mechanisms.h"
#include "tests/support/memory_rows.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

constexpr absl::Duration kWindow = absl::Seconds(10);

// A device of a model whose rewards are private, with a window, on a host that behaves.
class DeviceTest : public ::testing::Test {
 protected:
  void Open(MemoryRows::Content content = MemoryRows::NewStore('d')) {
    device_.reset();
    calls_.clear();
    auto rows = std::make_unique<MemoryRows>(std::move(content));
    rows_ = rows.get();
    auto tables = Tables::Create(std::move(rows), [](std::string_view identity) {
      return KeySealer::Create(std::string(32, 'k'), identity);
    });
    ASSERT_THAT(tables, IsOk());
    device_ = std::make_unique<Device>(*std::move(tables), &bits_,
                                       [this](const StoreMark& mark) { mark_ = mark; });
    absl::Status started = absl::UnknownError("");
    Step([&] { device_->Start(mark_, [&](const absl::Status& status) { started = status; }); });
    ASSERT_THAT(started, IsOk());
    ClientOptions options;
    options.target = "host";
    options.model = spec_.name;
    Step([&] {
      device_->Connect(options, {.durable = true},
                       [this](absl::StatusOr<Device::ClientId> made) { connected_ = made; });
    });
    AnswerModel();
    ASSERT_THAT(connected_, IsOk());
  }
  void AnswerModel() {
    v1::GetModelResponse model = ModelMessage(spec_);
    Answer(Method::kGetModel, model.SerializeAsString());
  }
  void Step(const std::function<void()>& event) { Take(device_->Step(now_, event)); }
  void Take(Device::Result result) {
    wake_at_ = result.wake_at;
    for (auto& call : result.calls) calls_.push_back(std::move(call));
    for (const auto& told : result.told) told();
  }
  // Answers the call that waits first, which is one of that method.
  void Answer(Method method, const std::string& response) {
    ASSERT_FALSE(calls_.empty());
    ASSERT_EQ(calls_.front().method, method);
    const Device::Call call = calls_.front();
    calls_.erase(calls_.begin());
    Step([&] { device_->Answered(call.id, {}, response); });
  }
  void Pass(absl::Duration time) {
    now_.wall += time;
    now_.elapsed += time;
    Take(device_->Wake(now_));
  }
  ClientCore& core() { return *device_->Find(*connected_); }
  Selection Select() {
    absl::StatusOr<Selection> chosen = absl::UnknownError("");
    const std::vector<double> arms = {1, 0};
    Step([&] {
      core().Select("u", Arms::Inline(arms), 1,
                    [&](absl::StatusOr<Selection> selection) { chosen = std::move(selection); });
    });
    v1::SelectResponse response;
    response.add_positions(0);
    for (auto* list : {response.mutable_scores(), response.mutable_means(),
                       response.mutable_widths(), response.mutable_propensities()}) {
      list->Add(0.5);
    }
    response.set_token("token");
    Answer(Method::kSelect, response.SerializeAsString());
    EXPECT_THAT(chosen, IsOk());
    return *chosen;
  }

  PublicSpec spec_ = WindowSpec(kWindow, 0);
  SeededBits bits_{1};
  Device::Now now_{.wall = absl::FromUnixSeconds(1'800'000'000), .elapsed = absl::Seconds(5)};
  MemoryRows* rows_ = nullptr;
  std::optional<StoreMark> mark_;
  std::unique_ptr<Device> device_;
  absl::StatusOr<Device::ClientId> connected_ = absl::UnknownError("");
  std::vector<Device::Call> calls_;
  std::optional<absl::Duration> wake_at_;
};

TEST_F(DeviceTest, AWindowEndsInOneReportAndTheHostIsToldWhen) {
  Open();
  Select();
  EXPECT_THAT(calls_, IsEmpty());
  ASSERT_TRUE(wake_at_);
  EXPECT_GE(*wake_at_ - now_.elapsed, kWindow);
  Pass(kWindow - absl::Milliseconds(1));
  EXPECT_THAT(calls_, IsEmpty());  // an early wake brings nothing
  Pass(*wake_at_ - now_.elapsed);
  ASSERT_EQ(calls_.size(), 1);
  EXPECT_EQ(calls_[0].method, Method::kSubmit);
  v1::SubmitRequest request;
  ASSERT_TRUE(request.ParseFromString(calls_[0].request));
  ASSERT_EQ(request.reports_size(), 1);
  EXPECT_EQ(request.reports(0).token(), "token");
}

// The device slept, or the page was in the background: its alarm comes late, and a reaction first.
TEST_F(DeviceTest, AReactionSendsNothingThatWasDueAndLeavesTheAlarmAlone) {
  Open();
  Select();
  Pass(kWindow / 2);
  const Selection later = Select();
  const auto alarm = wake_at_;
  now_.wall += kWindow / 2 + kWindow / 4;
  now_.elapsed += kWindow / 2 + kWindow / 4;
  absl::Status taken = absl::UnknownError("");
  Step([&] {
    core().Report(
        later, 1.0, std::nullopt, [&](const absl::Status& status) { taken = status; }, nullptr);
  });
  EXPECT_THAT(taken, IsOk());
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_EQ(wake_at_, alarm);
  Pass(absl::ZeroDuration());
  EXPECT_EQ(calls_.size(), 1);  // the alarm at last
}

TEST_F(DeviceTest, ACallThatIsNeverAnsweredIsSentAgainAsTheSameBytes) {
  Open();
  Select();
  Pass(2 * kWindow);
  ASSERT_EQ(calls_.size(), 1);
  const std::string request = calls_[0].request;
  calls_.clear();  // lost
  Pass(absl::Minutes(2));
  Pass(absl::Minutes(2));
  ASSERT_EQ(calls_.size(), 1);
  EXPECT_EQ(calls_[0].request, request);
}

TEST_F(DeviceTest, NothingLeavesWhileTheCommitOfItsDrawIsUnanswered) {
  Open();
  Select();
  rows_->commits = MemoryRows::Commits::kUnanswered;
  Pass(2 * kWindow);
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_FALSE(wake_at_);  // nothing to do before the answer
  rows_->commits = MemoryRows::Commits::kStand;
  const auto answer = rows_->answer;
  Step([&] { answer(absl::OkStatus()); });
  EXPECT_EQ(calls_.size(), 1);
  Step([&] { answer(absl::UnavailableError("no")); });  // its first answer counts
  EXPECT_EQ(calls_.size(), 1);
}

TEST_F(DeviceTest, ACommitThatFailsIsDrawnAnewLater) {
  Open();
  Select();
  rows_->commits = MemoryRows::Commits::kFail;
  Pass(2 * kWindow);
  EXPECT_THAT(calls_, IsEmpty());
  rows_->commits = MemoryRows::Commits::kStand;
  Pass(absl::Seconds(2));
  EXPECT_EQ(calls_.size(), 1);
}

TEST_F(DeviceTest, AClockThatStepsBackAYearOpensNoWindowAgain) {
  Open();
  const Selection selection = Select();
  Pass(kWindow + absl::Milliseconds(1));
  Select();  // the device looks at the time
  now_.wall -= absl::Hours(24 * 365);
  std::vector<Delivery> told;
  Step([&] {
    core().Report(
        selection, 1.0, std::nullopt, [](const absl::Status&) {},
        [&](Delivery delivery) { told.push_back(delivery); });
  });
  EXPECT_THAT(told, ::testing::ElementsAre(Delivery::kExpired));
}

TEST_F(DeviceTest, AnOlderCopyOfTheRowsIsCharged) {
  Open();
  const MemoryRows::Content before = rows_->durable;
  Select();
  Open(before);
  Pass(2 * kWindow);
  EXPECT_THAT(calls_, IsEmpty());  // the decision is forgotten, and its event is spent
  PrivacySpent spent;
  Step([&] {
    core().Spent("u", [&](absl::StatusOr<PrivacySpent> found) { spent = found.value_or(spent); });
  });
  EXPECT_GE(spent.events, 1);
}

TEST_F(DeviceTest, RowsOfAnotherStoreAreRefused) {
  Open();
  auto rows = std::make_unique<MemoryRows>(MemoryRows::NewStore('e'));
  auto tables = Tables::Create(std::move(rows), [](std::string_view identity) {
    return KeySealer::Create(std::string(32, 'k'), identity);
  });
  ASSERT_THAT(tables, IsOk());
  Device other(*std::move(tables), &bits_, nullptr);
  absl::Status started;
  other.Step(now_,
             [&] { other.Start(mark_, [&](const absl::Status& status) { started = status; }); });
  EXPECT_THAT(started, StatusIs(absl::StatusCode::kDataLoss, "another store"));
}

TEST_F(DeviceTest, AClosedClientMakesNoCallAndWhatIsQueuedStays) {
  Open();
  Select();
  const Device::ClientId closed = *connected_;
  Step([&] { device_->Close(closed); });
  EXPECT_EQ(device_->Find(closed), nullptr);
  Pass(2 * kWindow);
  EXPECT_THAT(calls_, IsEmpty());
  Open(rows_->durable);
  Pass(absl::ZeroDuration());
  EXPECT_EQ(calls_.size(), 1);
}

// A server of ill will: another answer to GetModel for a client that connects to the same device.
TEST_F(DeviceTest, APolicyIsAgreedToByItsTextAlone) {
  Open();
  const auto connect = [&](const v1::GetModelResponse& model) {
    ClientOptions options;
    options.target = "host";
    options.model = spec_.name;
    options.policy.epsilon_max = 1;
    connected_ = absl::UnknownError("");
    Step([&] {
      device_->Connect(options, {.durable = true},
                       [this](absl::StatusOr<Device::ClientId> made) { connected_ = made; });
    });
    Answer(Method::kGetModel, model.SerializeAsString());
    return connected_.status();
  };
  const v1::GetModelResponse good = ModelMessage(spec_);
  v1::GetModelResponse text;
  text.set_policy_text(good.policy_text());
  text.set_policy_hash(good.policy_hash());
  text.set_table_digest(good.table_digest());
  EXPECT_THAT(connect(text), IsOk());

  PublicSpec weaker = spec_;
  weaker.epsilon = {2};
  const v1::GetModelResponse weak = ModelMessage(weaker);
  v1::GetModelResponse model = text;
  model.set_policy_text(weak.policy_text());
  EXPECT_THAT(connect(model), StatusIs(Code::kFailedPrecondition, "policy_hash is not"));
  model.set_policy_hash(weak.policy_hash());
  EXPECT_THAT(connect(model), StatusIs(Code::kFailedPrecondition, "table_digest"));
  model.set_table_digest(weak.table_digest());
  EXPECT_THAT(connect(model), StatusIs(Code::kFailedPrecondition, "weaker"));
  // The fields of a stronger one do not help.
  model = good;
  model.set_policy_text(weak.policy_text());
  model.set_policy_hash(weak.policy_hash());
  EXPECT_THAT(connect(model), StatusIs(Code::kFailedPrecondition, "epsilon of model fake is not"));
  model = good;
  model.set_table_digest(weak.table_digest());
  EXPECT_THAT(connect(model), StatusIs(Code::kFailedPrecondition, "table_digest"));
}

// Random programs against every kind of model. Error probability: none; each problem is a fault.
TEST(HostileHostTest, NothingLeavesThatThePolicyDoesNotAllow) {
  const std::vector<HostileHost::Options> models = {
      {.spec = WindowSpec(absl::Seconds(1), 0)},
      {.spec = WindowSpec(absl::Seconds(1), 0), .leave = ClientOptions::Leave::kAtStart},
      {.spec = LocalSpec()},
      {.spec = CounterModelSpec()},
      {.spec = ContextModelSpec()},
      {.spec = RawSpec(), .events_per_user_max = 1'000'000}};
  int selections = 0;
  int reports = 0;
  int refused = 0;
  for (std::size_t model = 0; model < models.size(); ++model) {
    for (int seed = 0; seed < 40; ++seed) {
      std::mt19937_64 random(1000 * model + seed);
      std::string program(3 * 150, '\0');
      for (char& byte : program) byte = static_cast<char>(random());
      HostileHost host(models[model]);
      host.Play(program);
      EXPECT_THAT(host.problems(), IsEmpty()) << "model " << model << " seed " << seed;
      selections += host.selections();
      reports += host.reports_sent();
      refused += host.refused_starts();
    }
  }
  EXPECT_GT(selections, 500);
  EXPECT_GT(reports, 200);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace bandana::device
