// Random interleavings of reports, duplicates, restarts, checkpoints, epochs and passing time: the
// statistics are those of each distinct decision applied once, as a model of a few lines says.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

constexpr int kSeeds = 8;
constexpr int kSteps = 150;

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, ModelSpec spec)
      : rng_(seed), spec_(std::move(spec)), windowed_(spec_.public_spec.reward_window.has_value()) {
    Reopen();
  }

  void Step() {
    const int kind = rng_.Index(100);
    if (kind < 45) {
      Decide();
    } else if (kind < 85) {
      ReportSome();
    } else if (kind < 90) {
      Reopen();
    } else if (kind < 94) {
      ASSERT_THAT(model_->Checkpoint(), IsOk());
    } else if (kind < 96) {
      ASSERT_THAT(model_->OpenEpoch(), IsOk());
      for (auto& [number, known] : known_) known.over = true;
    } else {
      PassTime(absl::Seconds(1 + rng_.Index(40)));
    }
  }

  void Check() {
    PassTime(absl::Hours(2));
    std::map<std::string, Expected> expected;
    for (const auto& [number, known] : known_) {
      if (!known.logged) continue;
      Expected& e = expected[known.decision.user];
      const auto& x = known.decision.arms[0].features;
      ++e.events;
      for (int i = 0; i < 2; ++i) e.moment[i] += x[i] * known.reward;
    }
    const std::vector<NodeStatistics> statistics = StatisticsOf(*model_);
    std::uint64_t events = 0;
    for (const auto& [user, e] : expected) {
      const int node = *model_->ResolveUser(user.empty() ? "0" : user);
      ASSERT_GE(node, 0);
      EXPECT_EQ(statistics[node].events, e.events) << user;
      for (int i = 0; i < 2; ++i) EXPECT_NEAR(statistics[node].moment[i], e.moment[i], 1e-9);
      events += e.events;
    }
    std::uint64_t total = 0;
    for (const NodeStatistics& s : statistics) total += s.events;
    EXPECT_EQ(total, events);
    EXPECT_EQ(model_->Stats().reports_applied(), applied_);
    EXPECT_EQ(model_->Stats().reports_duplicate(), duplicates_);
  }

 private:
  struct Known {
    Decision decision;
    bool logged = false;  // will become an event
    bool reported = false;
    bool over = false;  // of an earlier epoch
    double reward = 0.25;
  };
  struct Expected {
    std::uint64_t events = 0;
    double moment[2] = {0, 0};
  };

  void Reopen() {
    model_.reset();
    server::HostedModelOptions options;
    options.tick_max = absl::Milliseconds(1);
    auto model = HostedModel::Open(spec_, folder_.path(), clock_, options);
    ASSERT_THAT(model, IsOk());
    model_ = *std::move(model);
  }

  void Decide() {
    const std::uint64_t number = known_.size();
    const std::string user =
        spec_.coupling.independent() ? "user" + std::to_string(rng_.Index(5)) : "";
    Known& known = known_[number];
    known.decision = DecisionOf(*model_, clock_, number, rng_.UnitVector(2), user);
    // A window model sometimes loses the entry, as in a crash.
    if (windowed_ && rng_.Index(4) != 0) {
      ASSERT_THAT(model_->RecordDecision(known.decision), IsOk());
      known.logged = true;
    }
  }

  void ReportSome() {
    if (known_.empty()) return;
    std::vector<ReportedOutcome> outcomes;
    std::vector<std::uint64_t> numbers;
    for (int i = rng_.Index(4); i >= 0; --i) {
      const std::uint64_t number = static_cast<std::uint64_t>(rng_.Index(known_.size()));
      numbers.push_back(number);
      outcomes.push_back({.decision = known_[number].decision, .reward = rng_.Index(5) / 4.0});
    }
    const absl::Time now = clock_.Now();
    const auto results = ReportAll(*model_, outcomes);
    ASSERT_THAT(results, IsOk());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      Known& known = known_[numbers[i]];
      const bool late = windowed_ && now >= known.decision.time + absl::Seconds(60);
      const bool closed = windowed_ && (late || !known.logged);
      v1::OutcomeCode expected = v1::APPLIED;
      if (known.reported && !(windowed_ && (late || known.over))) {
        expected = v1::DUPLICATE;
        ++duplicates_;
      } else if (closed && !known.over) {
        expected = v1::EXPIRED;
      } else if (known.over) {
        expected = v1::REJECTED;
      } else {
        known.logged = known.reported = true;
        known.reward = *outcomes[i].reward;
        ++applied_;
      }
      EXPECT_EQ((*results)[i].code, expected);
    }
  }

  // Lets the model notice: its time entry closes what is due.
  void PassTime(absl::Duration by) {
    clock_.Advance(by);
    if (!windowed_) return;
    std::uint64_t due = 0;
    for (const auto& [number, known] : known_) {
      due +=
          known.logged && (known.over || clock_.Now() >= known.decision.time + absl::Seconds(60));
    }
    ASSERT_TRUE(Eventually([&] { return StatisticsOf(*model_)[0].events >= due; }));
  }

  TestRng rng_;
  TempDir folder_;
  FakeClock clock_;
  const ModelSpec spec_;
  const bool windowed_;
  std::unique_ptr<HostedModel> model_;
  std::map<std::uint64_t, Known> known_;
  std::uint64_t applied_ = 0;
  std::uint64_t duplicates_ = 0;
};

void RunSeeds(const ModelSpec& spec) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed, spec);
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) run.Step();
    run.Check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(HostedModelProperty, EachReportedDecisionCountsOnce) { RunSeeds(IndependentSpec()); }

TEST(HostedModelProperty, EachDecisionOfAWindowModelCountsOnce) { RunSeeds(WindowSpec()); }

}  // namespace
}  // namespace bandana::testing
