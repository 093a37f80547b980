// The audit's registry, runner and outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "tests/support/failing_bits.h"
#include "tests/support/status_matchers.h"
#include "tools/audit/linear_attack.h"
#include "tools/audit/registry.h"
#include "tools/audit/report.h"
#include "tools/audit/runner.h"

namespace bandana::audit {
namespace {

using namespace bandana::testing;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

AuditOptions Options(std::uint64_t trials = 1000) {
  return {.claim = {{1}, {1e-5}}, .trials = trials, .seed = 1};
}

Subject Named(std::string_view name) { return *FindSubject(name); }

TEST(RegistryTest, NamesAreDistinctWordsAndStandingsAreGrouped) {
  std::set<std::string_view> names;
  Standing last = Standing::kProven;
  for (const Subject& subject : Subjects()) {
    EXPECT_TRUE(names.insert(subject.name).second) << subject.name;
    EXPECT_EQ(subject.name.find_first_of(" \t\""), std::string_view::npos) << subject.name;
    EXPECT_EQ(subject.standing == Standing::kMutant, subject.name.starts_with("mutant-"));
    EXPECT_GE(static_cast<int>(subject.standing), static_cast<int>(last)) << subject.name;
    last = subject.standing;
  }
  EXPECT_EQ(Subjects().front().standing, Standing::kProven);
  EXPECT_EQ(last, Standing::kMutant);
}

// A mechanism without a mutant of its own: nobody knows whether its audit would notice.
TEST(RegistryTest, EveryMechanismHasAMutantOfItsOwn) {
  std::set<std::string_view> broken;
  for (const Subject& subject : Subjects()) {
    const bool is_mutant = subject.standing == Standing::kMutant;
    EXPECT_EQ(is_mutant, !subject.mutant_of.empty()) << subject.name;
    if (!is_mutant) continue;
    EXPECT_THAT(FindSubject(subject.mutant_of), IsOk()) << subject.name;
    broken.insert(subject.mutant_of);
  }
  for (const Subject& subject : Subjects()) {
    EXPECT_EQ(broken.contains(subject.name), subject.standing == Standing::kProven) << subject.name;
  }
}

// The rows of docs/privacy/audit.md are those of the registry, in its order, read by its rules.
TEST(RegistryTest, TheTableInTheNoteHasEveryRow) {
  std::ifstream note(BANDANA_SOURCE_DIR "/docs/privacy/audit.md");
  ASSERT_TRUE(note);
  std::vector<std::string> rows, wanted;
  for (std::string line; std::getline(note, line);) {
    if (!rows.empty() && line.empty()) break;  // other tables follow
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    ASSERT_EQ(cells.size(), 8) << line;
    rows.push_back(absl::StrCat(cells[0], " ", cells[1], " ", cells[3] == "0" ? "pure" : "curve",
                                " ", cells[7]));
  }
  for (const Subject& subject : Subjects()) {
    // docs/privacy/published.md says which claims of the papers hold.
    const bool violated = subject.standing == Standing::kMutant || subject.name == "wz20-laplace";
    wanted.push_back(absl::StrCat("| `", ToAbsl(subject.name), "` ",
                                  ToAbsl(StandingName(subject.standing)), " ",
                                  subject.claim == ClaimKind::kPure ? "pure" : "curve", " ",
                                  violated ? "violated |" : "consistent |"));
  }
  EXPECT_THAT(rows, ::testing::ElementsAreArray(wanted));
}

TEST(RegistryTest, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(FindSubject("gauss"), StatusIs(absl::StatusCode::kNotFound, "no mechanism `gauss`"));
  EXPECT_THAT(FindSubject("").status().message(), HasSubstr("randomized-response"));
}

TEST(RegistryTest, EverySubjectTakesClaimsFromWeakToStrong) {
  for (const Subject& subject : Subjects()) {
    for (const double epsilon : {0.1, 8.0}) {
      AuditOptions options = Options(2);
      options.claim.epsilon = {epsilon};
      EXPECT_THAT(RunAudit(subject, options), IsOk()) << subject.name << " at " << epsilon;
    }
  }
}

TEST(RunAuditTest, RefusesBadOptions) {
  const auto refused = [](const std::string& field, auto change) {
    AuditOptions options = Options();
    change(options);
    EXPECT_THAT(RunAudit(Named("gaussian"), options),
                StatusIs(absl::StatusCode::kInvalidArgument, field));
  };
  for (const double bad : {0.0, -1.0, kNan, 1001.0}) {
    refused("epsilon must be", [&](AuditOptions& o) { o.claim.epsilon = {bad}; });
  }
  for (const double bad : {-1e-9, kNan, 1.0}) {
    refused("delta must be", [&](AuditOptions& o) { o.claim.delta = {bad}; });
  }
  refused("delta must be", [](AuditOptions& o) { o.claim.delta = {0}; });
  refused("trials must be", [](AuditOptions& o) { o.trials = 0; });
  refused("trials must be", [](AuditOptions& o) { o.trials = 1'000'000'000'000; });
  for (const double bad : {0.0, kNan, 0.6}) {
    refused("alpha must be", [&](AuditOptions& o) { o.alpha = bad; });
  }
  refused("threads must be", [](AuditOptions& o) { o.threads = 0; });
}

TEST(RunAuditTest, PureMechanismsIgnoreDelta) {
  AuditOptions options = Options();
  const AuditResult some = *RunAudit(Named("laplace"), options);
  options.claim.delta = {0};
  const AuditResult none = *RunAudit(Named("laplace"), options);
  EXPECT_EQ(some.lower, none.lower);
}

TEST(RunAuditTest, SeededCountsDoNotDependOnThreads) {
  AuditOptions options = Options(10'000);
  const AuditResult one = *RunAudit(Named("randomized-response"), options);
  options.threads = 3;
  const AuditResult three = *RunAudit(Named("randomized-response"), options);
  EXPECT_EQ(one.hits.on_p, three.hits.on_p);
  EXPECT_EQ(one.hits.on_q, three.hits.on_q);
  options.seed = 2;
  EXPECT_NE(RunAudit(Named("randomized-response"), options)->hits.on_p, one.hits.on_p);
}

TEST(RunAuditTest, ADeviceTakesTrialsOfSeveralThreads) {
  AuditOptions options = Options(2000);
  options.claim = {.epsilon = {1}};
  options.threads = 4;
  EXPECT_THAT(RunAudit(Named("context-report"), options), IsOk());
}

TEST(RunAuditTest, WithoutASeedTheSystemDraws) {
  AuditOptions options = Options(100'000);
  options.seed.reset();
  const AuditResult first = *RunAudit(Named("randomized-response"), options);
  const AuditResult second = *RunAudit(Named("randomized-response"), options);
  EXPECT_FALSE(first.hits.on_p == second.hits.on_p && first.hits.on_q == second.hits.on_q);
}

TEST(RunAuditTest, TrialsAreRunsOnEachNeighbour) {
  const Subject always = {
      "always", Standing::kProven, ClaimKind::kPure, false, "", [](const Claim&) {
        return absl::StatusOr<Attack>([](Neighbour neighbour, BitSource&) {
          return absl::StatusOr<bool>(neighbour == Neighbour::kP);
        });
      }};
  AuditOptions options = Options(9'999);
  options.threads = 2;
  const AuditResult result = *RunAudit(always, options);
  EXPECT_EQ(result.hits.trials, 9'999);
  EXPECT_EQ(result.hits.on_p, 9'999);
  EXPECT_EQ(result.hits.on_q, 0);
  EXPECT_TRUE(result.violated);
  EXPECT_TRUE(std::isfinite(result.lower.value));
}

TEST(RunAuditTest, ErrorsOfAnAttackEndTheAudit) {
  const Subject broken = {
      "broken", Standing::kProven, ClaimKind::kPure, false, "", [](const Claim&) {
        return absl::StatusOr<Attack>([](Neighbour, BitSource&) {
          return absl::StatusOr<bool>(absl::UnavailableError("dry"));
        });
      }};
  AuditOptions options = Options(100'000);
  options.threads = 2;
  EXPECT_THAT(RunAudit(broken, options), StatusIs(absl::StatusCode::kUnavailable, "dry"));
}

TEST(LinearAttackTest, FailsWhenTheSourceIsDryAndWhenNothingDiffers) {
  const auto attack = Named("gaussian").make({{1}, {1e-5}});
  ASSERT_THAT(attack, IsOk());
  FailingBits dry(0);
  EXPECT_THAT((*attack)(Neighbour::kP, dry), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
  const Release constant = [](Neighbour, BitSource&) {
    return absl::StatusOr<std::vector<double>>({1, 2});
  };
  EXPECT_THAT(MakeLinearAttack(constant, Threshold::kMidpoint),
              StatusIs(absl::StatusCode::kInternal, "audit: the neighbours"));
}

TEST(JudgeTest, CallsAViolationOnlyAboveTheClaim) {
  // 900 against 100 of 1000: epsilon near ln 9 = 2.2, at least 1.6 at confidence 1 - 1e-6.
  const HitCounts hits = {1000, 900, 100};
  const AuditResult strong = *Judge(ClaimKind::kPure, {{1}, {0}}, hits, 1e-6);
  EXPECT_TRUE(strong.violated);
  EXPECT_GT(strong.lower.value, 1.6);
  EXPECT_LT(strong.lower.value, std::log(9));
  EXPECT_FALSE(Judge(ClaimKind::kPure, {{2}, {0}}, hits, 1e-6)->violated);
}

TEST(ReportTest, JsonHoldsTheContractsKeys) {
  const AuditResult result = {.hits = {1000, 900, 100}, .lower = {1.5}, .violated = true};
  EXPECT_EQ(ToJson(Named("laplace"), Options(), result),
            "{\n  \"mechanism\": \"laplace\",\n  \"claimed_epsilon\": 1,\n  \"claimed_delta\": 0,\n"
            "  \"epsilon_lower_bound\": 1.5,\n  \"confidence\": 0.999999,\n"
            "  \"trials\": 1000,\n  \"hits_p\": 900,\n  \"hits_q\": 100,\n"
            "  \"verdict\": \"violated\"\n}\n");
}

TEST(ReportTest, TableAndPictureHoldEveryRow) {
  const std::vector<ReportRow> rows = {
      {Named("gaussian"), {.hits = {1'000'000, 2, 1}, .lower = {0.95}}},
      {Named("mutant-sigma-0.95"), {.hits = {1000, 2, 1}, .lower = {1.25}, .violated = true}}};
  const Claim claim = {{1}, {1e-5}};
  EXPECT_THAT(ToMarkdown(claim, rows),
              HasSubstr("| `gaussian` | proven | 1 | 1e-05 | 0.9500 | 0.950 | 1e6 | consistent |\n"
                        "| `mutant-sigma-0.95` | mutant | 1 | 1e-05 | 1.2500 | 1.250 | 1e3 | "
                        "violated |\n"));
  const std::string svg = ToSvg(claim, 1e-6, rows);
  EXPECT_THAT(svg, HasSubstr("gaussian</text>"));
  EXPECT_THAT(svg, HasSubstr("mutant-sigma-0.95</text>"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace bandana::audit
