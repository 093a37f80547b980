// bandana-fleet: simulated users with known preferences, through an SDK, against a running server.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/channel/security_flags.h"
#include "tools/base/command_line.h"
#include "tools/base/gnuplot.h"
#include "tools/base/settings.h"
#include "tools/base/work_folder.h"
#include "tools/decisions/packed_file.h"
#include "tools/environments/environment.h"
#include "tools/fleet/config_writer.h"
#include "tools/fleet/device_table.h"
#include "tools/fleet/plot.h"
#include "tools/fleet/progress.h"
#include "tools/fleet/report.h"
#include "tools/fleet/runner.h"
#include "tools/fleet/truth.h"

ABSL_FLAG(std::string, target, "",
          "host:port of the server; of its api_listen, as numbers, with --device abi");
ABSL_FLAG(std::string, device, "cpp",
          "whose SDK the simulated users have: cpp, or abi for the C interface in the host of "
          "examples/c");
ABSL_FLAG(std::string, model, "", "name of the model");
ABSL_FLAG(std::string, environment, "",
          "synthetic, banditlib, crowd, sphere, sparse, mab, points or hetrec:DIR[:replay]");
ABSL_FLAG(int, users, 0,
          "simulated users; 0 stands for the environment's own number (10; 100000 for crowd; 1 for "
          "sphere, sparse, mab and points); "
          "ignored for hetrec");
ABSL_FLAG(std::int64_t, rounds, 0, "decisions to make in total");
ABSL_FLAG(std::string, set, "",
          "key=value, a setting of the environment; may be repeated (docs/fleet.md lists them)");
ABSL_FLAG(int, in_flight, 0, "closed loop: decisions under way at once; 0 stands for 1");
ABSL_FLAG(double, rate, 0,
          "open loop: decisions started per second, whatever is under way; not with --in_flight");
ABSL_FLAG(std::string, arrivals, "poisson", "open loop: poisson or uniform");
ABSL_FLAG(std::uint64_t, seed, 1, "of decisions, arms and reward noise");
ABSL_FLAG(std::string, json, "", "file to write the results to");
ABSL_FLAG(std::string, plot, "", "SVG file to draw the cumulative regret into (needs gnuplot)");
ABSL_FLAG(std::string, truth, "",
          "file to write the expected reward of every arm of every decision to, as lines of JSON; "
          "packed where it ends in .gz");
ABSL_FLAG(std::string, store, "",
          "the devices' store, a file that outlives the run; empty: a temporary one");
ABSL_FLAG(absl::Duration, reconnect_timeout, absl::Seconds(30),
          "give up when the server stays away longer");
ABSL_FLAG(bool, progress, false, "show progress on stderr although it is not a terminal");
ABSL_FLAG(std::string, write_config, "",
          "write the environment's server.textproto and its graphs into this folder and exit");
ABSL_FLAG(std::string, policy, "",
          "with --write_config: how models choose their arms, in text form, such as 'softmax { "
          "temperature: 0.1 }'");

namespace bandana {
namespace {

constexpr char kUsage[] =
    R"(Simulates users with known preferences against a running bandana-server and measures regret and latency.

  bandana-fleet --environment ENV [--users N] [--set key=value]... --write_config DIR
                [--policy 'thompson {}']
  bandana-server --config DIR/server.textproto
  bandana-fleet --target ADDR --model NAME --environment ENV --rounds T [--users N] [--set key=value]...
                [--device cpp|abi] [--in_flight C | --rate R] [--seed S] [--json F] [--plot F.svg] [--truth F.jsonl]
                [--reconnect_timeout 30s]
                [--tls_ca F [--tls_cert F --tls_key F] [--tls_server_name NAME]] [--token_file F]

Exits with 0 when every decision was made and every report acknowledged, with 1 when not (the JSON is written all the
same), with 2 on a mistake in the arguments.
)";

constexpr int kExitIncomplete = 1;
constexpr int kExitUsage = 2;
constexpr std::int64_t kRoundsMax = 1'000'000'000'000;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // written by a signal handler

void RequestStop(int) { stop_requested.store(true, std::memory_order_relaxed); }

// The first signal ends the run in order, the second at once.
void CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

absl::StatusOr<RunOptions> OptionsFromFlags() {
  RunOptions options;
  const std::int64_t rounds = absl::GetFlag(FLAGS_rounds);
  const int in_flight = absl::GetFlag(FLAGS_in_flight);
  const double rate = absl::GetFlag(FLAGS_rate);
  const std::string arrivals = absl::GetFlag(FLAGS_arrivals);
  if (absl::GetFlag(FLAGS_target).empty()) return InvalidArgument("--target is required");
  if (absl::GetFlag(FLAGS_model).empty()) return InvalidArgument("--model is required");
  if (rounds < 1 || rounds > kRoundsMax)
    return InvalidArgument("--rounds must be in [1, 1e12], got ", rounds);
  if (in_flight < 0 || in_flight > 4096)
    return InvalidArgument("--in_flight must be in [1, 4096], got ", in_flight);
  if (!(rate >= 0 && rate <= 1e6)) return InvalidArgument("--rate must be in (0, 1e6], got ", rate);
  if (rate > 0 && in_flight > 0)
    return InvalidArgument("--rate (open loop) and --in_flight (closed loop) exclude each other");
  if (arrivals != "poisson" && arrivals != "uniform") {
    return InvalidArgument("--arrivals must be poisson or uniform, got ", arrivals);
  }
  options.rounds = static_cast<std::uint64_t>(rounds);
  options.in_flight = std::max(1, in_flight);
  options.rate = rate;
  options.poisson = arrivals == "poisson";
  options.seed = absl::GetFlag(FLAGS_seed);
  options.reconnect_timeout = absl::GetFlag(FLAGS_reconnect_timeout);
  if (options.reconnect_timeout <= absl::ZeroDuration() ||
      options.reconnect_timeout > absl::Hours(1)) {
    return InvalidArgument("--reconnect_timeout must be in (0 s, 1 h], got ",
                           absl::FormatDuration(options.reconnect_timeout));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Environment>> EnvironmentFromFlags(
    const std::vector<std::string>& assignments) {
  const std::string spec = absl::GetFlag(FLAGS_environment);
  if (spec.empty()) return InvalidArgument("--environment is required");
  BANDANA_ASSIGN_OR_RETURN(Settings settings, Settings::Parse(assignments));
  const int users = absl::GetFlag(FLAGS_users);
  if (users < 0) return InvalidArgument("--users must be at least 1, got ", users);
  if (users > 0 && !spec.starts_with("hetrec:"))
    BANDANA_RETURN_IF_ERROR(settings.Add("users", absl::StrCat(users)));
  return MakeEnvironment(spec, std::move(settings), absl::GetFlag(FLAGS_seed));
}

// Refuses what cannot work, warns of what skews the figures.
absl::Status CheckFit(const ModelInfo& model, const EnvironmentInfo& environment, bool open_loop) {
  if (model.dimension != environment.dimension) {
    return InvalidArgument("model ", model.name, " has ", model.dimension,
                           " features, environment ", environment.name, " ", environment.dimension);
  }
  if (model.reward_window && !open_loop) {
    return InvalidArgument(
        "model ", model.name,
        " holds reports back for its reward window, and a closed loop would wait for each: take ",
        "--rate, or `reporting { one_per_decision: true }`");
  }
  if (model.reward_min > environment.reward_min || model.reward_max < environment.reward_max) {
    std::cerr << "warning: rewards lie in [" << environment.reward_min << ", "
              << environment.reward_max << "], the model "
              << "clips them to [" << model.reward_min << ", " << model.reward_max << "]\n";
  }
  if (model.feature_l2_max < environment.feature_l2_max) {
    std::cerr << "warning: feature vectors are up to " << environment.feature_l2_max
              << " long, the model's bound is " << model.feature_l2_max << "\n";
  }
  return absl::OkStatus();
}

PrivacySpent LargestSpent(FleetDevice& device, const RunResult& result) {
  PrivacySpent largest;
  for (const std::string& user : result.users) {
    const absl::StatusOr<PrivacySpent> spent = device.Spent(user);
    if (!spent.ok()) {
      std::cerr << "warning: the ledger of one user cannot be read: " << spent.status() << "\n";
      largest.epsilon_event =
          std::numeric_limits<double>::quiet_NaN();  // null in the JSON: unknown is not 0
      return largest;
    }
    largest.epsilon_event = std::max(largest.epsilon_event, spent->epsilon_event);
    largest.delta_event = std::max(largest.delta_event, spent->delta_event);
    largest.epsilon_user = std::max(largest.epsilon_user, spent->epsilon_user);
    largest.events = std::max(largest.events, spent->events);
  }
  return largest;
}

absl::Status WriteResults(const RunReport& report) {
  std::cout << ToText(report) << std::flush;
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    BANDANA_RETURN_IF_ERROR(Annotate(WriteFileDurably(path, ToJson(report), 0644), "--json"));
  }
  if (const std::string path = absl::GetFlag(FLAGS_plot); !path.empty()) {
    std::string title =
        absl::StrCat(report.environment.name, ", ", report.environment.users, " users");
    std::string series = report.model.name;
    if (report.model.local)
      absl::StrAppend(&series, " (epsilon ", report.model.epsilon, " per event, on the device)");
    return Annotate(WriteRegretPlot(path, title, series, report.result.tally.curve()), "--plot");
  }
  return absl::OkStatus();
}

// The file of --truth, while the fleet runs. After an error nothing more is written.
class TruthFile {
 public:
  // Null without the flag. Errors: INVALID_ARGUMENT a world of points; those of PackedFile.
  static absl::StatusOr<std::unique_ptr<TruthFile>> FromFlag(const Environment& environment) {
    const std::string path = absl::GetFlag(FLAGS_truth);
    if (path.empty()) return std::unique_ptr<TruthFile>();
    if (environment.points() != nullptr) {
      return InvalidArgument("--truth is of arms, and environment ", environment.info().name,
                             " has points");
    }
    absl::StatusOr<PackedFile> file = PackedFile::Create(path);
    if (!file.ok()) return Annotate(file.status(), "--truth");
    return std::make_unique<TruthFile>(*std::move(file));
  }
  explicit TruthFile(PackedFile file) : file_(std::move(file)) {}

  void Add(std::uint64_t round, const Choice& decision, const Selection& selection) {
    line_.clear();
    AppendTruth(round, decision, selection.arms.front(), line_);
    if (status_.ok()) status_ = file_.Append(line_);
  }
  absl::Status Finish() {
    BANDANA_RETURN_IF_ERROR(Annotate(status_, "--truth"));
    return Annotate(file_.Finish(), "--truth");
  }

 private:
  PackedFile file_;
  absl::Status status_;
  std::string line_;
};

// The exit code of a run that could start.
absl::StatusOr<int> RunFleet(const Environment& environment,
                             const std::vector<std::string>& settings) {
  BANDANA_ASSIGN_OR_RETURN(const RunOptions options, OptionsFromFlags());
  if (!absl::GetFlag(FLAGS_plot).empty()) BANDANA_RETURN_IF_ERROR(CheckGnuplot());
  const std::string kind = absl::GetFlag(FLAGS_device);
  const ChannelSecurity security = SecurityFromFlags();
  FleetDeviceOptions asked = {.target = absl::GetFlag(FLAGS_target),
                              .model = absl::GetFlag(FLAGS_model),
                              .store = absl::GetFlag(FLAGS_store),
                              .security = {.ca_file = security.ca_file,
                                           .certificate_file = security.certificate_file,
                                           .private_key_file = security.private_key_file,
                                           .server_name = security.server_name,
                                           .token_file = security.token_file},
                              .connect_timeout = options.reconnect_timeout};
  BANDANA_RETURN_IF_ERROR(CheckDevice(kind, asked, options));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<TruthFile> truth,
                           TruthFile::FromFlag(environment));
  std::unique_ptr<WorkFolder> folder;  // outlives the device
  if (asked.store.empty()) {
    BANDANA_ASSIGN_OR_RETURN(folder, WorkFolder::Make("fleet"));
    asked.store = folder->path() + "/device.db";
  }
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<FleetDevice> device, ConnectDevice(kind, asked));
  BANDANA_RETURN_IF_ERROR(CheckFit(device->model(), environment.info(), options.rate > 0));

  CatchSignals();
  Progress progress(options.rounds, absl::GetFlag(FLAGS_progress));
  const RunResult result = Run(
      *device, environment, options, stop_requested,
      [&](const Tally& tally, absl::Duration elapsed) { progress.Show(tally, elapsed); },
      [&](std::uint64_t round, const Choice& decision, const Selection& selection) {
        if (truth != nullptr) truth->Add(round, decision, selection);
      });
  progress.Finish();
  if (result.end == RunEnd::kMisfit) {
    return Annotate(result.misfit,
                    absl::StrCat("model ", device->model().name,
                                 " takes no decisions of environment ", environment.info().name));
  }
  const RunReport report = {.result = result,
                            .options = options,
                            .environment = environment.info(),
                            .model = device->model(),
                            .device = kind,
                            .settings = settings,
                            .client = device->Stats(),
                            .spent_max = LargestSpent(*device, result)};
  BANDANA_RETURN_IF_ERROR(WriteResults(report));
  if (truth != nullptr) BANDANA_RETURN_IF_ERROR(truth->Finish());
  return Succeeded(report) ? 0 : kExitIncomplete;
}

// The exit code, or what kept the program from its work.
absl::StatusOr<int> WriteConfigOrRun(const std::vector<std::string>& settings,
                                     const std::string& command) {
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<Environment> environment,
                           EnvironmentFromFlags(settings));
  const std::string folder = absl::GetFlag(FLAGS_write_config);
  if (folder.empty() && !absl::GetFlag(FLAGS_policy).empty()) {
    return InvalidArgument("--policy goes with --write_config: a policy is the model's");
  }
  if (folder.empty()) return RunFleet(*environment, settings);
  BANDANA_RETURN_IF_ERROR(
      WriteServerConfig(*environment, command, folder, absl::GetFlag(FLAGS_policy)));
  return 0;
}

int Main(std::vector<char*> arguments) {
  std::string command = "bandana-fleet";
  for (std::size_t i = 1; i < arguments.size(); ++i) absl::StrAppend(&command, " ", arguments[i]);
  const std::vector<std::string> settings = TakeRepeatedFlag(arguments, "set");
  ParseCommandLineOrExit(arguments, kUsage, "tools/fleet/main.cc",
                         absl::StrCat("bandana-fleet ", kVersion));
  const absl::StatusOr<int> code = WriteConfigOrRun(settings, command);
  if (code.ok()) return *code;
  std::cerr << "bandana-fleet: " << code.status().message() << "\n";
  return code.status().code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitIncomplete;
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) { return bandana::Main(std::vector<char*>(argv, argv + argc)); }
