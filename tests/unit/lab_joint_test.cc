// The experiments of [SS18], on short runs.
#include <gtest/gtest.h>

#include <string>

#include "research/lab/neurips18/run.h"
#include "tests/support/status_matchers.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

Cell ShortCell(std::string algorithm, std::string label) {
  Cell cell;
  cell.algorithm = std::move(algorithm);
  cell.label = std::move(label);
  cell.epsilon = 1;
  cell.delta = 0.1;
  cell.environment = "sphere";
  cell.horizon = 700;
  cell.seed = 5;
  return cell;
}

TEST(LabJoint, EveryLabelRunsAndIsAFunctionOfItsCell) {
  for (const char* label :
       {"published", "published-wishart", "published-wishart-shifted", "auto", "epochs", "blt"}) {
    const auto first = RunJoint(ShortCell("linucb-jdp", label));
    const auto again = RunJoint(ShortCell("linucb-jdp", label));
    ASSERT_THAT(first, IsOk()) << label;
    ASSERT_THAT(again, IsOk()) << label;
    EXPECT_EQ(first->regret, again->regret) << label;
    EXPECT_EQ(first->reward, again->reward) << label;
    EXPECT_GE(first->regret, 0) << label;
    EXPECT_EQ(first->curve.back().round, 700u) << label;
    // V_t >= rho_min I: with its padding no Wishart sum is ever repaired, nor the shifted Gaussian.
    if (std::string(label).starts_with("published")) {
      EXPECT_EQ(first->measures.at("grams_repaired"), 0) << label;
    }
  }
}

TEST(LabJoint, AlgorithmsMeetTheSameRounds) {
  const auto random = RunJoint(ShortCell("random", "random"));
  const auto learned = RunJoint(ShortCell("linucb", "non-private"));
  const auto proven = RunJoint(ShortCell("linucb-jdp", "auto"));
  ASSERT_THAT(random, IsOk());
  ASSERT_THAT(learned, IsOk());
  ASSERT_THAT(proven, IsOk());
  EXPECT_EQ(random->regret, random->random_regret);
  EXPECT_EQ(learned->random_regret, random->random_regret);
  EXPECT_LT(learned->regret, 0.5 * random->regret);
  EXPECT_LT(proven->regret, 0.7 * random->regret);
  EXPECT_EQ(proven->mechanism, "epochs counter, Thompson 0.4");
}

TEST(LabJoint, NamesTheSettingThatIsWrong) {
  const auto refuses = [](const char* key, const char* value, const char* text) {
    Cell cell = ShortCell("linucb-jdp", "auto");
    cell.settings[key] = value;
    EXPECT_THAT(RunJoint(cell), StatusIs(absl::StatusCode::kInvalidArgument, text)) << key;
  };
  refuses("gap", "0.1", "gap is a setting of environment=gap");
  refuses("arms", "frozen", "arms");
  refuses("policy", "greedy", "policy");
  refuses("dimension", "1", "dimension");
  refuses("colour", "red", "unknown setting `colour`");
  Cell elsewhere = ShortCell("linucb", "non-private");
  elsewhere.environment = "gaussian";
  EXPECT_THAT(RunJoint(elsewhere),
              StatusIs(absl::StatusCode::kInvalidArgument, "environment must be sphere or gap"));
  elsewhere.environment = "gap";
  elsewhere.settings["gap"] = "0.1";
  EXPECT_THAT(RunJoint(elsewhere), IsOk());
}

}  // namespace
}  // namespace bandana::lab
