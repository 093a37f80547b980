// `bandana-audit replay`: no setting lets noise meet other data, and each fault is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/status_matchers.h"
#include "tools/audit/replay.h"
#include "tools/audit/replay_faults.h"
#include "tools/audit/replay_model.h"
#include "tools/audit/replay_settings.h"

namespace bandana::audit {
namespace {

using namespace bandana::testing;

absl::StatusOr<ReplayCounts> Audited(std::string_view mutant) {
  return RunReplay(mutant, [](std::string_view) {});
}

TEST(AuditReplayTest, TheShippedServerHasNoViolation) {
  const auto counts = Audited("");
  ASSERT_THAT(counts, testing::IsOk());
  EXPECT_THAT(counts->violations, IsEmpty());
  EXPECT_EQ(counts->settings, FieldsOfModelConfig().size());
  EXPECT_EQ(counts->cases, counts->equal + counts->independent + counts->refused);
  EXPECT_GT(counts->equal, 20 * ReplayModels().size());
  EXPECT_GE(counts->independent, ReplayModels().size());
  const std::string json = ToJson(*counts);
  EXPECT_THAT(json, HasSubstr("\"violations\": 0"));
  EXPECT_THAT(json, HasSubstr("\"settings\": "));
  EXPECT_THAT(json, HasSubstr("\"cases\": "));
}

TEST(AuditReplayTest, EveryFieldOfModelConfigIsInTheTable) {
  EXPECT_THAT(CheckSettings(), testing::IsOk());
  EXPECT_THAT(FieldsOfModelConfig(), Contains("privacy.counter.horizon"));
  EXPECT_THAT(FieldsOfModelConfig(), Contains("shared"));
}

TEST(AuditReplayTest, EveryModeAndMechanismIsRun) {
  std::set<std::pair<int, int>> seen;
  for (const ReplayModel& model : ReplayModels()) {
    seen.emplace(model.config.mode(), model.config.privacy().mechanism());
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(
                        ::testing::Pair(v1::CENTRAL_REWARD, v1::COUNTER),
                        ::testing::Pair(v1::CENTRAL_REWARD, v1::SHAPED_COUNTER),
                        ::testing::Pair(v1::CENTRAL_REWARD, v1::POOLED_COUNTER),
                        ::testing::Pair(v1::CENTRAL_REWARD, v1::REWARD_RANDOMIZER),
                        ::testing::Pair(v1::JOINT, v1::COUNTER),
                        ::testing::Pair(v1::JOINT, v1::SPARSE_RELEASE)));
}

struct Caught {
  const char* mutant;
  const char* by;  // a part of one violation
};

class ReplayMutantTest : public ::testing::TestWithParam<Caught> {};

TEST_P(ReplayMutantTest, IsCaught) {
  const auto counts = Audited(GetParam().mutant);
  ASSERT_THAT(counts, testing::IsOk());
  EXPECT_THAT(counts->violations, Contains(HasSubstr(GetParam().by)));
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, ReplayMutantTest,
    ::testing::Values(
        Caught{"noise-without-input",
               "joint-blt/once, restart, another build (every reward): the same noise on other"},
        Caught{"identity-without-bounds",
               "joint-epochs/once, restart, feature_l2_max (feature_l2_max: 2): independent noise"},
        Caught{"same-noise-other-bound",
               "joint-blt/once, restart, feature_l2_max (feature_l2_max: 2): the same noise on"},
        Caught{"last-increment-only",
               "joint-epochs/once, restart, another build (one reward): the same noise on other"},
        Caught{"chain-anew-at-restore",
               "central-blt/once, restart, nothing (): independent noise, not equal releases"}));

TEST(AuditReplayTest, EveryMutantIsTested) {
  EXPECT_EQ(ReplayFaults().size(), 1u + 5u);
  EXPECT_THAT(Audited("no-such-mutant"),
              testing::StatusIs(absl::StatusCode::kNotFound, "no mutant"));
}

}  // namespace
}  // namespace bandana::audit
