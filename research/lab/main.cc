// bandana-lab: the papers' experiments, in process.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/design/planner/planner.h"
#include "research/lab/figure.h"
#include "research/lab/output.h"
#include "research/lab/plan_settings.h"
#include "research/lab/suites.h"
#include "tools/base/command_line.h"
#include "tools/base/gnuplot.h"
#include "tools/base/settings.h"

ABSL_FLAG(std::string, out, "",
          "run: folder for EXPERIMENT.csv, .json and .svg; made when missing");
ABSL_FLAG(int, seeds, 0, "run: seeds 1 to n; 0 stands for the experiment's own number");
ABSL_FLAG(int, threads, 0, "run: runs at once; 0 stands for one a core");
ABSL_FLAG(std::string, set, "", "key=value; may be repeated (docs/experiments.md lists the keys)");
ABSL_FLAG(bool, progress, false, "show progress on stderr although it is not a terminal");

namespace bandana::lab {
namespace {

constexpr char kUsage[] =
    R"(Runs the papers' experiments in process and explains the choice of a mechanism.

  bandana-lab list
  bandana-lab run EXPERIMENT --out DIR [--seeds n] [--threads n] [--set key=value]...
  bandana-lab plan [--set key=value]...

`run` writes DIR/EXPERIMENT.csv, .json and .svg and prints a table. Exits with 1 on failure, with 2 on a mistake in the
arguments.
)";

constexpr int kSeedsMax = 1'000'000;

void List() {
  for (const Suite* suite : Suites()) {
    for (const Experiment& experiment : suite->experiments) {
      std::cout << experiment.name
                << std::string(24 - std::min<std::size_t>(23, experiment.name.size()), ' ')
                << experiment.summary << "\n";
    }
  }
}

absl::Status Run(const std::string& name, const Settings& settings) {
  const std::string folder = absl::GetFlag(FLAGS_out);
  if (folder.empty()) return InvalidArgument("--out is required");
  BANDANA_ASSIGN_OR_RETURN(const FoundExperiment found, FindExperiment(Suites(), name));
  const auto [suite, experiment] = found;
  const int seeds =
      absl::GetFlag(FLAGS_seeds) == 0 ? experiment->seeds : absl::GetFlag(FLAGS_seeds);
  if (seeds < 1 || seeds > kSeedsMax)
    return InvalidArgument("--seeds must be in [1, ", kSeedsMax, "], got ", seeds);
  int threads = absl::GetFlag(FLAGS_threads);
  if (threads == 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (threads < 1 || threads > 1024)
    return InvalidArgument("--threads must be in [1, 1024], got ", threads);
  BANDANA_ASSIGN_OR_RETURN(const std::vector<Cell> cells,
                           CellsOf(*suite, *experiment, settings, seeds));
  BANDANA_RETURN_IF_ERROR(CheckGnuplot());
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));

  const bool show = absl::GetFlag(FLAGS_progress) || isatty(STDERR_FILENO) == 1;
  BANDANA_ASSIGN_OR_RETURN(const std::vector<CellResult> results,
                           RunCells(suite->run, cells, threads, [&](std::size_t done) {
                             if (show)
                               std::fprintf(stderr, "\r%zu of %zu runs", done, cells.size());
                           }));
  if (show) std::fputs("\n", stderr);

  const std::string path = absl::StrCat(folder, "/", name);
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(path + ".csv", ToCsv(*experiment, results), 0644));
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(path + ".json", ToJson(*experiment, results), 0644));
  std::cout << ToTable(*experiment, results);
  return DrawFigure(*suite, *experiment, results, path + ".svg");
}

absl::Status Explain(const Settings& settings) {
  BANDANA_ASSIGN_OR_RETURN(const PlanRequest request, PlanRequestFromSettings(settings));
  BANDANA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  std::cout << ExplainPlan(plan);
  return absl::OkStatus();
}

// The verb and its operand, taken out of the arguments: absl parses what is left.
std::vector<std::string> TakeWords(std::vector<char*>& arguments) {
  std::vector<std::string> words;
  while (arguments.size() > 1 && arguments[1][0] != '-' && words.size() < 2) {
    words.emplace_back(arguments[1]);
    arguments.erase(arguments.begin() + 1);
  }
  return words;
}

absl::Status Dispatch(const std::vector<std::string>& words, const Settings& settings) {
  if (words.size() == 1 && words[0] == "list") {
    List();
    return absl::OkStatus();
  }
  if (words.size() == 1 && words[0] == "plan") return Explain(settings);
  if (words.size() == 2 && words[0] == "run") return Run(words[1], settings);
  return InvalidArgument("expected list, run EXPERIMENT or plan; see --help");
}

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const std::vector<std::string> assignments = TakeRepeatedFlag(arguments, "set");
  const std::vector<std::string> words = TakeWords(arguments);
  ParseCommandLineOrExit(arguments, kUsage, "research/lab/",
                         absl::StrCat("bandana-lab ", kVersion));
  absl::StatusOr<Settings> settings = Settings::Parse(assignments);
  const absl::Status status = settings.ok() ? Dispatch(words, *settings) : settings.status();
  if (status.ok()) return 0;
  std::cerr << "bandana-lab: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace
}  // namespace bandana::lab

int main(int argc, char** argv) { return bandana::lab::Main(argc, argv); }
