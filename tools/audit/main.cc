// bandana-audit: attacks the mechanisms and says how much privacy they can be shown to spend.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "tools/audit/end_to_end.h"
#include "tools/audit/registry.h"
#include "tools/audit/replay.h"
#include "tools/audit/replay_faults.h"
#include "tools/audit/report.h"
#include "tools/audit/runner.h"
#include "tools/audit/transcript/command.h"
#include "tools/base/command_line.h"

ABSL_FLAG(bool, all, false, "list: published mechanisms and mutants, too");
ABSL_FLAG(double, epsilon, 1, "the claim under attack");
ABSL_FLAG(double, delta, 1e-5, "its delta; pure mechanisms ignore it");
ABSL_FLAG(double, trials, 1e6, "runs on each of the two neighbours");
ABSL_FLAG(double, alpha, 1e-6, "chance that a right mechanism is called wrong");
ABSL_FLAG(std::string, json, "", "file to write the result to");
ABSL_FLAG(int, threads, 0, "0 stands for the number of cores");
ABSL_FLAG(std::int64_t, seed, -1,
          "draw from a keyed stream under this seed, for results that can be remade; without it "
          "the system's generator draws, as in the shipped programs");
ABSL_FLAG(std::string, out, "", "report: folder for audit.md and audit.svg");
ABSL_FLAG(std::string, mutant, "", "replay, transcript: the fault that is put in");
ABSL_FLAG(bool, list_mutants, false, "replay, transcript: the faults there are");
ABSL_FLAG(std::uint64_t, seeds, 0, "transcript: schedules to run; 0: five of every combination");
ABSL_FLAG(std::string, target, "", "end-to-end: host:port of the server");
ABSL_FLAG(std::string, model, "", "end-to-end: name of the model");

namespace bandana::audit {
namespace {

constexpr int kExitViolated = 1;
constexpr int kExitFailure = 2;

constexpr char kUsage[] =
    R"(Attacks privacy mechanisms on neighbouring inputs and bounds the epsilon they spend from below.

  bandana-audit list [--all]
  bandana-audit run MECHANISM --epsilon E --delta D --trials N [--alpha 1e-6] [--json F] [--seed S] [--threads n]
  bandana-audit end-to-end --target ADDR --model M --trials N [--alpha 1e-6] [--json F]
  bandana-audit replay [--mutant NAME | --list_mutants] [--json F]
  bandana-audit transcript [--seeds N] [--seed S] [--mutant NAME | --list_mutants] [--json F] [--threads n]
  bandana-audit report --out DIR [--epsilon 1] [--delta 1e-5] [--trials 1e6] [--seed S]

Exits with 0 when the bound is within the claim, with 1 when it exceeds it, with 2 when nothing could be measured.
end-to-end runs against a server that hosts a LOCAL_REWARD model with the reward randomizer, through the SDK.
replay opens models of every central mode after an unclean stop under another value of every setting, and says
whether noise was used twice on different data; a mutant has to be found (exit code 1).
transcript runs the SDK and the server in two worlds that differ in one reaction, and compares all that others see;
seed S comes first, and --seed S --seeds 1 tells its story. It exits with 1 when anything differs, or when ten
schedules of every combination ran and the reaction or round that differs never happened in one of them.
report audits everything, mutants with as many trials as it takes (at most 1e7), and writes audit.md and audit.svg;
it exits with 1 when a proven mechanism exceeds its claim or a mutant is not caught.
)";

absl::StatusOr<AuditOptions> OptionsFromFlags() {
  const double trials = absl::GetFlag(FLAGS_trials);
  if (!(trials >= 1 && trials <= 1e11 && trials == std::floor(trials))) {
    return InvalidArgument("--trials must be a whole number in [1, 1e11], got ", trials);
  }
  AuditOptions options;
  options.claim = {{absl::GetFlag(FLAGS_epsilon)}, {absl::GetFlag(FLAGS_delta)}};
  options.trials = static_cast<std::uint64_t>(trials);
  options.alpha = absl::GetFlag(FLAGS_alpha);
  options.threads = absl::GetFlag(FLAGS_threads);
  if (options.threads == 0) {
    options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 1024u));
  }
  const std::int64_t seed = absl::GetFlag(FLAGS_seed);
  if (seed >= 0) options.seed = static_cast<std::uint64_t>(seed);
  return options;
}

void PrintRow(const Subject& subject, const Claim& claim, const AuditResult& result) {
  std::printf("%-28s claimed %g  at least %.4f  trials %.3g  %.*s\n",
              std::string(subject.name).c_str(), claim.epsilon.value, result.lower.value,
              static_cast<double>(result.hits.trials), static_cast<int>(Verdict(result).size()),
              Verdict(result).data());
  std::fflush(stdout);
}

absl::StatusOr<int> Finish(const Subject& subject, const AuditOptions& options,
                           const AuditResult& result) {
  PrintRow(subject, options.claim, result);
  const std::string path = absl::GetFlag(FLAGS_json);
  if (!path.empty()) {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(path, ToJson(subject, options, result), 0644));
  }
  return result.violated ? kExitViolated : 0;
}

int List() {
  for (const Subject& subject : Subjects()) {
    if (subject.standing != Standing::kProven && !absl::GetFlag(FLAGS_all)) continue;
    std::printf("%-28s %-9s  %s\n", std::string(subject.name).c_str(),
                std::string(StandingName(subject.standing)).c_str(),
                std::string(subject.description).c_str());
  }
  return 0;
}

absl::StatusOr<int> Run(std::string_view name) {
  BANDANA_ASSIGN_OR_RETURN(const AuditOptions options, OptionsFromFlags());
  BANDANA_ASSIGN_OR_RETURN(const Subject subject, FindSubject(name));
  BANDANA_ASSIGN_OR_RETURN(const AuditResult result, RunAudit(subject, options));
  return Finish(subject, options, result);
}

absl::StatusOr<int> EndToEnd() {
  BANDANA_ASSIGN_OR_RETURN(AuditOptions options, OptionsFromFlags());
  const EndToEndOptions server = {absl::GetFlag(FLAGS_target), absl::GetFlag(FLAGS_model)};
  BANDANA_ASSIGN_OR_RETURN(const EndToEndResult found, RunEndToEnd(server, options));
  options.claim = found.claim;
  return Finish(kEndToEndSubject, options, found.result);
}

// A mutant's trials are the least power of ten that catches it.
absl::StatusOr<AuditResult> RunForReport(const Subject& subject, AuditOptions options) {
  if (subject.standing != Standing::kMutant) return RunAudit(subject, options);
  for (options.trials = 1000;; options.trials *= 10) {
    BANDANA_ASSIGN_OR_RETURN(const AuditResult result, RunAudit(subject, options));
    if (result.violated || options.trials >= 10'000'000) return result;
  }
}

absl::StatusOr<int> Report() {
  const std::string folder = absl::GetFlag(FLAGS_out);
  if (folder.empty()) return InvalidArgument("--out is required");
  BANDANA_ASSIGN_OR_RETURN(const AuditOptions options, OptionsFromFlags());
  std::vector<ReportRow> rows;
  int code = 0;
  for (const Subject& subject : Subjects()) {
    BANDANA_ASSIGN_OR_RETURN(const AuditResult result, RunForReport(subject, options));
    PrintRow(subject, options.claim, result);
    rows.push_back({subject, result});
    if (subject.standing != Standing::kPublished &&
        result.violated != (subject.standing == Standing::kMutant)) {
      code = kExitViolated;
    }
  }
  BANDANA_RETURN_IF_ERROR(
      WriteFileDurably(ResolvePath("audit.md", folder), ToMarkdown(options.claim, rows), 0644));
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(ResolvePath("audit.svg", folder),
                                           ToSvg(options.claim, options.alpha, rows), 0644));
  return code;
}

absl::StatusOr<int> Replay() {
  if (absl::GetFlag(FLAGS_list_mutants)) {
    for (const ReplayFault& fault : ReplayFaults()) {
      if (fault.name.empty()) continue;
      std::printf("%-28s %s\n", std::string(fault.name).c_str(),
                  std::string(fault.description).c_str());
    }
    return 0;
  }
  BANDANA_ASSIGN_OR_RETURN(const ReplayCounts counts,
                           RunReplay(absl::GetFlag(FLAGS_mutant), [](std::string_view model) {
                             std::fprintf(stderr, "replay: %s\n", std::string(model).c_str());
                           }));
  for (const std::string& violation : counts.violations) std::printf("%s\n", violation.c_str());
  std::printf("settings %llu  cases %llu  violations %zu\n",
              static_cast<unsigned long long>(counts.settings),
              static_cast<unsigned long long>(counts.cases), counts.violations.size());
  const std::string path = absl::GetFlag(FLAGS_json);
  if (!path.empty()) BANDANA_RETURN_IF_ERROR(WriteFileDurably(path, ToJson(counts), 0644));
  return counts.violations.empty() ? 0 : kExitViolated;
}

absl::StatusOr<int> Transcript() {
  return RunTranscriptCommand({.seeds = absl::GetFlag(FLAGS_seeds),
                               .first_seed = absl::GetFlag(FLAGS_seed),
                               .mutant = absl::GetFlag(FLAGS_mutant),
                               .list_mutants = absl::GetFlag(FLAGS_list_mutants),
                               .json = absl::GetFlag(FLAGS_json),
                               .threads = absl::GetFlag(FLAGS_threads)});
}

absl::StatusOr<int> Dispatch(const std::vector<char*>& words) {
  const std::string_view verb = words.size() > 1 ? words[1] : "";
  if (verb == "list" && words.size() == 2) return List();
  if (verb == "run" && words.size() == 3) return Run(words[2]);
  if (verb == "end-to-end" && words.size() == 2) return EndToEnd();
  if (verb == "replay" && words.size() == 2) return Replay();
  if (verb == "transcript" && words.size() == 2) return Transcript();
  if (verb == "report" && words.size() == 2) return Report();
  std::fputs(kUsage, stderr);
  return kExitFailure;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<int> code =
      Dispatch(ParseWordsOrExit(std::vector<char*>(argv, argv + argc), kUsage, "tools/audit/",
                                absl::StrCat("bandana-audit ", kVersion)));
  if (code.ok()) return *code;
  std::fprintf(stderr, "bandana-audit: %s\n", code.status().ToString().c_str());
  return kExitFailure;
}

}  // namespace
}  // namespace bandana::audit

int main(int argc, char** argv) { return bandana::audit::Main(argc, argv); }
