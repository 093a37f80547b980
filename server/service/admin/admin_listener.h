// A listener for Admin alone: gRPC, and HTTP/1.1 that it hands on.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service/transport/listener.h"

namespace grpc {
class Channel;
class Server;
class ServerCompletionQueue;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace bandana::server {

// Threads: all methods are safe.
class AdminListener {
 public:
  // Binds and serves `service` and reflection. Null credentials: plaintext. `service` must outlive
  // the listener. Errors: UNAVAILABLE the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<AdminListener>> Bind(
      const std::string& listen, std::shared_ptr<grpc::ServerCredentials> credentials,
      const ConnectionLimits& connections, grpc::Service* service);
  // Takes connections. Call once. `http1` as in Listener::Start.
  void Start(Listener::TakeHttp1 http1);
  // As Shutdown without patience.
  ~AdminListener();

  // Where it listens, with the real port.
  const std::string& address() const { return listener_.address(); }
  // See Acceptor::Report.
  void Report(const std::string& grpc_peer, Conduct conduct) {
    listener_.Report(grpc_peer, conduct);
  }
  ConnectionStats connections() const { return listener_.stats(); }
  // As GrpcServer::InProcess.
  std::shared_ptr<grpc::Channel> InProcess();
  // Takes no new connections.
  void StopListening() { listener_.Stop(); }
  // Takes no new calls, and cancels after `patience` those that are open.
  void Shutdown(absl::Duration patience);

 private:
  explicit AdminListener(std::shared_ptr<grpc::ServerCredentials> credentials);
  const std::shared_ptr<grpc::ServerCredentials> credentials_;  // the server does not keep them
  Listener listener_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Service> reflection_;
  std::unique_ptr<grpc::Server> server_;
  std::thread looking_;  // at the queue
  std::once_flag ended_;
};

}  // namespace bandana::server
