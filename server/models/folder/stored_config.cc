#include "server/models/folder/stored_config.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/families/families.h"
#include "common/design/planner/served_config.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kStoredConfigBytesMax = std::uint64_t{1} << 31;
constexpr std::string_view kEventLimitField = "privacy.events_per_user_max";

}  // namespace

absl::StatusOr<bool> HasStoredConfig(const StateStore& state) { return state.Has(kConfigFile); }

// The serialized configuration and its SHA-256.
absl::Status WriteStoredConfig(StateStore& state, const v1::ModelConfig& config) {
  const std::string bytes = config.SerializeAsString();
  return state.Write(kConfigFile, bytes + std::string(AsChars(Sha256Of(bytes))));
}

absl::StatusOr<v1::ModelConfig> ReadStoredConfig(const StateStore& state) {
  BANDANA_ASSIGN_OR_RETURN(const std::string bytes, state.Read(kConfigFile, kStoredConfigBytesMax));
  const std::size_t size = bytes.size() - std::min(bytes.size(), sizeof(Sha256Digest));
  const std::string_view body = std::string_view(bytes).substr(0, size);
  v1::ModelConfig config;
  if (AsChars(Sha256Of(body)) != std::string_view(bytes).substr(size) ||
      !config.ParseFromArray(body.data(), static_cast<int>(size))) {
    return DataLoss(state.Where(kConfigFile), ": checksum mismatch");
  }
  return config;
}

absl::StatusOr<ModelSpec> ParseStoredConfig(const v1::ModelConfig& stored) {
  const v1::ModelConfig config = WithDefaultsOfBefore(stored);
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  if (errors.size() == 1 && errors.front().field == kEventLimitField) {
    v1::ModelConfig kept = config;
    kept.mutable_privacy()->clear_events_per_user_max();
    errors.clear();
    spec = ParseServedModel(kept, "", /*allow_files=*/false, errors);
  }
  if (!spec) return InvalidArgument(errors.front().field, ": ", errors.front().message);
  return *std::move(spec);
}

}  // namespace bandana::server
