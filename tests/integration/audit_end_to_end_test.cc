// bandana-audit as a program: its exit codes and outputs, and the audit of a running server through
// the SDK.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

std::string MustRead(const std::string& path) {
  return ReadFile(path, 1 << 20).value_or("cannot read " + path);
}

double NumberOf(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\": ");
  EXPECT_NE(at, std::string::npos) << key;
  return at == std::string::npos ? 0 : std::stod(json.substr(at + key.size() + 4));
}

TEST(AuditProgramTest, ListsProvenMechanismsAndTheRestOnRequest) {
  const ProcessResult proven = RunProgram("bandana-audit", {"list"});
  EXPECT_EQ(proven.exit_code, 0);
  EXPECT_THAT(proven.out, AllOf(StartsWith("randomized-response "), HasSubstr("\nblt "),
                                Not(HasSubstr("mutant-"))));
  EXPECT_THAT(RunProgram("bandana-audit", {"list", "--all"}).out,
              AllOf(StartsWith(proven.out), HasSubstr("\nmutant-sigma-0.95 ")));
}

TEST(AuditProgramTest, ExitCodeSaysWhetherTheClaimHolds) {
  const TempDir folder;
  const std::string json = folder.File("a.json");
  const auto run = [&](const std::string& mechanism) {
    return RunProgram("bandana-audit", {"run", mechanism, "--epsilon", "1", "--delta", "1e-5",
                                        "--trials", "20000", "--json", json});
  };
  EXPECT_EQ(run("laplace").exit_code, 0);
  const std::string right = MustRead(json);
  EXPECT_EQ(NumberOf(right, "claimed_epsilon"), 1);
  EXPECT_LE(NumberOf(right, "epsilon_lower_bound"), 1);
  EXPECT_GE(NumberOf(right, "epsilon_lower_bound"), 0.7);
  EXPECT_EQ(NumberOf(right, "confidence"), 1 - 1e-6);
  EXPECT_EQ(NumberOf(right, "trials"), 20'000);
  EXPECT_THAT(right, HasSubstr("\"verdict\": \"consistent\""));
  EXPECT_EQ(run("mutant-no-clipping").exit_code, 1);
  EXPECT_THAT(MustRead(json), HasSubstr("\"verdict\": \"violated\""));
  EXPECT_EQ(run("nonsense").exit_code, 2);
}

TEST(AuditProgramTest, RefusesMistakes) {
  EXPECT_EQ(RunProgram("bandana-audit", {}).exit_code, 2);
  EXPECT_EQ(RunProgram("bandana-audit", {"run", "laplace", "--trials=0"}).exit_code, 2);
  EXPECT_THAT(RunProgram("bandana-audit", {"run", "laplace", "--epsilon=nan"}).err,
              HasSubstr("epsilon must be in"));
  EXPECT_EQ(RunProgram("bandana-audit", {"--help"}).exit_code, 0);
}

// Alpha: AlphaOf("audit_end_to_end") = 1e-6, the program's default. The noise is the SDK's own. At
// 1000 decisions a side the bound of randomized response at epsilon 2 is about 1.45, deviation
// 0.09; a client that did not randomize would show 4 and more, and a server that mixed rewards up
// about 0.
TEST(AuditEndToEndTest, RewardsThroughSdkAndServerStayWithinTheClaim) {
  const TempDir folder;
  const auto server = ServerProcess::Start(
      {.config = "models { name: 'local' dimension: 2 independent {} mode: LOCAL_REWARD\n"
                 "  reward_binary: true privacy { epsilon: 2 }\n"
                 "  reporting { one_per_decision: true } }\n"
                 "models { name: 'raw' dimension: 2 independent {} mode: NON_PRIVATE }\n",
       .folder = folder.path()});
  ASSERT_THAT(server, IsOk());
  const std::string json = folder.File("a.json");
  const auto run = [&](const std::string& model) {
    return RunProgram("bandana-audit", {"end-to-end", "--target", (*server)->listen(), "--model",
                                        model, "--trials", "1000", "--json", json});
  };
  const ProcessResult result = run("local");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string found = MustRead(json);
  EXPECT_EQ(NumberOf(found, "claimed_epsilon"), 2);
  EXPECT_LE(NumberOf(found, "epsilon_lower_bound"), 2);
  EXPECT_GE(NumberOf(found, "epsilon_lower_bound"), 1.0);
  EXPECT_THAT(run("raw").err, HasSubstr("does not randomize rewards on the device"));
}

}  // namespace
}  // namespace bandana::testing
