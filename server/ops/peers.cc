#include "server/ops/peers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kPemBytesMax = 1 << 20;

// One caller, who may do everything: what its own callers may do it has looked at.
AccessRules PeersAlone(std::string_view token) {
  Principal peers;
  peers.name = "peers";
  peers.token_digest = Sha256Of(token);
  peers.roles = Role::kSelect | Role::kReport | Role::kAdmin;
  AccessRules rules;
  rules.principals.push_back(std::move(peers));
  return rules;
}

// The server's certificate. Its peers have none to show: they have the token.
absl::StatusOr<std::shared_ptr<TlsReloader>> OpenTls(const TlsSpec& spec, const Clock& clock) {
  TlsOptions options;
  options.files = spec.files;
  options.files.client_ca_file.clear();
  options.reload_interval = spec.reload_interval;
  return TlsReloader::Open(options, clock);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peers>> Peers::Open(const ServerSpec& spec, const Clock& clock) {
  const PeersSpec& own = *spec.peers;
  std::unique_ptr<Peers> peers(new Peers());
  OwnerChannels::Options owners;
  BANDANA_ASSIGN_OR_RETURN(owners.token, PeerToken(own));
  if (!own.ca_file.empty()) {
    BANDANA_ASSIGN_OR_RETURN(owners.ca_pem, ReadTextFile(own.ca_file, kPemBytesMax));
    if (owners.ca_pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
      return InvalidArgument("peers.ca_file: ", own.ca_file, " holds no PEM certificate");
    }
  }
  if (spec.tls) {
    BANDANA_ASSIGN_OR_RETURN(peers->tls_, OpenTls(*spec.tls, clock));
  }
  peers->gatekeeper_ = std::make_unique<Gatekeeper>(PeersAlone(owners.token), clock);
  ConnectionLimits limits = spec.limits.connections;
  limits.handshakes = spec.tls.has_value();
  auto bound = Acceptor::Bind(ToString(own.listen), limits);
  if (!bound.ok()) return Annotate(bound.status(), "peers.listen");
  peers->acceptor_ = *std::move(bound);
  Address listen = own.listen;
  listen.port = static_cast<std::uint16_t>(peers->acceptor_->port());
  peers->listen_ = ToString(listen);
  peers->address_ = own.address.empty() ? peers->listen_ : own.address;
  peers->owners_ = std::make_unique<OwnerChannels>(std::move(owners));
  return peers;
}

absl::Status Peers::Serve(const ServerSpec& spec, Served served) {
  // Calls may come before the server is known here.
  const auto conduct = [this](const std::string& peer, Conduct what) {
    if (GrpcServer* const server = serving_.load(); server != nullptr) server->Report(peer, what);
  };
  recommender_ = MakeRecommender({.arms_per_request_max = spec.limits.arms_per_request_max,
                                  // A peer has applied the limit of its own.
                                  .batch_decisions_max = kBatchDecisionsMax},
                                 served.registry, served.tokens, served.clock, &served.book);
  served.admin.owners = nullptr;
  served.admin.gate.gatekeeper = gatekeeper_.get();
  served.admin.gate.log = served.log;
  served.admin.gate.conduct = conduct;
  admin_ = std::make_unique<AdminService>(served.registry, std::move(served.admin));
  peer_ = std::make_unique<PeerService>(
      served.registry, served.tokens,
      PeerService::Options{
          .gatekeeper = gatekeeper_.get(),
          .forget = [&book = served.book](const auto& instance,
                                          auto users) { return book.ForgetUsers(instance, users); },
          .conduct = conduct});
  GrpcServerOptions options;
  options.listen = listen_;
  options.acceptor = acceptor_;
  if (tls_ != nullptr) options.credentials = TlsReloader::Credentials(tls_);
  options.connections = spec.limits.connections;
  options.gatekeeper = gatekeeper_.get();
  options.calls_in_flight_max = spec.limits.calls_in_flight_max;
  options.watches_max = spec.limits.watches_max;
  options.aside = true;
  options.reflection = false;
  options.services = {admin_->service(), peer_->service()};
  options.log = served.log;
  BANDANA_ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(options, *recommender_));
  serving_ = grpc_.get();
  return absl::OkStatus();
}

void Peers::HealthChanged() {
  if (GrpcServer* const server = serving_.load(); server != nullptr) server->HealthChanged();
}

void Peers::Shutdown(absl::Time deadline) {
  if (GrpcServer* const server = serving_.load(); server != nullptr) server->Shutdown(deadline);
}

}  // namespace bandana::server
