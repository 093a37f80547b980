// Accepts a listener's connections and hands them to gRPC, which can bound neither their number nor
// their rate, and stops listening for good when descriptors run out (1.51).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/service/connections/conduct.h"
#include "server/service/connections/connection_table.h"
#include "server/service/connections/flood_watch.h"

namespace bandana::server {

struct ConnectionStats {
  std::int64_t open = 0;
  std::int64_t accepted = 0;                         // all that follow are since the start
  std::array<std::int64_t, kRefusals> refused = {};  // by Refusal
  std::int64_t closed_offenders = 0;
  std::int64_t closed_floods = 0;
  std::int64_t accept_failures = 0;  // no descriptor or memory was left
};

// The refusal's name in metrics.
std::string_view RefusalName(Refusal refusal);

// Threads: all methods are safe; one thread accepts. A connection that is not taken is reset at
// once, before anything is read of it.
class Acceptor {
 public:
  // Binds and listens on every address that `listen` (host:port, IPv6 in brackets, port 0: any free
  // one) names. Errors: INVALID_ARGUMENT; UNAVAILABLE with the system's reason: one of the
  // addresses is in use, or none of them is of this machine.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Bind(const std::string& listen,
                                                        const ConnectionLimits& limits);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }
  // `take` gets each connection that was let in, and owns it. `held` tells whether a thread that
  // should serve has been reading for kHeldTimeMax: the connections that hold it are closed; null:
  // none ever is. Call once.
  void Start(std::function<void(int listener, int connection)> take, std::function<bool()> held);
  // Takes no more, and stops listening. Connections stay open. Idempotent.
  void Stop();

  // Takes note of a call by `grpc_peer` (ServerContext::peer). Closes its connection after repeated
  // offences, or after one grave one.
  void Report(std::string_view grpc_peer, Conduct conduct);

  ConnectionStats stats();

 private:
  explicit Acceptor(const ConnectionLimits& limits);
  absl::Status BindAll(const std::string& listen);
  void Run(const std::function<void(int, int)>& take, const std::function<bool()>& held);
  // False when nothing waits on this listener.
  bool AcceptOne(int listener, const std::function<void(int, int)>& take);
  Refusal Judge(const Peer& peer, const SocketId& socket);
  void CloseFloods();

  std::vector<int> listeners_;
  int port_ = 0;
  int wake_ = -1;     // an eventfd; readable when the thread shall stop
  std::mutex mutex_;  // guards table_ and stats_
  ConnectionTable table_;
  ConnectionStats stats_;
  FloodWatch floods_;  // of the thread
  std::thread thread_;
};

}  // namespace bandana::server
