#include "server/ops/config/peers_spec.h"

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "server/log/postgresql/pg_secret.h"

namespace bandana::server {
namespace {

constexpr std::string_view kPurpose = "bandana peers 2";

// A listener on all addresses of a machine says none of them.
bool IsWildcard(const Address& address) {
  return address.host == "0.0.0.0" || address.host == "::" || address.host == "*";
}

}  // namespace

PeersSpec ParsePeers(const v1::ServerConfig& config, std::string_view folder,
                     const GivenPeers& given, const FieldChecks& checks) {
  PeersSpec spec{.listen = given.listen, .address = given.address};
  if (!config.log().has_postgresql()) {
    checks.Add("peers", "needs log.postgresql: servers share models where they share their logs");
  } else if (config.log().postgresql().key_file().empty()) {
    checks.Add("peers", "needs log.postgresql.key_file, by which servers know one another");
  } else {
    spec.key_file = ResolvePath(config.log().postgresql().key_file(), folder);
  }
  if (!config.peers().ca_file().empty()) {
    checks.Add("peers.ca_file",
               "is not used any more: certificates of peers are made from log.postgresql.key_file; "
               "take it out");
  }
  if (!spec.address.empty()) {
    const auto address = ParseAddress(spec.address);
    if (!address.ok()) {
      checks.Add(given.address_name, std::string(address.status().message()));
    } else if (address->port == 0) {
      checks.Add(given.address_name, "must have a port, got 0");
    }
  } else if (IsWildcard(given.listen)) {
    checks.Add(given.address_name,
               absl::StrCat("is required: nobody can reach ", ToString(given.listen)));
  }
  return spec;
}

absl::StatusOr<Sha256Digest> PeerSecret(const PeersSpec& peers) {
  auto secret = SecretFromKeyFile(peers.key_file, kPurpose);
  if (!secret.ok()) return Annotate(secret.status(), "log.postgresql.key_file");
  return secret;
}

std::string PeersSummary(const PeersSpec& peers) {
  return absl::StrCat("peers ", ToString(peers.listen),
                      peers.address.empty() ? "" : ", reached at ", peers.address,
                      ", TLS by key_file\n");
}

}  // namespace bandana::server
