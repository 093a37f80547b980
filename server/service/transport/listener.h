// The settings that all gRPC listeners of a server have in common.
#pragma once

#include <grpc/support/time.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/service/connections/acceptor.h"
#include "server/service/connections/protocol_split.h"

namespace grpc {
class ChannelArguments;
class ServerBuilder;
class ServerCredentials;
namespace experimental {
class ExternalConnectionAcceptor;
}
}  // namespace grpc

namespace bandana::server {

// A deadline that no wall clock moves.
gpr_timespec After(absl::Duration patience);

// Bounds on connections: half-open ones are closed after ten seconds, those without a call after
// `limits.grpc_idle`, all after half an hour; silent peers are asked each minute and dropped when
// they do not answer; who pings more often than `limits.keepalive_interval_min` is sent away; 128
// streams per connection; kTransportBytesMax of memory, beyond which new connections are dropped.
// Their number is Listener's to bound.
void SetListenerLimits(grpc::ServerBuilder& builder, const ConnectionLimits& limits,
                       int receive_bytes_max);

// For a channel to a server of this process: messages as large as the server sends and takes.
grpc::ChannelArguments InProcessLimits(int message_bytes_max);

// An address that a gRPC server listens on. host:port goes through an Acceptor; unix:PATH is
// gRPC's own, without limits: who may open it is the file system's to say.
// Threads: Open first; then all methods are safe.
class Listener {
 public:
  Listener();
  ~Listener();
  // Before Open, which then does not bind: `bound` is bound to what it is given. Null: nothing.
  void Use(std::shared_ptr<Acceptor> bound) { acceptor_ = std::move(bound); }
  // Binds, before the server is built. Null credentials: plaintext; they must outlive the server.
  // Errors: of Acceptor::Bind.
  absl::Status Open(const std::string& listen,
                    const std::shared_ptr<grpc::ServerCredentials>& credentials,
                    const ConnectionLimits& limits, grpc::ServerBuilder& builder);
  // After the server was built: takes connections. `held` as in Acceptor::Start. `http1`: owns the
  // connections that speak HTTP/1.1; null: gRPC refuses them.
  using TakeHttp1 = std::function<void(int connection)>;
  void Start(std::function<bool()> held, TakeHttp1 http1 = nullptr);
  // Before the server shuts down: takes no more.
  void Stop();

  // With the port that was bound.
  const std::string& address() const { return address_; }
  // See Acceptor::Report.
  void Report(const std::string& grpc_peer, Conduct conduct);
  ConnectionStats stats() const;

 private:
  void TakeGrpc(int listener, int connection);

  std::string address_;
  bool tls_ = false;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> grpc_;
  std::unique_ptr<ProtocolSplit> split_;  // null: all connections are gRPC's
  std::shared_ptr<Acceptor> acceptor_;    // null: unix. Stopped first: it calls the others
};

}  // namespace bandana::server
