// The listeners of a world's server: all that stands between a caller and the handlers (access
// rules, rates, call slots, unrecorded calls, the HTTP APIs), but for sockets and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "server/api/http_api.h"
#include "server/models/registry.h"
#include "server/ops/observation/model_view.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/taken_call.h"
#include "tools/audit/transcript/http_caller.h"
#include "tools/audit/transcript/mutants.h"

namespace bandana::audit {

// Calls so far, by listener: each may have had a connection of its own.
struct Traffic {
  std::int64_t by_grpc = 0;
  std::int64_t by_http = 0;
  std::uint64_t reports_by_name = 0;
};

struct ListenerOptions {
  server::Handlers* handlers = nullptr;
  const server::ModelRegistry* models = nullptr;
  const Clock* clock = nullptr;
  std::string asked;  // the name that callers ask by
  CallerApi api = CallerApi::kGrpc;
  CallRate rate;
  server::CallObserver* observer = nullptr;
  server::CallLog* log = nullptr;
  server::CallLog* spans = nullptr;
  const Mutant* mutant = nullptr;
};

// Not thread-safe.
class Listeners {
 public:
  // All that is pointed to must outlive it.
  explicit Listeners(const ListenerOptions& options);
  ~Listeners();

  // One call of a Recommender's rpc. `done` may come later, within another call.
  template <typename Request, typename Response>
  void Call(const Request& request, std::function<void(absl::Status, Response&)> done) {
    if (api_ != nullptr) {
      auto response = std::make_shared<Response>();
      CallDoor(request, *response, [response, done = std::move(done)](absl::Status status) {
        if (!status.ok()) response->Clear();
        done(std::move(status), *response);
      });
      return;
    }
    CallGrpc(request, [done = std::move(done)](absl::Status status,
                                               const google::protobuf::Message& response) {
      Response out;
      if (status.ok()) out.CopyFrom(response);
      done(std::move(status), out);
    });
  }

  const Traffic& traffic() const { return traffic_; }
  // Adds the state of the server's listeners to the view.
  void Show(server::ServerView& view) const;

 private:
  using Answered = std::function<void(absl::Status, const google::protobuf::Message&)>;
  void Count(const google::protobuf::Message& request);
  void CallDoor(const google::protobuf::Message& request, google::protobuf::Message& response,
                std::function<void(absl::Status)> done);
  // As the gRPC listener makes it (server/service/transport).
  void CallGrpc(const google::protobuf::Message& request, const Answered& done);

  const ListenerOptions options_;
  server::Gatekeeper gatekeeper_;
  std::unique_ptr<server::Handlers> broken_;  // the mutant's; null: none
  server::Handlers& handlers_;                // what listeners call
  server::CallDesk desk_;
  std::unique_ptr<server::HttpApi> api_;  // null: callers come by gRPC
  Traffic traffic_;
};

}  // namespace bandana::audit
