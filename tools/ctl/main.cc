// bandana-ctl: operates a running server.
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "common/base/address.h"
#include "common/base/file.h"
#include "common/base/flag_words.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/channel/security_flags.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/commands.h"
#include "tools/ctl/offline.h"
#include "tools/judge/evaluate_options.h"
#include "tools/judge/judge_main.h"
#include "tools/tune/tune_main.h"

ABSL_FLAG(std::string, target, "",
          "the server's gRPC address, host:port; decisions export: may stand several times");
ABSL_FLAG(std::string, model, "", "name of the model");
ABSL_FLAG(std::string, json, "",
          "also write the answer to this file, as JSON; --json=- writes JSON alone, to stdout");
ABSL_FLAG(std::string, config, "", "checkpoint verify, restore: the server's configuration file");
ABSL_FLAG(std::string, data_dir, "", "checkpoint verify, restore: in place of the configuration's");
ABSL_FLAG(std::string, through, "", "checkpoint restore: drop every log entry after this one");
ABSL_FLAG(std::string, alias, "", "evaluate split: the alias whose models are compared");
ABSL_FLAG(int, decisions, 5, "evaluate split: so many first decisions of a user count");
ABSL_FLAG(absl::Duration, horizon, absl::Hours(168),
          "evaluate split: how long after a user's first decision others count");
ABSL_FLAG(std::optional<double>, unreported, std::nullopt,
          "evaluate split: the reward of decisions that no report came for");
ABSL_FLAG(double, confidence, 0.95, "evaluate split: of each interval");
ABSL_FLAG(bool, influence, false, "graph put: the file holds W itself");
ABSL_FLAG(std::string, format, "",
          "decisions export: jsonl, obp, dsjson or sqlite; default: as the file's suffix says");
ABSL_FLAG(std::string, from, "", "decisions export: from this time on, RFC 3339");
ABSL_FLAG(std::string, to, "", "decisions export: before this time");
ABSL_FLAG(bool, users, false, "decisions export: with a pseudonym of each user, this export's own");
ABSL_FLAG(absl::Duration, timeout, absl::Minutes(5),
          "longest time a call may take; export, import: without progress");

namespace bandana {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Health checks of a container ask the server beside them.
constexpr char kHealthTarget[] = "127.0.0.1:7070";
const std::vector<std::string> kHealth = {"health"};

std::string Usage() {
  return "bandana-ctl: operates a running bandana-server.\n\n"
         "  bandana-ctl --target HOST:PORT VERB... [--model M] [--json FILE] [--timeout 5m]\n\n" +
         CommandHelp() +
         "\nWith the server stopped, --config FILE (its configuration) or --data_dir DIR in place "
         "of "
         "--target:\n\n" +
         OfflineHelp() + "\nWithout a server:\n\n" + EvaluateHelp() + TuneHelp() +
         "\n  --json FILE  also writes the answer as JSON; --json=- writes JSON alone, to "
         "stdout\n" +
         kSecurityFlagsHelp;
}

// absl's --help exits with 1.
void ExitOnHelpOrVersion(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    while (*argument == '-') ++argument;
    if (argument == argv[i]) continue;
    if (std::strcmp(argument, "help") == 0) {
      std::fputs(Usage().c_str(), stdout);
      std::exit(0);
    }
    if (std::strcmp(argument, "version") == 0) {
      std::printf("bandana-ctl %s\n", kVersion);
      std::exit(0);
    }
  }
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "bandana-ctl: %s\n", status.ToString().c_str());
  return kExitFailure;
}

// The answer goes to stdout, or also to the file of --json.
absl::Status Show(const CommandOutput& output) {
  const std::string json = absl::GetFlag(FLAGS_json);
  const std::string& shown = json == "-" ? output.json : output.text;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  if (json.empty() || json == "-") return absl::OkStatus();
  return WriteFileDurably(json, output.json, 0644);
}

int Offline(const CommandLine& line) {
  OfflineOptions options{.config = absl::GetFlag(FLAGS_config),
                         .data_dir = absl::GetFlag(FLAGS_data_dir),
                         .model = line.model};
  if (const std::string through = absl::GetFlag(FLAGS_through); !through.empty()) {
    std::uint64_t sequence = 0;
    if (!absl::SimpleAtoi(through, &sequence)) {
      return Fail(InvalidArgument("--through must be a log entry's number, got \"", through, "\""));
    }
    options.through = sequence;
  }
  CommandOutput output;
  const absl::Status done = RunOffline(line.words, options, output);
  const absl::Status shown = Show(output);
  if (!done.ok()) return Fail(done);
  return shown.ok() ? 0 : Fail(shown);
}

// gRPC would dial another port than anybody meant. Targets with a scheme are gRPC's to read.
absl::Status CheckTarget(const std::string& target) {
  for (const std::string_view scheme : {"dns:", "unix:", "ipv4:", "ipv6:"}) {
    if (target.starts_with(scheme)) return absl::OkStatus();
  }
  BANDANA_ASSIGN_OR_RETURN(const Address address, ParseAddress(target));
  if (address.port != 0) return absl::OkStatus();
  return InvalidArgument("must end in a port in [1, 65535], got \"", target, "\"");
}

// All values of --target, which absl's flags know the last of.
std::vector<std::string> Targets(int argc, char** argv) {
  std::vector<std::string> targets;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    while (word.starts_with('-')) word.remove_prefix(1);
    if (word.size() == std::strlen(argv[i])) continue;
    if (word.starts_with("target=")) targets.emplace_back(word.substr(std::strlen("target=")));
    if (word == "target" && i + 1 < argc) targets.emplace_back(argv[++i]);
  }
  return targets;
}

// The words after `evaluate`, which has flags of its own; nothing where it is not the verb.
std::optional<std::vector<std::string>> EvaluateWords(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "evaluate") return std::nullopt;
  if (argc > 2 && std::string_view(argv[2]) == "split") return std::nullopt;  // a server's verb
  return std::vector<std::string>(argv + 2, argv + argc);
}

absl::Status ReadSplitFlags(SplitOptions& options) {
  const int decisions = absl::GetFlag(FLAGS_decisions);
  if (decisions < 1) return InvalidArgument("--decisions must be at least 1, got ", decisions);
  options.decisions = static_cast<std::size_t>(decisions);
  options.horizon = absl::GetFlag(FLAGS_horizon);
  if (options.horizon <= absl::ZeroDuration()) return InvalidArgument("--horizon must be above 0");
  options.unreported = absl::GetFlag(FLAGS_unreported);
  options.confidence = absl::GetFlag(FLAGS_confidence);
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return InvalidArgument("--confidence must be in (0, 1), got ", options.confidence);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (const auto words = EvaluateWords(argc, argv)) return RunEvaluate(*words, stdout, stderr);
  if (argc > 1 && std::string_view(argv[1]) == "tune") {
    return RunTune(std::vector<std::string>(argv + 2, argv + argc), stdout, stderr);
  }
  ExitOnHelpOrVersion(argc, argv);
  if (const auto unknown = UnknownFlag(argc, argv)) {
    std::fprintf(stderr, "bandana-ctl: %s\n", unknown->c_str());
    return kExitUsage;
  }
  const std::vector<std::string> targets = Targets(argc, argv);
  absl::SetProgramUsageMessage(Usage());
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  CommandLine line;
  line.words.assign(arguments.begin() + 1, arguments.end());
  line.model = absl::GetFlag(FLAGS_model);
  line.influence = absl::GetFlag(FLAGS_influence);
  line.format = absl::GetFlag(FLAGS_format);
  line.from = absl::GetFlag(FLAGS_from);
  line.to = absl::GetFlag(FLAGS_to);
  line.users = absl::GetFlag(FLAGS_users);
  line.alias = absl::GetFlag(FLAGS_alias);
  if (const absl::Status form = ReadSplitFlags(line.split); !form.ok()) {
    std::fprintf(stderr, "bandana-ctl: %s\n", std::string(form.message()).c_str());
    return kExitUsage;
  }
  if (IsOffline(line.words)) return Offline(line);
  std::string target = absl::GetFlag(FLAGS_target);
  if (target.empty() && line.words == kHealth) target = kHealthTarget;
  if (line.words.empty() || target.empty()) {
    std::fprintf(stderr, "%s\n", Usage().c_str());
    return kExitUsage;
  }
  if (const absl::Status form = CheckTarget(target); !form.ok()) {
    return Fail(Annotate(form, "--target"));
  }
  const auto client =
      AdminClient::Connect(target, absl::GetFlag(FLAGS_timeout), SecurityFromFlags());
  if (!client.ok()) return Fail(client.status());
  std::vector<std::unique_ptr<AdminClient>> others;
  for (std::size_t i = 0; i + 1 < targets.size(); ++i) {
    if (const absl::Status form = CheckTarget(targets[i]); !form.ok()) {
      return Fail(Annotate(form, "--target"));
    }
    auto other =
        AdminClient::Connect(targets[i], absl::GetFlag(FLAGS_timeout), SecurityFromFlags());
    if (!other.ok()) return Fail(other.status());
    line.others.push_back(others.emplace_back(*std::move(other)).get());
  }
  CommandOutput output;
  const absl::Status status = RunCommand(**client, line, output);
  if (!status.ok() && output.text.empty()) return Fail(status);
  if (const absl::Status shown = Show(output); !shown.ok()) return Fail(shown);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) { return bandana::Main(argc, argv); }
