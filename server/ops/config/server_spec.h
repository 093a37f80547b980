// The server's configuration as checked values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bandana/v1/config.pb.h"
#include "common/base/address.h"
#include "common/design/alias.h"
#include "common/design/model_spec.h"
#include "server/log/log_engine.h"
#include "server/ops/config/api_spec.h"
#include "server/ops/config/collector.h"
#include "server/ops/config/peers_spec.h"
#include "server/ops/config/security_spec.h"
#include "server/service/connections/connection_limits.h"

namespace bandana::server {

struct LimitsSpec {
  int calls_in_flight_max = 0;
  int arms_per_request_max = 0;
  int batch_decisions_max = 0;
  int models_max = 0;
  int watches_max = 0;
  std::uint64_t decision_ids_bytes_max = 0;
  ConnectionLimits connections;
};

struct ServerSpec {
  Address listen;
  Address http_listen;
  std::string data_dir;
  std::shared_ptr<const LogEngine> log;
  LimitsSpec limits;
  std::string token_key_file;
  std::string noise_key_file;       // "": data_dir/noise_key
  bool token_keys_shared = true;    // no file is named: they go where servers share files, if any
  std::string checkpoint_key_file;  // "": checkpoints are not sealed
  absl::Duration token_rotation_interval;  // at least every model's token_lifetime
  absl::Duration drain_delay;
  absl::Duration clock_ahead_max = absl::Hours(168);  // HostedModelOptions
  v1::LogFormat log_format = v1::TEXT;
  v1::LogLevel log_level = v1::INFO;
  // The configuration without what a running server takes: two that differ need a restart.
  v1::ServerConfig fixed;
  std::vector<ModelSpec> models;
  std::vector<AliasSpec> aliases;                 // of these models, with their policies
  std::optional<TraceCollector> trace_collector;  // absent: nobody gets spans
  std::optional<TlsSpec> tls;                     // absent: plaintext
  std::optional<AccessRules> access;              // absent: every caller has every role
  std::optional<Address> admin_listen;            // absent: Admin is on `listen`
  std::optional<ApiSpec> api;                     // absent: no HTTP API
  std::optional<PeersSpec> peers;                 // absent: it serves its models alone
};

// How a configuration is read. Given addresses and folders replace the file's.
struct ConfigOptions {
  std::optional<std::string> listen;
  std::optional<std::string> http_listen;
  std::optional<std::string> api_listen;
  std::optional<std::string> peers_listen;
  std::optional<std::string> peers_address;
  std::optional<std::string> data_dir;  // relative to the working folder
  // Also read every arms_file, and every users_file of a model with effects. A server that starts
  // reads them only when it opens the model.
  bool check_model_files = false;
  // Asked of a configuration in which nothing else is wrong; what it adds are mistakes as well.
  std::function<void(const ServerSpec& spec, std::vector<ConfigError>& errors)> try_out;
};

// The fields of a configuration that a running server cannot take, by name: those in which the two
// differ.
std::vector<std::string> FieldsForRestart(const v1::ServerConfig& running,
                                          const v1::ServerConfig& next);

// Validates everything and reports every mistake; reads the files that models name, relative to
// `folder`. Returns nullopt exactly when it has added to `errors`.
std::optional<ServerSpec> ParseServerConfig(const v1::ServerConfig& config, std::string_view folder,
                                            const ConfigOptions& options,
                                            std::vector<ConfigError>& errors);

}  // namespace bandana::server
