// bandana-ctl: operates a running server.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/file.h"
#include "common/base/version.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/commands.h"
#include "common/channel/security_flags.h"

ABSL_FLAG(std::string, target, "", "the server's gRPC address, host:port");
ABSL_FLAG(std::string, model, "", "name of the model");
ABSL_FLAG(std::string, json, "",
          "also write the answer to this file, as JSON; --json=- writes JSON alone, to stdout");
ABSL_FLAG(bool, influence, false, "graph put: the file holds W itself");
ABSL_FLAG(absl::Duration, timeout, absl::Minutes(5), "longest time a call may take");

namespace bandana {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

std::string Usage() {
  return "bandana-ctl: operates a running bandana-server.\n\n"
         "  bandana-ctl --target HOST:PORT VERB... [--model M] [--json FILE] [--timeout 5m]\n\n" +
         CommandHelp() +
         "\nWith the server stopped, --config FILE (its configuration) or --data_dir DIR in place "
         "of "
         "--target:\n\n" +
         OfflineHelp() +
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

int Main(int argc, char** argv) {
  ExitOnHelpOrVersion(argc, argv);
  absl::SetProgramUsageMessage(Usage());
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  CommandLine line;
  line.words.assign(arguments.begin() + 1, arguments.end());
  line.model = absl::GetFlag(FLAGS_model);
  line.influence = absl::GetFlag(FLAGS_influence);
  const std::string target = absl::GetFlag(FLAGS_target);
  if (line.words.empty() || target.empty()) {
    std::fprintf(stderr, "%s\n", Usage().c_str());
    return kExitUsage;
  }
  const auto client =
      AdminClient::Connect(target, absl::GetFlag(FLAGS_timeout), SecurityFromFlags());
  if (!client.ok()) return Fail(client.status());
  CommandOutput output;
  if (const absl::Status status = RunCommand(*client, line, output); !status.ok()) {
    return Fail(status);
  }
  const std::string json = absl::GetFlag(FLAGS_json);
  if (!json.empty() && json != "-") {
    if (const absl::Status written = WriteFileDurably(json, output.json, 0644); !written.ok()) {
      return Fail(written);
    }
  }
  std::fputs((json == "-" ? output.json : output.text).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) { return bandana::Main(argc, argv); }
