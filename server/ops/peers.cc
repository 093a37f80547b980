#include "server/ops/peers.h"

#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/owners/standing_message.h"

namespace bandana::server {
namespace {

// One caller, who may do everything: what its own callers may do it has looked at.
AccessRules PeersAlone() {
  Principal peers;
  peers.name = "peers";
  peers.certificate_subject = kPeerSubject;
  peers.roles = Role::kSelect | Role::kReport | Role::kAdmin;
  AccessRules rules;
  rules.principals.push_back(std::move(peers));
  return rules;
}

// Nobody gets past the handshake without a certificate that the key has signed.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const PeerIdentity& identity) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.authority_pem;
  options.pem_key_cert_pairs = {{identity.private_key_pem, identity.certificate_pem}};
  return grpc::SslServerCredentials(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peers>> Peers::Open(const ServerSpec& spec, const Clock& clock) {
  const PeersSpec& own = *spec.peers;
  std::unique_ptr<Peers> peers(new Peers());
  BANDANA_ASSIGN_OR_RETURN(const Sha256Digest secret, PeerSecret(own));
  peers->gatekeeper_ = std::make_unique<Gatekeeper>(PeersAlone(), clock);
  ConnectionLimits limits = spec.limits.connections;
  limits.handshakes = true;
  auto bound = Acceptor::Bind(ToString(own.listen), limits);
  if (!bound.ok()) return Annotate(bound.status(), "peers.listen");
  peers->acceptor_ = *std::move(bound);
  Address listen = own.listen;
  listen.port = static_cast<std::uint16_t>(peers->acceptor_->port());
  peers->listen_ = ToString(listen);
  peers->address_ = own.address.empty() ? peers->listen_ : own.address;
  BANDANA_ASSIGN_OR_RETURN(const PeerIdentity identity, MakePeerIdentity(secret, peers->address_));
  peers->credentials_ = CredentialsOf(identity);
  peers->owners_ = std::make_unique<OwnerChannels>(OwnerChannels::Options{.identity = identity});
  return peers;
}

absl::Status Peers::Serve(const ServerSpec& spec, Served served) {
  // Calls may come before the server is known here.
  const auto conduct = [this](const std::string& peer, Conduct what) {
    if (GrpcServer* const server = serving_.load(); server != nullptr) server->Report(peer, what);
  };
  recommender_ =
      MakeRecommender({.arms_per_request_max = spec.limits.arms_per_request_max,
                       // A peer has applied the limit of its own.
                       .batch_decisions_max = kBatchDecisionsMax},
                      served.registry, served.tokens, served.clock, &served.decision_index);
  served.admin.owners = nullptr;
  served.admin.calls.gatekeeper = gatekeeper_.get();
  served.admin.calls.log = served.log;
  served.admin.calls.conduct = conduct;
  admin_ = std::make_unique<AdminService>(served.registry, std::move(served.admin));
  peer_ = std::make_unique<PeerService>(
      served.registry, served.tokens,
      PeerService::Options{
          .calls = {.gatekeeper = gatekeeper_.get(), .conduct = conduct},
          .forget = [&decision_index = served.decision_index](
                        const auto& instance,
                        auto users) { return decision_index.ForgetUsers(instance, users); },
          .clock = &served.clock});
  GrpcServerOptions options;
  options.listen = listen_;
  options.acceptor = acceptor_;
  options.credentials = credentials_;
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

std::vector<Standing> Peers::AskOthers(std::span<const std::string> servers,
                                       const std::string& model, const InstanceId& instance) {
  internal::StandRequest request;
  request.set_model(model);
  request.set_instance(instance.data(), instance.size());
  std::vector<Standing> answers;
  for (const internal::StandResponse& answer : owners_->Stand(servers, request)) {
    // An answer that makes no sense counts as none.
    if (auto standing = ParseStanding(answer); standing.ok()) {
      answers.push_back(*std::move(standing));
    }
  }
  return answers;
}

std::vector<PartAnswer> Peers::AskParts(std::span<const std::string> servers,
                                        const PartQuestion& question) {
  internal::PartRequest request;
  request.set_model(question.model);
  request.set_instance(question.instance.data(), question.instance.size());
  request.set_sequence(question.sequence);
  request.set_user(question.user);
  std::vector<std::string> known(servers.begin(), servers.end());
  std::erase(known, "");  // one whose address is not known
  std::vector<PartAnswer> answers;
  for (internal::PartResponse& response : owners_->Part(known, request)) {
    PartAnswer& answer = answers.emplace_back();
    answer = {.server = response.server(), .erased = response.erased()};
    for (std::string& line : *response.mutable_lines()) answer.lines.push_back(std::move(line));
  }
  return answers;
}

void Peers::HealthChanged() {
  if (GrpcServer* const server = serving_.load(); server != nullptr) server->HealthChanged();
}

void Peers::Shutdown(absl::Duration patience) {
  if (GrpcServer* const server = serving_.load(); server != nullptr) server->Shutdown(patience);
}

}  // namespace bandana::server
