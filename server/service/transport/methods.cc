#include "server/service/transport/methods.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Waiting calls a method and queue. gRPC hands a call over only to a waiting one, and each is
// replaced as soon as it is taken, so this bounds a burst between two looks at the queue, not the
// calls in flight.
constexpr int kHotPosted = 128;
constexpr int kColdPosted = 16;

bool Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::Slice slice;
  if (bytes.TrySingleSlice(&slice).ok()) {
    return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

// One slice of the exact size: gRPC's own serializer grows a buffer block by block.
grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const std::size_t size = message.ByteSizeLong();
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

void Answer(UnaryCall& call, const absl::Status& status,
            const google::protobuf::Message& response) {
  if (!status.ok()) return call.Finish(status, nullptr);
  const grpc::ByteBuffer bytes = Serialize(response);
  call.Finish(status, &bytes);
}

void AnswerUnparsable(UnaryCall& call, const google::protobuf::Message& request) {
  call.Finish(InvalidArgument("request: not a ", request.GetDescriptor()->full_name()), nullptr);
}

// Whether the caller may name every model that the request names. A request whose models are not
// found here does not compile.
template <typename Request>
absl::Status AllowModels(const UnaryCall& call, const Request& request) {
  if constexpr (requires { request.decisions(); }) {
    for (const v1::SelectRequest& decision : request.decisions()) {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(decision.model()));
    }
    return absl::OkStatus();
  } else {
    return call.AllowModel(request.model());
  }
}
absl::Status AllowModels(const UnaryCall&, const grpc::health::v1::HealthCheckRequest&) {
  return absl::OkStatus();  // open
}

template <typename Request, typename Response>
class ImmediateWork final : public Work {
 public:
  using Handler = std::function<absl::Status(const Request&, Response&)>;
  explicit ImmediateWork(Handler handler) : handler_(std::move(handler)) {}

  void Run(UnaryCall& call, grpc::ByteBuffer& bytes) override {
    if (!Parse(bytes, request_)) return AnswerUnparsable(call, request_);
    if (const absl::Status allowed = AllowModels(call, request_); !allowed.ok()) {
      return call.Finish(allowed, nullptr);
    }
    response_.Clear();
    const absl::Status status = handler_(request_, response_);
    Answer(call, status, response_);
  }

 private:
  const Handler handler_;
  Request request_;
  Response response_;
};

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
    call.Named(exchange->request.model());
    if (const absl::Status allowed = AllowModels(call, exchange->request); !allowed.ok()) {
      return call.Finish(allowed, nullptr);
    }
    std::shared_ptr<PendingCalls> pending = call.state().pending;
    const std::uint64_t ticket = pending->Add(&call);
    if (ticket == 0) return call.Finish(Unavailable("server is shutting down"), nullptr);
    Exchange& messages = *exchange;
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

grpc::health::v1::HealthCheckResponse::ServingStatus ToProto(Serving serving) {
  return serving == Serving::kServing ? grpc::health::v1::HealthCheckResponse::SERVING
                                      : grpc::health::v1::HealthCheckResponse::NOT_SERVING;
}

std::unique_ptr<Work> MakeCheckWork(const ServingQuery& serving) {
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  return std::make_unique<ImmediateWork<Request, Response>>(
      [&serving](const Request& request, Response& response) {
        const Serving status = serving(request.service());
        if (status == Serving::kUnknownService) return NotFound("service: no such model");
        response.set_status(ToProto(status));
        return absl::OkStatus();
      });
}

template <typename Request, typename Response>
std::unique_ptr<Work> Immediate(Handlers& handlers,
                                absl::Status (Handlers::*method)(const Request&, Response&)) {
  return std::make_unique<ImmediateWork<Request, Response>>(
      [&handlers, method](const Request& request, Response& response) {
        return (handlers.*method)(request, response);
      });
}

template <typename Request, typename Response>
std::unique_ptr<Work> Deferred(Handlers& handlers,
                               void (Handlers::*method)(const Request&, Response&, Finish)) {
  return std::make_unique<DeferredWork<Request, Response>>(
      [&handlers, method](const Request& request, Response& response, Finish finish) {
        (handlers.*method)(request, response, std::move(finish));
      });
}

// Binds a generated RequestX to its service.
template <typename Service>
auto Requester(Service& service, void (Service::*request)(grpc::ServerContext*, grpc::ByteBuffer*,
                                                          Responder*, grpc::CompletionQueue*,
                                                          grpc::ServerCompletionQueue*, void*)) {
  return [&service, request](grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                             Responder* responder, grpc::ServerCompletionQueue* cq, void* tag) {
    (service.*request)(context, bytes, responder, cq, cq, tag);
  };
}

}  // namespace

std::vector<Port> MakePorts(QueueServices& services, Handlers& handlers,
                            const ServingQuery& serving) {
  RawRecommender& raw = services.recommender;
  std::vector<Port> ports;
  const auto add = [&](Method method, int posted, bool append, auto request,
                       std::unique_ptr<Work> work) {
    Port port;
    port.method = method;
    port.rule = FindRule(RpcName(method));
    port.posted = posted;
    port.limited = method != Method::kHealthCheck;
    port.append = append;
    port.request = std::move(request);
    port.work = std::move(work);
    ports.push_back(std::move(port));
  };
  add(Method::kGetModel, kColdPosted, false,
      Requester<RawRecommender>(raw, &RawRecommender::RequestGetModel),
      Immediate(handlers, &Handlers::GetModel));
  add(Method::kSelect, kHotPosted, false,
      Requester<RawRecommender>(raw, &RawRecommender::RequestSelect),
      Immediate(handlers, &Handlers::Select));
  add(Method::kBatchSelect, kHotPosted, false,
      Requester<RawRecommender>(raw, &RawRecommender::RequestBatchSelect),
      Immediate(handlers, &Handlers::BatchSelect));
  add(Method::kReport, kHotPosted, true,
      Requester<RawRecommender>(raw, &RawRecommender::RequestReport),
      Deferred(handlers, &Handlers::Report));
  add(Method::kSubmit, kHotPosted, true,
      Requester<RawRecommender>(raw, &RawRecommender::RequestSubmit),
      Deferred(handlers, &Handlers::Submit));
  add(Method::kGetPosterior, kColdPosted, false,
      Requester<RawRecommender>(raw, &RawRecommender::RequestGetPosterior),
      Immediate(handlers, &Handlers::GetPosterior));
  add(Method::kHealthCheck, kColdPosted, false,
      Requester<HealthService>(services.health, &HealthService::RequestCheck),
      MakeCheckWork(serving));
  return ports;
}

}  // namespace bandana::server
