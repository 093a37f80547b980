// Decodes the calls of an rpc, runs the handler and encodes the answer. Internal to GrpcServer.
#pragma once

#include <google/protobuf/arena.h>

#include <array>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/status.h"
#include "grpc/health/v1/health.pb.h"
#include "server/service/access/current_caller.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/rpcs.h"
#include "server/service/transport/transport.h"

namespace bandana::server {

bool Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message);
void Answer(UnaryCall& call, const absl::Status& status, const google::protobuf::Message& response);
void AnswerUnparsable(UnaryCall& call, const google::protobuf::Message& request);

// Whether the caller may name every model that the request names. A request whose models are not
// found here does not compile.
template <typename Call, typename Request>
absl::Status AllowModels(const Call& call, const Request& request) {
  if constexpr (std::is_same_v<Request, grpc::health::v1::HealthCheckRequest>) {
    return absl::OkStatus();  // open
  } else if constexpr (requires { request.decisions(); }) {
    for (const v1::SelectRequest& decision : request.decisions()) {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(decision.model()));
    }
    return absl::OkStatus();
  } else {
    return call.AllowModel(request.model());
  }
}

// Where requests are parsed: named values are a hundred small messages, each of which would be
// allocated and freed by itself. One a thread; a work that answers at once is done before the next
// begins.
class RequestArena {
 public:
  // Good until the next one of this thread.
  template <typename Request>
  static Request& Make() {
    google::protobuf::Arena& arena = OfThread().arena_;
    arena.Reset();
    return *google::protobuf::Arena::CreateMessage<Request>(&arena);
  }

 private:
  RequestArena() : arena_(OptionsOf(*block_)) {}
  static RequestArena& OfThread() {
    thread_local RequestArena self;
    return self;
  }
  using Block = std::array<char, 64 * 1024>;
  static google::protobuf::ArenaOptions OptionsOf(Block& block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    return options;
  }

  const std::unique_ptr<Block> block_ = std::make_unique<Block>();
  google::protobuf::Arena arena_;
};

// Work of a handler that answers at once.
template <typename Request, typename Response>
class ImmediateWork final : public Work {
 public:
  using Handler = std::function<absl::Status(const Request&, Response&)>;
  explicit ImmediateWork(Handler handler) : handler_(std::move(handler)) {}

  void Run(UnaryCall& call, grpc::ByteBuffer& bytes) override {
    Request& request = RequestArena::Make<Request>();
    if (!Parse(bytes, request)) return AnswerUnparsable(call, request);
    if (const absl::Status allowed = AllowModels(call, request); !allowed.ok()) {
      return call.Finish(allowed, nullptr);
    }
    response_.Clear();
    const CallQuota quota(call.new_users());
    const CurrentCaller caller(call.caller_name());
    const absl::Status status = handler_(request, response_);
    Answer(call, status, response_);
  }

 private:
  const Handler handler_;
  Response response_;
};

// Work of a handler that may answer later.
template <typename Request, typename Response>
class DeferredWork final : public Work {
 public:
  using Handler = std::function<void(const Request&, Response&, Finish)>;
  explicit DeferredWork(Handler handler) : handler_(std::move(handler)) {}

  void Run(UnaryCall& call, grpc::ByteBuffer& bytes) override {
    // Owned by the Finish: the handler may still write into it after the server has given up on the
    // call.
    auto exchange = std::make_shared<Exchange>();
    if (!Parse(bytes, exchange->request)) return AnswerUnparsable(call, exchange->request);
    call.ModelKnown(exchange->request.model(), exchange->request.policy_hash());
    if (const absl::Status allowed = AllowModels(call, exchange->request); !allowed.ok()) {
      return call.Finish(allowed, nullptr);
    }
    std::shared_ptr<PendingCalls> pending = call.state().pending;
    const std::uint64_t ticket = pending->Add(&call);
    if (ticket == 0) return call.Finish(Unavailable("server is shutting down"), nullptr);
    Exchange& messages = *exchange;
    const CallQuota quota(call.new_users());
    const CurrentCaller caller(call.caller_name());
    handler_(messages.request, messages.response,
             [exchange = std::move(exchange), pending = std::move(pending),
              ticket](const absl::Status& status) {
               if (UnaryCall* waiting = pending->Take(ticket))
                 Answer(*waiting, status, exchange->response);
             });
  }

 private:
  struct Exchange {
    Request request;
    Response response;
  };
  const Handler handler_;
};

template <typename Request, typename Response>
std::unique_ptr<Work> WorkOf(Handlers& handlers,
                             absl::Status (Handlers::*method)(const Request&, Response&)) {
  return std::make_unique<ImmediateWork<Request, Response>>(
      [&handlers, method](const Request& request, Response& response) {
        return (handlers.*method)(request, response);
      });
}
template <typename Request, typename Response>
std::unique_ptr<Work> WorkOf(Handlers& handlers,
                             void (Handlers::*method)(const Request&, Response&, Finish)) {
  return std::make_unique<DeferredWork<Request, Response>>(
      [&handlers, method](const Request& request, Response& response, Finish finish) {
        (handlers.*method)(request, response, std::move(finish));
      });
}

// Rpc::make_work of a method of Handlers.
template <auto kMethod>
std::unique_ptr<Work> MakeWork(const Callees& callees) {
  return WorkOf(callees.handlers, kMethod);
}

// Rpc::make_work of grpc.health.v1.Health/Check, which names no model and is open.
std::unique_ptr<Work> MakeCheckWork(const Callees& callees);

}  // namespace bandana::server
