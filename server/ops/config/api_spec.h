// ApiConfig as checked values: the HTTP API.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bandana/v1/config.pb.h"
#include "common/base/address.h"
#include "common/promise/field_checks.h"
#include "server/api/api_server.h"

namespace bandana::server {

struct ApiSpec {
  Address listen;
  int threads = 0;
  int body_bytes_max = 0;
  std::vector<std::string> allowed_origins;
  PersonalizerSettings personalizer;
};

// `listen`: where it is to be. Mistakes are named from the top of the configuration.
ApiSpec ParseApi(const v1::ServerConfig& config, const Address& listen, const FieldChecks& checks);

// A line in words, for --check_config.
std::string ApiSummary(const ApiSpec& api);

}  // namespace bandana::server
