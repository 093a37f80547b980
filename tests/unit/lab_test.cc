#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "research/lab/experiment.h"
#include "research/lab/figure.h"
#include "research/lab/noise.h"
#include "research/lab/output.h"
#include "research/lab/plan_settings.h"
#include "research/lab/recsys20/catalogue.h"
#include "research/lab/recsys20/run.h"
#include "research/lab/recsys20/served_learner.h"
#include "research/lab/recsys20/suite.h"
#include "research/lab/recsys20/world.h"
#include "research/lab/suites.h"
#include "tests/support/status_matchers.h"
#include "tools/base/gnuplot.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

Settings Given(std::vector<std::string> assignments) {
  return Settings::Parse(assignments).value();
}

Cell SmallCell(const std::string& algorithm, const std::string& label) {
  Cell cell;
  cell.algorithm = algorithm;
  cell.label = label;
  cell.environment = "gaussian";
  cell.settings = {{"users", "4"}, {"dimension", "5"}, {"arms", "50"}};
  cell.horizon = 403;  // not a multiple of the users
  cell.seed = 3;
  if (UsesEpsilon(label)) cell.epsilon = 5;
  if (UsesDelta(label)) cell.delta = 1e-5;
  return cell;
}

TEST(LabNoise, IsAFunctionOfSeedAndStreamHoweverItIsRead) {
  std::array<std::byte, 3000> whole{};
  std::array<std::byte, 3000> parts{};
  ASSERT_THAT(LabNoise::Create(1, 2).value()->Fill(whole), IsOk());
  const auto noise = LabNoise::Create(1, 2).value();
  for (std::size_t i = 0; i < parts.size(); i += 24)
    ASSERT_THAT(noise->Fill(std::span(parts).subspan(i, 24)), IsOk());
  EXPECT_EQ(whole, parts);
  ASSERT_THAT(LabNoise::Create(1, 3).value()->Fill(parts), IsOk());
  EXPECT_NE(whole, parts);
  ASSERT_THAT(LabNoise::Create(2, 2).value()->Fill(parts), IsOk());
  EXPECT_NE(whole, parts);
}

TEST(LabRun, EveryAlgorithmRunsUnderEachOfItsLabelsAndRepeats) {
  for (const Algorithm& algorithm : Algorithms()) {
    for (const std::string_view label : algorithm.labels) {
      const Cell cell = SmallCell(std::string(algorithm.name), std::string(label));
      SCOPED_TRACE(cell.algorithm + ", " + cell.label);
      const auto first = RunCollaborative(cell);
      ASSERT_THAT(first, IsOk());
      EXPECT_EQ(first->curve.back().round, 403u);
      EXPECT_EQ(first->curve.back().regret, first->regret);
      EXPECT_GT(first->regret, 0);
      EXPECT_LT(first->regret, 1.3 * first->random_regret);
      EXPECT_EQ(RunCollaborative(cell)->regret, first->regret);
    }
  }
}

// Nothing of the mechanisms is spent on the environment: the same decisions and rewards under all.
TEST(LabRun, AlgorithmsMeetTheSameWorld) {
  const double random_regret = RunCollaborative(SmallCell("random", "random"))->random_regret;
  EXPECT_EQ(RunCollaborative(SmallCell("colin", "non-private"))->random_regret, random_regret);
  EXPECT_EQ(RunCollaborative(SmallCell("ldp-colin", "counter"))->random_regret, random_regret);
}

TEST(LabRun, LearningBeatsChanceAndNoPrivacyBeatsPrivacy) {
  const auto regret = [](const char* algorithm, const char* label, double epsilon) {
    Cell cell = SmallCell(algorithm, label);
    cell.horizon = 3'000;
    if (cell.epsilon.has_value()) cell.epsilon = epsilon;
    return RunCollaborative(cell)->regret;
  };
  const double random = regret("random", "random", 0);
  const double open = regret("colin", "non-private", 0);
  EXPECT_LT(open, 0.05 * random);
  for (const char* label : {"counter", "randomizer", "auto", "centred"}) {
    const double strong = regret("ldp-colin", label, 1);
    const double weak = regret("ldp-colin", label, 10);
    EXPECT_LT(open, weak) << label;
    EXPECT_LT(weak, strong) << label;
    EXPECT_LT(strong, random) << label;
  }
}

TEST(LabRun, ThreadsDoNotMatter) {
  std::vector<Cell> cells;
  for (int seed = 1; seed <= 5; ++seed) {
    cells.push_back(SmallCell("ldp-colin", "counter"));
    cells.back().seed = seed;
  }
  const auto one = RunCells(RunCollaborative, cells, 1, nullptr);
  const auto three = RunCells(RunCollaborative, cells, 3, nullptr);
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(three, IsOk());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ((*one)[i].regret, (*three)[i].regret);
    EXPECT_EQ((*one)[i].cell.seed, i + 1);
  }
}

TEST(LabRun, NamesTheCellThatFailed) {
  Cell bad = SmallCell("ldp-colin", "counter");
  bad.delta = 0;
  EXPECT_THAT(RunCells(RunCollaborative, {bad}, 2, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, "ldp-colin (counter) at epsilon 5"));
  EXPECT_THAT(RunCollaborative(SmallCell("ldp-colin", "non-private")),
              StatusIs(absl::StatusCode::kInvalidArgument, "label of ldp-colin must be one of"));
  EXPECT_THAT(RunCollaborative(SmallCell("thompson", "auto")),
              StatusIs(absl::StatusCode::kInvalidArgument, "algorithm must be one of random"));
  Cell large = SmallCell("ldp-colin", "published");
  large.settings["users"] = "500";
  EXPECT_THAT(RunCollaborative(large),
              StatusIs(absl::StatusCode::kInvalidArgument, "<= 2000 rows"));
}

// A user's counter ends after ceil(T / N) events; users drawn unevenly would go on being served.
TEST(LabRun, AnExhaustedCounterKeepsServing) {
  Settings settings;
  const auto world = World::Create("gaussian", settings, 1).value();
  LearnerOptions options{.family = Family::kColin,
                         .scope = Scope::kLocal,
                         .epsilon = {1},
                         .delta = {1e-5},
                         .horizon = 100,
                         .seed = 1};
  const auto learner =
      MakeServed(*world, options, {.id = v1::COUNTER, .approximate = true, .counter = v1::BLT})
          .value();
  const std::vector<double> x = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 10; ++i) ASSERT_THAT(learner->Learn(0, x, 0.2), IsOk());
  const std::vector<double> mean = learner->Posterior(0).mean;
  ASSERT_THAT(learner->Learn(0, x, 0.5), IsOk());
  EXPECT_EQ(learner->Posterior(0).mean, mean);
}

// Odd events that a device may meet: no features, rewards far outside the range, missing ones.
TEST(LabRun, OddEventsDoNoHarm) {
  Settings settings;
  const auto world = World::Create("gaussian", settings, 1).value();
  const LearnerOptions options{.family = Family::kColin,
                               .scope = Scope::kLocal,
                               .epsilon = {1},
                               .delta = {1e-5},
                               .horizon = 1'000,
                               .seed = 1};
  std::vector<std::unique_ptr<Learner>> learners;
  for (const ServedMechanism& mechanism :
       {ServedMechanism{v1::REWARD_RANDOMIZER}, ServedMechanism{v1::CENTRED_RANDOMIZER},
        ServedMechanism{.id = v1::COUNTER, .approximate = true, .counter = v1::BLT}}) {
    learners.push_back(MakeServed(*world, options, mechanism).value());
  }
  const std::vector<double> zero(10, 0.0);
  std::vector<double> x = zero;
  x[3] = 1;
  for (const auto& learner : learners) {
    SCOPED_TRACE(learner->mechanism());
    for (const double reward :
         {0.2, 1e300, -1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
      ASSERT_THAT(learner->Learn(2, zero, reward), IsOk());
      ASSERT_THAT(learner->Learn(2, x, reward), IsOk());
    }
    // User 9 was never seen, but its friends were.
    for (const int node : {2, 9}) {
      for (const double value : learner->Posterior(node).mean) EXPECT_LT(std::abs(value), 100);
      for (int i = 0; i < 10; ++i) EXPECT_GT(learner->Posterior(node).covariance[11 * i], 0);
    }
  }
}

TEST(LabExperiment, MakesACellOfEveryCombinationThatFits) {
  const auto [suite, table] = *FindExperiment(Suites(), "recsys20-table1");
  const auto cells = CellsOf(*suite, *table,
                             Given({"algorithms=random,ldp-colin", "labels=random,published,auto",
                                    "epsilon=1,2", "users=5,10", "horizon=100", "noise=0.1"}),
                             3);
  ASSERT_THAT(cells, IsOk());
  // (1 without epsilon + 2 labels x 2 epsilons) x 2 users x 3 seeds.
  EXPECT_EQ(cells->size(), 30u);
  for (const Cell& cell : *cells) {
    EXPECT_EQ(cell.horizon, 100u);
    EXPECT_EQ(cell.settings.at("noise"), "0.1");
    EXPECT_EQ(cell.epsilon.has_value(), cell.label != "random");
    EXPECT_EQ(cell.delta.has_value(), cell.label == "auto");
  }
}

TEST(LabExperiment, EachHasCells) {
  for (const Suite* suite : Suites()) {
    for (const Experiment& experiment : suite->experiments) {
      const bool recorded = experiment.environment == "data";
      const auto cells = CellsOf(
          *suite, experiment, recorded ? Given({"data=/nowhere"}) : Settings(), experiment.seeds);
      ASSERT_THAT(cells, IsOk()) << experiment.name;
      if (recorded) {
        EXPECT_THAT(suite->run(cells->front()), StatusIs(absl::StatusCode::kNotFound));
        EXPECT_THAT(CellsOf(*suite, experiment, Settings(), 1),
                    StatusIs(absl::StatusCode::kFailedPrecondition, "--set data=DIR"));
      }
    }
  }
}

TEST(LabExperiment, NamesWhatARunDoesNotKnow) {
  Cell cell = SmallCell("colin", "non-private");
  cell.settings["colour"] = "red";
  EXPECT_THAT(RunCollaborative(cell),
              StatusIs(absl::StatusCode::kInvalidArgument, "unknown setting `colour`"));
}

TEST(LabExperiment, RefusesBadSettings) {
  const auto [suite, table] = *FindExperiment(Suites(), "recsys20-table1");
  const std::pair<const char*, const char*> bad[] = {
      {"epsilon=1,nan", "setting `epsilon` must list numbers in"},
      {"epsilon=0", "setting `epsilon` must list numbers in"},
      {"horizon=10.5", "setting `horizon` must list integers in"},
      {"delta=1", "setting `delta` must list numbers in"},
      {"colour=red", "unknown setting `colour`"},
      {"algorithms=thompson", "algorithm must be one of"},
      {"labels=shiny", "none of the labels shiny fits any of"},
      {"data=/tmp", "setting `data` is for experiments on data sets"},
  };
  for (const auto& [assignment, message] : bad)
    EXPECT_THAT(CellsOf(*suite, *table, Given({assignment}), 1),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  EXPECT_THAT(FindExperiment(Suites(), "table2"),
              StatusIs(absl::StatusCode::kInvalidArgument, "experiment must be one of"));
}

// t quantile 4.303 at two degrees of freedom; 1, 2, 6: mean 3, sd sqrt 7.
TEST(LabOutput, MeanAndItsInterval) {
  const double values[] = {1, 2, 6};
  EXPECT_DOUBLE_EQ(MeanOf(values).mean, 3);
  EXPECT_NEAR(MeanOf(values).half_width, 4.303 * std::sqrt(7.0 / 3), 1e-12);
  EXPECT_EQ(MeanOf(std::span(values, 1)).half_width, 0);
}

TEST(LabOutput, CsvHasARowARun) {
  const auto [suite, table] = *FindExperiment(Suites(), "recsys20-table1");
  const auto results =
      RunCells(RunCollaborative,
               {SmallCell("random", "random"), SmallCell("ldp-colin", "published")}, 1, nullptr);
  ASSERT_THAT(results, IsOk());
  const std::string csv = ToCsv(*table, *results);
  EXPECT_THAT(csv, StartsWith("experiment,algorithm,label,epsilon,delta,dimension,users,arms,"
                              "horizon,seed,regret,reward,random_regret,seconds,"));
  EXPECT_THAT(csv, HasSubstr("\nrecsys20-table1,random,random,,,5,4,10,403,3,"));
  EXPECT_THAT(csv, HasSubstr("\nrecsys20-table1,ldp-colin,published,5,,5,4,10,403,3,"));
  EXPECT_THAT(csv, HasSubstr("\"tree, coordinate Laplace\""));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_EQ(GroupBySeed(*results).size(), 2u);
  EXPECT_THAT(ToJson(*table, *results), HasSubstr("\"half_width_95\""));
  EXPECT_THAT(ToTable(*table, *results), HasSubstr("eps 5"));
}

// For any selection of runs, with and without baselines, one epsilon or many.
TEST(LabOutput, DrawsEveryFigureOfAnySelection) {
  if (!CheckGnuplot().ok()) GTEST_SKIP() << "gnuplot is not installed";
  const std::string path = ::testing::TempDir() + "/figure.svg";
  for (const Figure figure :
       {Figure::kRegretByEpsilon, Figure::kRegretByRound, Figure::kRegretGrowth, Figure::kSweep,
        Figure::kRegretByHorizon, Figure::kRewardByRound}) {
    const Experiment experiment{.name = "drawn", .figure = figure, .sweep = "users"};
    for (const bool baselines : {false, true}) {
      std::vector<Cell> cells = {SmallCell("ldp-colin", "auto")};
      if (baselines) {
        for (const char* algorithm : {"colin", "random"})
          cells.push_back(SmallCell(algorithm, algorithm[0] == 'c' ? "non-private" : "random"));
        cells.push_back(SmallCell("ldp-colin", "auto"));
        cells.back().epsilon = 1;
      }
      const auto results = RunCells(RunCollaborative, cells, 1, nullptr);
      ASSERT_THAT(results, IsOk());
      ASSERT_THAT(DrawFigure(Recsys20Suite(), experiment, *results, path), IsOk());
      const std::string svg = ReadFile(path, 1 << 24).value();
      EXPECT_THAT(svg, HasSubstr("auto"));
      if (baselines) {
        EXPECT_THAT(svg, HasSubstr("random"));
      }
    }
  }
  const auto open = RunCells(RunCollaborative, {SmallCell("colin", "non-private")}, 1, nullptr);
  EXPECT_THAT(DrawFigure(Recsys20Suite(), {.name = "drawn"}, *open, path), IsOk());
  EXPECT_THAT(DrawFigure(Recsys20Suite(), {.name = "drawn"}, {}, path),
              StatusIs(absl::StatusCode::kInvalidArgument, "there is no run"));
}

TEST(LabPlan, SettingsBecomeAQuestion) {
  const auto request = PlanRequestFromSettings(
      Given({"mode=central", "users=4", "influence_of_others=1", "events=50", "delta=0"}));
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->mode, Mode::kCentralReward);
  EXPECT_EQ(request->coupling->nodes(), 4);
  EXPECT_EQ(request->events_per_node, 50u);
  EXPECT_THAT(PlanRequestFromSettings(Given({"event=5"})),
              StatusIs(absl::StatusCode::kInvalidArgument, "unknown setting `event`"));
}

}  // namespace
}  // namespace bandana::lab
