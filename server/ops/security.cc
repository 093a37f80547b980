#include "server/ops/security.h"

#include <spdlog/spdlog.h>

#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/ops/config/generated_token.h"

namespace bandana::server {
namespace {

void LogReload(const absl::Status& status) {
  if (status.ok()) return spdlog::info("tls: took the changed certificate files");
  spdlog::error("{}; the files before stay in use", std::string(status.message()));
}

}  // namespace

absl::Status OpenToken(const std::string& data_dir, const ShowToken& show, AccessRules& access) {
  if (!access.generate_token) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::string token,
                           OpenGeneratedToken(data_dir, SystemBits(), access));
  if (token.empty()) return absl::OkStatus();
  show(token);
  spdlog::info("access: drew a token and showed it once; its digest is in data_dir/{}",
               kGeneratedTokenFile);
  return absl::OkStatus();
}

absl::StatusOr<Security> Security::Open(ServerSpec& spec, const Clock& clock,
                                        const ShowToken& show) {
  Security security;
  if (spec.access) {
    BANDANA_RETURN_IF_ERROR(OpenToken(spec.data_dir, show, *spec.access));
    security.gatekeeper = std::make_unique<Gatekeeper>(*spec.access, clock);
  }
  if (!spec.tls) return security;
  TlsOptions options;
  options.files = spec.tls->files;
  options.require_client_certificate = spec.tls->require_client_certificate;
  options.reload_interval = spec.tls->reload_interval;
  options.on_reload = LogReload;
  BANDANA_ASSIGN_OR_RETURN(security.tls, TlsReloader::Open(options, clock));
  return security;
}

}  // namespace bandana::server
