#include "server/models/kept_state.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"

namespace bandana::server {

absl::Status CheckKeptNoiseKey(const std::string& data_dir) {
  if (!HasNoiseKey(data_dir)) return absl::OkStatus();  // else the next line would make it
  return OpenNoiseKey(data_dir, SystemBits()).status();
}

absl::Status CheckKeptModel(const std::string& data_dir, const ModelSpec& spec,
                            const LogEngine& log) {
  const std::string folder = data_dir + "/models/" + spec.public_spec.name;
  std::error_code error;
  if (log.apart() || !std::filesystem::exists(folder, error)) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<StateStore> state,
                           log.OpenState(folder, DrawsNoise(spec)));
  BANDANA_ASSIGN_OR_RETURN(const bool stored, HasStoredConfig(*state));
  if (stored) {
    return absl::AlreadyExistsError(
        "was made at run time by an earlier model of this name; delete that or choose another "
        "name");
  }
  BANDANA_ASSIGN_OR_RETURN(const bool complete, state->Has(kIdentityFile));
  return complete ? CheckStored(*state, spec) : absl::OkStatus();
}

}  // namespace bandana::server
