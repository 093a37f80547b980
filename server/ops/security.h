// Certificates and access rules of a server, opened as they are configured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "server/ops/config/server_spec.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/tls/tls_credentials.h"

namespace bandana::server {

// Shows a token that was drawn to the operator.
using ShowToken = std::function<void(std::string_view token)>;

// Where the rules ask for a generated token, opens the one of `data_dir`, or draws and shows it.
// Errors: of OpenGeneratedToken.
absl::Status OpenToken(const std::string& data_dir, const ShowToken& show, AccessRules& access);

struct Security {
  std::shared_ptr<TlsReloader> tls;        // null: plaintext
  std::unique_ptr<Gatekeeper> gatekeeper;  // null: every caller has every role

  // Gives the rules of `spec` their generated token. `clock` outlives the result. Errors: of
  // OpenToken; of TlsReloader::Open.
  static absl::StatusOr<Security> Open(ServerSpec& spec, const Clock& clock, const ShowToken& show);
};

}  // namespace bandana::server
