// Random jumps of the wall clock, restarts, confirmations, reports and repeats: no decision counts
// twice, the model's time never goes back, and what is decided once the clock is right is learnt.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/checked_clock.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

constexpr int kSeeds = 12;
constexpr int kSteps = 120;
constexpr absl::Duration kJumps[] = {absl::Hours(1), absl::Hours(48), absl::Hours(24 * 365),
                                     -absl::Hours(1), -absl::Hours(24 * 30)};

struct Kind {
  const char* name;
  std::string text;
  bool windowed = false;  // here
  bool local = false;
};

const char kWindow[] =
    " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }";

std::vector<Kind> Kinds() {
  const std::string central =
      "mode: CENTRAL_REWARD shared {} privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER"
      " counter { horizon: 1000 steps_max: 1000 } } ";
  return {{.name = "plain", .text = "mode: NON_PRIVATE shared {} token_lifetime { seconds: 120 }"},
          {.name = "windowed",
           .text = std::string("mode: NON_PRIVATE shared {}") + kWindow,
           .windowed = true},
          {.name = "central", .text = central + kWindow, .windowed = true},
          {.name = "local",
           .text = "mode: LOCAL_REWARD shared {} token_lifetime { seconds: 120 }"
                   " reporting { one_per_decision: true }"
                   " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
           .local = true}};
}

std::shared_ptr<const NoiseKey> TestKey() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{3});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

// A model in a process whose wall clock is not to be relied on; a restart is a process of its own.
class JumpingWorld {
 public:
  explicit JumpingWorld(const Kind& kind)
      : kind_(kind), spec_(SpecOf("name: 'm' dimension: 2 refresh_interval {} " + kind.text)) {
    Restart();
  }

  void Restart() {
    model_.reset();
    checked_.emplace(clock_);
    server::HostedModelOptions options;
    options.stepped = true;
    options.noise_key = TestKey();
    options.clock_ahead_max = absl::Hours(168);
    auto model = HostedModel::Open(spec_, folder_.path(), *checked_, options);
    ASSERT_THAT(model, IsOk());
    model_ = *std::move(model);
    model_->Step();
    newest_ = Now();
  }

  void Jump(absl::Duration by) {
    jumped_ += by;
    clock_.Jump(by);
  }
  void Right() { Jump(-jumped_); }

  void Pass(absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += absl::Seconds(5)) {
      clock_.Advance(absl::Seconds(5));
      model_->Step();
      EXPECT_GE(Now(), newest_);
      newest_ = Now();
    }
  }

  std::uint64_t Decide() {
    const std::uint64_t number = known_.size();
    Known& known = known_[number];
    known.decision = DecisionOf(*model_, *checked_, number, {0.6, 0.8});
    if (kind_.windowed) {
      EXPECT_THAT(model_->RecordDecision(known.decision), IsOk());
      model_->Step();
    }
    return number;
  }

  v1::OutcomeCode Report(std::uint64_t number) {
    Known& known = known_[number];
    ReportedOutcome outcome{.decision = known.decision};
    if (kind_.local) {
      outcome.output = 0;
    } else {
      outcome.reward = 0.5;
    }
    std::optional<absl::StatusOr<std::vector<ReportResult>>> answer;
    model_->Report({outcome}, [&](auto results) { answer = std::move(results); });
    model_->Step();
    EXPECT_TRUE(answer && answer->ok());
    if (!answer || !answer->ok()) return v1::OUTCOME_CODE_UNSPECIFIED;
    const v1::OutcomeCode code = answer->value().front().code;
    known.applied += code == v1::APPLIED;
    if (known.over) {
      EXPECT_EQ(code, v1::EXPIRED);
    }
    // Its id, or its window, is gone.
    known.over = code == v1::EXPIRED && (kind_.windowed || known.applied > 0);
    return code;
  }

  void Step(TestRng& rng) {
    const int kind = rng.Index(100);
    if (kind < 30) {
      Decide();
    } else if (kind < 65) {
      if (!known_.empty()) Report(static_cast<std::uint64_t>(rng.Index(known_.size())));
    } else if (kind < 75) {
      Jump(kJumps[rng.Index(std::size(kJumps))]);
    } else if (kind < 80) {
      Right();
    } else if (kind < 86) {
      Restart();
    } else if (kind < 88) {
      ASSERT_THAT(model_->Checkpoint(), IsOk());
    } else if (kind < 90) {
      Confirm();
    } else if (kind < 93) {
      Pass(absl::Minutes(11));
    } else {
      Pass(absl::Seconds(5 * (1 + rng.Index(12))));
    }
  }

  // Each decision is an event at most once: reported, or when its window closed.
  void CheckCounts() {
    Pass(absl::Minutes(11));
    std::uint64_t applied = 0;
    for (const auto& [number, known] : known_) {
      if (!kind_.windowed) {
        EXPECT_LE(known.applied, 1) << number;
      }
      applied += known.applied;
    }
    const std::uint64_t events = Events();
    EXPECT_LE(events, known_.size());
    if (!kind_.windowed) {
      EXPECT_EQ(events, applied);
    }
  }

  // Once the clock is right: what is decided is learnt, once, and nothing is amiss.
  void CheckLearns() {
    if (kind_.windowed) Pass(absl::Seconds(70));
    // Windows that were opened under another clock may close at any time.
    const bool exact = !kind_.windowed || model_->Stats().decisions_waiting() == 0;
    const std::uint64_t before = Events();
    const std::uint64_t number = Decide();
    Pass(absl::Seconds(10));
    EXPECT_EQ(Report(number), v1::APPLIED);
    Pass(absl::Seconds(90));
    const v1::OutcomeCode again = Report(number);
    EXPECT_EQ(again, kind_.windowed ? v1::EXPIRED : v1::DUPLICATE);
    Pass(absl::Seconds(60));
    // EXPIRED, or DUPLICATE where ids of the future keep this one.
    EXPECT_NE(Report(number), v1::APPLIED);
    if (exact) {
      EXPECT_EQ(Events(), before + 1);
    }
  }
  void Confirm() { ASSERT_THAT(model_->ConfirmClock(), IsOk()); }
  void CheckNothingDoubted() { EXPECT_TRUE(model_->Refusals().empty()); }
  bool doubts() const {
    const auto refusals = model_->Refusals();
    return refusals.size() == 1 && refusals[0].reason == server::RefusalReason::kClock;
  }

 private:
  struct Known {
    Decision decision;
    int applied = 0;
    bool over = false;  // EXPIRED for good
  };
  std::uint64_t Events() { return StatisticsOf(*model_).front().events; }
  absl::Time Now() const { return model_->TimeAt(checked_->Now()); }

  const Kind kind_;
  const ModelSpec spec_;
  const TempDir folder_;
  FakeClock clock_;
  absl::Duration jumped_;
  std::optional<CheckedClock> checked_;
  std::unique_ptr<HostedModel> model_;
  absl::Time newest_;
  std::map<std::uint64_t, Known> known_;
};

TEST(ClockJumps, NothingCountsTwiceAndTheModelGoesOn) {
  for (const Kind& kind : Kinds()) {
    for (int seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(std::string(kind.name) + " --seed=" + std::to_string(seed));
      TestRng rng(seed);
      JumpingWorld world(kind);
      for (int i = 0; i < kSteps; ++i) world.Step(rng);
      world.CheckCounts();
      world.Right();
      world.CheckLearns();
      world.Pass(absl::Minutes(11));
      world.Confirm();
      world.CheckNothingDoubted();
      world.Restart();
      world.CheckLearns();
      world.CheckNothingDoubted();
      world.CheckCounts();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Decide and report; the clock jumps for ten seconds, in which the same happens; it is right again.
TEST(ClockJumps, TenSecondsOfAWrongClockLoseNothing) {
  for (const Kind& kind : Kinds()) {
    for (const absl::Duration by : kJumps) {
      SCOPED_TRACE(std::string(kind.name) + " " + absl::FormatDuration(by));
      JumpingWorld world(kind);
      world.CheckLearns();
      const std::uint64_t before = world.Decide();
      world.Jump(by);
      const std::uint64_t meanwhile = world.Decide();
      world.Pass(absl::Seconds(5));
      EXPECT_TRUE(world.doubts());
      EXPECT_EQ(world.Report(before), v1::APPLIED);
      world.Pass(absl::Seconds(5));
      world.Right();
      EXPECT_EQ(world.Report(meanwhile), v1::APPLIED);
      world.CheckNothingDoubted();
      world.CheckLearns();
    }
  }
}

// As above where the process starts while the clock is wrong, and once more when it is right.
TEST(ClockJumps, ARestartUnderAWrongClockIsMended) {
  for (const Kind& kind : Kinds()) {
    for (const absl::Duration by : kJumps) {
      SCOPED_TRACE(std::string(kind.name) + " " + absl::FormatDuration(by));
      JumpingWorld world(kind);
      world.CheckLearns();
      world.Jump(by);
      world.Restart();
      EXPECT_EQ(world.doubts(), by > absl::Hours(168));
      world.CheckLearns();
      world.Right();
      world.CheckLearns();
      world.Restart();
      world.CheckLearns();
      world.CheckNothingDoubted();
      world.CheckCounts();
    }
  }
}

}  // namespace
}  // namespace bandana::testing
