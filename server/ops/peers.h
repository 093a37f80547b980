// A server among those that share its database: a listener for them, and the ways to them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/ops/config/server_spec.h"
#include "server/service/admin/admin_service.h"
#include "server/service/connections/acceptor.h"
#include "server/service/owners/owner_channels.h"
#include "server/service/owners/peer_service.h"
#include "server/service/recommender.h"
#include "server/service/transport/grpc_server.h"

namespace grpc {
class ServerCredentials;
}

namespace bandana::server {

// Threads: Open, then Serve; then all methods are safe.
class Peers {
 public:
  // Binds; who connects waits. Errors: of the key, of Acceptor::Bind.
  static absl::StatusOr<std::unique_ptr<Peers>> Open(const ServerSpec& spec, const Clock& clock);

  // With the real port.
  const std::string& listen() const { return listen_; }
  // Where the others reach this server.
  const std::string& address() const { return address_; }
  OwnerChannels& owners() { return *owners_; }
  // ModelRegistry::Options::ask_others.
  std::vector<Standing> AskOthers(std::span<const std::string> servers, const std::string& model,
                                  const InstanceId& instance);
  // ModelRegistry::Options::ask_parts.
  std::vector<PartAnswer> AskParts(std::span<const std::string> servers,
                                   const PartQuestion& question);

  // The objects that answer on the listener: the models of this server, of which it hands none on.
  struct Served {
    ModelAdministration& registry;
    TokenCodec& tokens;
    DecisionIndex& decision_index;
    const Clock& clock;
    CallLog* log = nullptr;
    AdminOptions admin;  // without a gate
  };
  // All that is named must outlive the object, or Shutdown. Errors: of GrpcServer::Start.
  absl::Status Serve(const ServerSpec& spec, Served served);

  void HealthChanged();
  // As GrpcServer::Shutdown.
  void Shutdown(absl::Duration patience);

 private:
  Peers() = default;

  std::string listen_;
  std::string address_;
  std::unique_ptr<OwnerChannels> owners_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<Gatekeeper> gatekeeper_;
  std::shared_ptr<Acceptor> acceptor_;
  std::unique_ptr<RecommenderHandlers> recommender_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<PeerService> peer_;
  std::atomic<GrpcServer*> serving_ = nullptr;
  std::unique_ptr<GrpcServer> grpc_;
};

}  // namespace bandana::server
