#include "server/ops/trial.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/promise/field_checks.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/models/kept_state.h"
#include "server/ops/config/generated_token.h"
#include "server/ops/server.h"
#include "server/service/connections/listen_addresses.h"
#include "server/service/tokens/token_key_file.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

// Whether a server could make the folder, or write into it.
absl::Status CheckFolder(const std::string& path) {
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  while (!fs::exists(fs::symlink_status(at, error)) && at.has_relative_path())
    at = at.parent_path();
  if (!fs::is_directory(at, error)) return Unavailable(at.string(), " is no folder");
  if (::access(at.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return Unavailable("cannot write into ", at.string(), ": ", std::strerror(errno));
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// Checks the parts of an existing data folder that the start reads.
void CheckKept(const ServerSpec& spec, const FieldChecks& checks) {
  const auto check = [&](std::string_view field, const absl::Status& status) {
    if (!status.ok()) checks.Add(field, std::string(status.message()));
  };
  const bool draws = std::ranges::any_of(spec.models, [](const ModelSpec& model) {
    return ModeOf(model.public_spec.mode).server_draws;
  });
  if (draws && spec.noise_key_file.empty()) check("data_dir", CheckKeptNoiseKey(spec.data_dir));
  if (Exists(spec.token_key_file)) {
    check("tokens.key_file", ReadKeyFile(spec.token_key_file).status());
  } else if (const std::string folder = fs::path(spec.token_key_file).parent_path().string();
             folder != spec.data_dir && !Exists(folder)) {
    checks.Add("tokens.key_file", absl::StrCat("the folder ", folder, " is missing"));
  } else {
    check("tokens.key_file", CheckFolder(folder));
  }
  if (spec.access && spec.access->generate_token &&
      Exists(spec.data_dir + "/" + kGeneratedTokenFile)) {
    AccessRules rules = *spec.access;
    check("access.generate_token", OpenGeneratedToken(spec.data_dir, SystemBits(), rules).status());
  }
}

// The start opens one after the other.
void CheckListeners(const ServerSpec& spec, const FieldChecks& checks) {
  std::vector<std::pair<std::string_view, Address>> listeners = {{"listen", spec.listen},
                                                                 {"http_listen", spec.http_listen}};
  if (spec.admin_listen) listeners.emplace_back("admin_listen", *spec.admin_listen);
  if (spec.api) listeners.emplace_back("api_listen", spec.api->listen);
  if (spec.peers) listeners.emplace_back("peers.listen", spec.peers->listen);
  for (auto one = listeners.begin(); one != listeners.end(); ++one) {
    const auto other = std::find_if(listeners.begin(), one, [&](const auto& before) {
      return Exclude(before.second, one->second);
    });
    if (other == one) continue;
    checks.Add(one->first, absl::StrCat(ToString(one->second), " is taken by ",
                                        ToAbsl(other->first), " on ", ToString(other->second),
                                        ": each listener needs an address of its own"));
  }
}

// A database is away for a while, or cannot be reached from where the file is checked.
std::string CheckDatabase(const LogEngine& log, const FieldChecks& checks) {
  constexpr std::string_view kField = "log.postgresql.connection";
  const absl::Status reached = log.Reach();
  if (absl::IsUnavailable(reached)) {
    return absl::StrCat(ToAbsl(kField), ": ", reached.message(),
                        "; no model can be opened until it answers");
  }
  if (!reached.ok()) checks.Add(kField, std::string(reached.message()));
  return "";
}

std::string FieldOf(const ServerSpec& spec, const std::string& name) {
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    if (spec.models[i].public_spec.name == name) return absl::StrCat("models[", i, "]");
  }
  for (std::size_t i = 0; i < spec.aliases.size(); ++i) {
    if (spec.aliases[i].name == name) return absl::StrCat("aliases[", i, "]");
  }
  return "models";
}

// The configuration with all that it writes in `folder`, and no address but loopback.
ServerSpec Inside(const std::string& folder, ServerSpec spec) {
  spec.data_dir = folder;
  spec.log = DefaultLogEngine();
  spec.token_key_file = folder + "/token_keys";
  if (spec.peers) spec.peers->listen = {.host = "127.0.0.1", .port = 0};
  return spec;
}

void CheckOpening(const ServerSpec& spec, const Clock& clock, const FieldChecks& checks) {
  const absl::StatusOr<TempFolder> folder = TempFolder::OfMachine();
  if (!folder.ok()) return checks.Add("", std::string(folder.status().message()));
  const auto failed = Server::Try(Inside(folder->path(), spec), clock);
  if (!failed.ok()) return checks.Add("", std::string(failed.status().message()));
  for (const AbsentModel& model : *failed) {
    checks.Add(FieldOf(spec, model.name), std::string(model.why.message()));
  }
}

}  // namespace

std::string TryStart(const ServerSpec& spec, const Clock& clock, std::vector<ConfigError>& errors) {
  const std::size_t before = errors.size();
  const FieldChecks checks(errors);
  for (const std::string& folder : {spec.data_dir, spec.data_dir + "/models"}) {
    const absl::Status fits = CheckFolder(folder);
    if (!fits.ok() && errors.size() == before) checks.Add("data_dir", std::string(fits.message()));
  }
  if (errors.size() > before) return "";  // nothing in it can be read
  CheckKept(spec, checks);
  CheckListeners(spec, checks);
  const std::string needed = CheckDatabase(*spec.log, checks);
  if (const auto shared = spec.log->Shared(); !shared.ok()) {
    checks.Add("log", std::string(shared.status().message()));
  }
  for (const ModelSpec& model : spec.models) {
    const absl::Status fits = CheckKeptModel(spec.data_dir, model, *spec.log);
    if (!fits.ok()) {
      checks.Add(FieldOf(spec, model.public_spec.name), std::string(fits.message()));
    }
  }
  if (errors.size() == before) CheckOpening(spec, clock, checks);
  return needed;
}

}  // namespace bandana::server
