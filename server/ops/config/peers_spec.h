// PeersConfig as checked values: this server among those of its database.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/base/address.h"
#include "common/base/sha256.h"
#include "common/promise/field_checks.h"

namespace bandana::server {

struct PeersSpec {
  Address listen;
  std::string address;   // where the others reach it; empty: `listen`, with its real port
  std::string key_file;  // that of log.postgresql
};

// `address` as it was given, by a flag or the file; `name`: of that field. Mistakes are named from
// the top of the configuration.
struct GivenPeers {
  Address listen;
  std::string_view address_name;
  std::string address;
};
PeersSpec ParsePeers(const v1::ServerConfig& config, std::string_view folder,
                     const GivenPeers& given, const FieldChecks& checks);

// The secret from which PeerIdentity is made. Errors: of the key file.
absl::StatusOr<Sha256Digest> PeerSecret(const PeersSpec& peers);

// A line in words, for --check_config.
std::string PeersSummary(const PeersSpec& peers);

}  // namespace bandana::server
