#include "tests/support/fleet_run.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {

FleetWorld::FleetWorld(std::vector<std::string> environment_flags)
    : environment_flags_(std::move(environment_flags)) {
  std::vector<std::string> arguments = environment_flags_;
  arguments.push_back("--write_config=" + folder_.path());
  BANDANA_CHECK(RunProgram("bandana-fleet", arguments).exit_code == 0);
}

void FleetWorld::StartServer() {
  auto config = ReadFile(folder_.File("server.textproto"), 1 << 20);
  BANDANA_CHECK(config.ok());
  auto server = ServerProcess::Start({.config = *config,
                                      .folder = folder_.path(),
                                      .listen = address_,
                                      .arguments = {"--api_listen", "127.0.0.1:0"}});
  BANDANA_CHECK(server.ok());
  server_ = *std::move(server);
  address_ = server_->listen();
}

std::vector<std::string> FleetWorld::Flags(const std::string& model, int rounds,
                                           const std::vector<std::string>& more) const {
  std::vector<std::string> flags = environment_flags_;
  flags.insert(flags.end(), {absl::StrCat("--target=", address_), absl::StrCat("--model=", model),
                             absl::StrCat("--rounds=", rounds),
                             absl::StrCat("--json=", folder_.File("fleet.json"))});
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

FleetWorld::Json FleetWorld::ReadJson() const {
  const auto text = ReadFile(folder_.File("fleet.json"), 16 << 20);
  BANDANA_CHECK(text.ok());
  google::protobuf::Struct parsed;
  BANDANA_CHECK(google::protobuf::util::JsonStringToMessage(*text, &parsed).ok());
  Json json;
  for (const auto& [key, value] : parsed.fields()) {
    if (value.has_number_value()) json.numbers[key] = value.number_value();
    if (value.has_string_value()) json.texts[key] = value.string_value();
  }
  json.curve_points = parsed.fields().at("curve").list_value().values_size();
  return json;
}

absl::StatusOr<std::uint64_t> FleetWorld::ReportsApplied(const std::string& model) const {
  const auto client = *AdminClient::Connect(address_, absl::Seconds(10));
  const auto stats = client->GetStats(model);
  if (!stats.ok()) return stats.status();
  return stats->reports_applied();
}

}  // namespace bandana::testing
