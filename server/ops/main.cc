// bandana-server: reads a configuration, serves, drains.
#include <signal.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "common/base/checked_clock.h"
#include "common/base/file.h"
#include "common/base/flag_words.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/base/version.h"
#include "server/ops/config/config_file.h"
#include "server/ops/config/config_summary.h"
#include "server/ops/config/generated_token.h"
#include "server/ops/config/recipes.h"
#include "server/ops/log_setup.h"
#include "server/ops/playground/attendance.h"
#include "server/ops/playground/playground.h"
#include "server/ops/playground/visitors.h"
#include "server/ops/server.h"
#include "server/ops/stop_signals.h"
#include "server/ops/trial.h"

ABSL_FLAG(std::string, config, "", "configuration file, textproto of bandana.v1.ServerConfig");
ABSL_FLAG(std::string, listen, "",
          "gRPC address host:port, in place of the file's; port 0: any free one");
ABSL_FLAG(std::string, http_listen, "", "HTTP address host:port, in place of the file's");
ABSL_FLAG(std::string, api_listen, "",
          "address host:port for HTTP/JSON and gRPC-Web, in place of the file's");
ABSL_FLAG(std::string, peers_listen, "",
          "address host:port for the other servers of the database, in place of the file's");
ABSL_FLAG(std::string, peers_address, "",
          "host:port where the other servers reach this one, in place of the file's");
ABSL_FLAG(std::string, data_dir, "", "folder of everything durable, in place of the file's");
ABSL_FLAG(std::string, trace_collector, "",
          "http://HOST:PORT of an OTLP collector on this machine; without one nobody gets spans");
ABSL_FLAG(bool, check_config, false, "explain the configuration or its mistakes, and exit");
ABSL_FLAG(std::string, new_model, "", "print a configuration to begin with, and exit");
ABSL_FLAG(bool, playground, false, "serve three models with simulated visitors, to look at");
ABSL_FLAG(bool, try, false, "with --new_model: windows of seconds, to try it out");

namespace bandana::server {
namespace {

constexpr char kUsage[] = R"(bandana-server: a recommendation service over gRPC.

  bandana-server --config FILE.textproto [--listen HOST:PORT] [--http_listen HOST:PORT]
                 [--api_listen HOST:PORT] [--peers_listen HOST:PORT] [--peers_address HOST:PORT]
                 [--data_dir DIR] [--trace_collector URL]
  bandana-server --config FILE.textproto --check_config
  bandana-server --new_model clicks|ratings|notifications|catalogue|personalizer [--try]
  bandana-server --playground [--listen HOST:PORT] [--http_listen HOST:PORT] [--api_listen HOST:PORT] [--data_dir DIR]
  bandana-server --version | --help

  --config FILE       configuration, textproto of bandana.v1.ServerConfig
  --listen ADDR       gRPC address host:port; port 0 takes any free one
  --http_listen ADDR  HTTP address host:port, for /, /healthz, /readyz and /metrics
  --api_listen ADDR   address host:port for HTTP/JSON and gRPC-Web; without one there is no such listener
  --peers_listen ADDR address host:port for the other servers of the same database alone
  --peers_address ADDR where those reach this server; without one it is the address of --peers_listen
  --data_dir DIR      folder of everything durable
  --trace_collector URL http://HOST:PORT of an OTLP collector on this machine, for calls whose traceparent is sampled
  --check_config      explain the configuration, or each of its mistakes with line and field, and exit
  --new_model NAME    print a commented configuration with a model of this kind, and exit
  --playground        serve three models with simulated visitors on loopback, to look at; --data_dir keeps the data
  --try               with --new_model: rewards count within seconds, to see it learn

Prints `bandana-server ready listen=ADDR http=ADDR` once it serves, with ` admin=ADDR` where Admin has its own listener,
` api=ADDR` where HTTP/JSON has one, and ` peers=ADDR` where other servers have one.
A line `bandana-server token TOKEN` stands before it when the server has drawn a token (access.generate_token).
SIGTERM and SIGINT drain; a second one cuts the drain delay short. SIGHUP reads the file again and takes its models,
aliases, access rules, log level and limits per call; it names what needs a restart.
)";

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// absl's --help exits with 1.
void ExitOnHelpOrVersion(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    while (*argument == '-') ++argument;
    if (argument == argv[i]) continue;
    if (std::strcmp(argument, "help") == 0) {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (std::strcmp(argument, "version") == 0) {
      std::printf("bandana-server %s\n", kVersion);
      std::exit(0);
    }
  }
}

ConfigOptions OptionsFromFlags() {
  const auto given = [](const std::string& flag) {
    return flag.empty() ? std::nullopt : std::optional<std::string>(flag);
  };
  return {.listen = given(absl::GetFlag(FLAGS_listen)),
          .http_listen = given(absl::GetFlag(FLAGS_http_listen)),
          .api_listen = given(absl::GetFlag(FLAGS_api_listen)),
          .peers_listen = given(absl::GetFlag(FLAGS_peers_listen)),
          .peers_address = given(absl::GetFlag(FLAGS_peers_address)),
          .data_dir = given(absl::GetFlag(FLAGS_data_dir)),
          .check_model_files = absl::GetFlag(FLAGS_check_config),
          .try_out = nullptr};
}

// The checked configuration, or nullopt with every mistake on `out`.
std::optional<ServerSpec> Load(const std::string& path, const ConfigOptions& options,
                               std::FILE* out) {
  auto result = LoadConfig(path, options);
  if (!result.ok()) {
    std::fprintf(out, "%s\n", std::string(result.status().message()).c_str());
    return std::nullopt;
  }
  for (const ConfigMistake& mistake : result->mistakes) {
    std::fprintf(out, "%s\n", ToString(path, mistake).c_str());
  }
  return std::move(result->spec);
}

int CheckConfig(const std::string& path) {
  SetLogLevel(v1::ERROR);  // what a start says besides is no verdict
  ConfigOptions options = OptionsFromFlags();
  std::string needed;
  options.try_out = [&](const ServerSpec& spec, std::vector<ConfigError>& errors) {
    needed = TryStart(spec, SystemClock(), errors);
  };
  const auto spec = Load(path, options, stdout);
  if (!spec) return kExitFailure;
  std::fputs(Summary(*spec).c_str(), stdout);
  if (!needed.empty()) std::printf("WARNING %s\n", needed.c_str());
  return 0;
}

int PrintRecipe(const std::string& name) {
  const auto recipe = Recipe(name, absl::GetFlag(FLAGS_try));
  if (!recipe.ok()) {
    std::fprintf(stderr, "--new_model: %s\n", std::string(recipe.status().message()).c_str());
    return kExitUsage;
  }
  std::fwrite(recipe->data(), 1, recipe->size(), stdout);
  return 0;
}

// The configuration that is served, and for --playground the places to show.
struct Served {
  std::string path;
  ConfigOptions options;
  std::optional<TraceCollector> collector;
  std::optional<PlaygroundPlaces> playground;
};

// Reads the configuration again and takes what a running server can take. One with a mistake
// anywhere changes nothing.
void Reload(const Served& served, Server& server) {
  const std::string& path = served.path;
  auto result = LoadConfig(path, served.options);
  std::optional<ServerSpec> spec;
  if (result.ok()) {
    for (const ConfigMistake& mistake : result->mistakes) {
      spdlog::error("reload: {}", ToString(path, mistake));
    }
    spec = std::move(result->spec);
  } else {
    spdlog::error("reload: {}", std::string(result.status().message()));
  }
  if (!spec) spdlog::error("reload: nothing of {} is taken", path);
  if (server.Reload(std::move(spec))) spdlog::info("reload: took all that is new in {}", path);
}

// To stdout and not to the log: the log on stderr is what most machines collect.
void PrintToken(std::string_view token) {
  std::printf("bandana-server token %.*s\n", static_cast<int>(token.size()), token.data());
  if (std::fflush(stdout) == 0) return;
  spdlog::error(
      "access: the token could not be written to stdout; remove data_dir/{} and start again",
      kGeneratedTokenFile);
}

// Until a stop signal, or until no model can take reports any more: nothing can be acknowledged
// then, and a restart recovers.
absl::Status ServeUntilStopped(const Served& served, StopSignals& signals, Attendance& attendance,
                               Server& server) {
  constexpr absl::Duration kHealthInterval = absl::Seconds(1);
  for (;;) {
    server.Tick();
    attendance.Look();
    if (absl::Status health = server.Health(); !health.ok()) return health;
    const int signal = signals.Wait(kHealthInterval);
    if (signal == SIGHUP) {
      Reload(served, server);
    } else if (signal > 0) {
      return absl::OkStatus();
    }
  }
}

int Run(Served served, StopSignals& signals) {
  auto spec = Load(served.path, served.options, stderr);
  if (!spec) return kExitFailure;
  spec->trace_collector = std::move(served.collector);
  SetUpLog(spec->log_format);
  SetLogLevel(spec->log_level);
  const absl::Duration drain_delay = spec->drain_delay;
  const CheckedClock clock(SystemClock());
  auto server = Server::Start(*std::move(spec), clock, PrintToken);
  if (!server.ok()) {
    spdlog::critical("cannot start: {}", std::string(server.status().message()));
    return kExitFailure;
  }
  const std::string admin = (*server)->admin_listen();
  const std::string api = (*server)->api_listen();
  const std::string peers = (*server)->peers_listen();
  std::printf("bandana-server ready listen=%s http=%s%s%s%s%s%s%s\n", (*server)->listen().c_str(),
              (*server)->http_listen().c_str(), admin.empty() ? "" : " admin=", admin.c_str(),
              api.empty() ? "" : " api=", api.c_str(),
              peers.empty() ? "" : " peers=", peers.c_str());
  std::fflush(stdout);
  spdlog::info("serving gRPC on {}, HTTP on {}{}{}{}{}{}{}", (*server)->listen(),
               (*server)->http_listen(), api.empty() ? "" : ", JSON and gRPC-Web on ", api,
               admin.empty() ? "" : ", Admin on ", admin,
               peers.empty() ? "" : ", other servers on ", peers);
  Attendance attendance;
  if (served.playground) {
    PlaygroundPlaces& places = *served.playground;
    places.http = (*server)->http_listen();
    places.api = api;
    std::fputs(PlaygroundWords(places).c_str(), stdout);
    std::fflush(stdout);
    if (!places.fleet.empty()) attendance.Begin(places.fleet, (*server)->listen());
  }
  const absl::Status failed = ServeUntilStopped(served, signals, attendance, **server);
  attendance.End();
  if (!failed.ok()) {
    spdlog::critical("stopping: {}", std::string(failed.message()));
    return kExitFailure;
  }
  spdlog::info("draining");
  const absl::Status drained = (*server)->Drain([&] { signals.WaitForStop(drain_delay); });
  if (!drained.ok()) {
    spdlog::error("{}", std::string(drained.message()));
    return kExitFailure;
  }
  spdlog::info("stopped");
  return 0;
}

// Serves what --playground brings along.
int RunPlayground(Served served, StopSignals& signals) {
  const auto folder = TempFolder::OfMachine();
  const auto write = [&] {
    served.path = folder->path() + "/server.textproto";
    return WriteFileDurably(served.path, PlaygroundConfig(), 0600);
  };
  const absl::Status written = folder.ok() ? write() : folder.status();
  if (!written.ok()) {
    std::fprintf(stderr, "--playground: %s\n", std::string(written.message()).c_str());
    return kExitFailure;
  }
  served.playground = {.http = "",
                       .api = "",
                       .config = served.path,
                       .fleet = FindProgram("bandana-fleet").value_or(""),
                       .keeps_data = served.options.data_dir.has_value()};
  if (!served.options.data_dir) served.options.data_dir = folder->path() + "/data";
  return Run(std::move(served), signals);
}

// Errors: INVALID_ARGUMENT arguments that do not go together.
absl::StatusOr<Served> ServedFromFlags(const std::vector<char*>& arguments) {
  Served served{.path = absl::GetFlag(FLAGS_config),
                .options = OptionsFromFlags(),
                .collector = std::nullopt,
                .playground = std::nullopt};
  if (absl::GetFlag(FLAGS_try)) return InvalidArgument("--try is for --new_model");
  if (arguments.size() > 1) return InvalidArgument("unexpected argument");
  if (absl::GetFlag(FLAGS_playground)) {
    if (!served.path.empty() || absl::GetFlag(FLAGS_check_config)) {
      return InvalidArgument(
          "--playground brings its own configuration, and takes addresses and --data_dir");
    }
  } else if (served.path.empty()) {
    return InvalidArgument("--config is required");
  }
  if (const std::string url = absl::GetFlag(FLAGS_trace_collector); !url.empty()) {
    absl::StatusOr<TraceCollector> collector = ParseCollector(url);
    if (!collector.ok()) return Annotate(collector.status(), "--trace_collector");
    served.collector = *std::move(collector);
  }
  return served;
}

int Main(int argc, char** argv) {
  // Debian's Abseil looks for cycles among the locks that gRPC takes, in every call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ExitOnHelpOrVersion(argc, argv);
  if (const auto unknown = UnknownFlag(argc, argv)) {
    std::fprintf(stderr, "%s; see --help\n", unknown->c_str());
    return kExitUsage;
  }
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (const std::string recipe = absl::GetFlag(FLAGS_new_model); !recipe.empty()) {
    return PrintRecipe(recipe);
  }
  absl::StatusOr<Served> served = ServedFromFlags(arguments);
  if (!served.ok()) {
    std::fprintf(stderr, "%s\n%s", std::string(served.status().message()).c_str(), kUsage);
    return kExitUsage;
  }
  StopSignals signals;
  signal(SIGPIPE, SIG_IGN);
  SetUpLog(v1::TEXT);
  if (absl::GetFlag(FLAGS_check_config)) return CheckConfig(served->path);
  return absl::GetFlag(FLAGS_playground) ? RunPlayground(*std::move(served), signals)
                                         : Run(*std::move(served), signals);
}

}  // namespace
}  // namespace bandana::server

int main(int argc, char** argv) { return bandana::server::Main(argc, argv); }
