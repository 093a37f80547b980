#include "client/src/base/transport.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";

// One call under way: the tag of its completion.
class Call {
 public:
  virtual ~Call() = default;
  virtual void Finish(const Answer& answer) = 0;
  // Lets go of the connection, after the completion.
  virtual void Release() = 0;

  std::optional<grpc::ClientContext> context{std::in_place};
  grpc::Status status;
};

absl::Status ToStatus(const grpc::Status& status) {
  const std::string message = status.error_message().substr(0, kErrorMessageBytesMax);
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

Answer ToAnswer(const Call& call) {
  Answer answer;
  if (call.status.ok()) return answer;
  answer.status = ToStatus(call.status);
  const auto& trailers = call.context->GetServerTrailingMetadata();
  if (const auto found = trailers.find(kPushbackKey); found != trailers.end()) {
    std::int64_t millis = 0;
    const absl::string_view text(found->second.data(), found->second.size());
    answer.pushback =
        absl::SimpleAtoi(text, &millis) ? absl::Milliseconds(millis) : -absl::InfiniteDuration();
  }
  return answer;
}

template <typename Response>
class TypedCall final : public Call {
 public:
  explicit TypedCall(OnAnswer<Response> done) : done_(std::move(done)) {}

  void Finish(const Answer& answer) override {
    if (!status.ok()) response.Clear();
    done_(answer, response);
  }
  void Release() override {
    reader.reset();
    context.reset();
  }

  Response response;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;

 private:
  OnAnswer<Response> done_;
};

absl::StatusOr<Connection> Connect(const std::string& target, const ChannelSecurity& security) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kAdminMessageBytesMax);
  // A dead peer is noticed within a minute, and only while calls wait for it.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // gRPC's default waits up to two minutes before it dials a restarted server again.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  return Connection::Open(target, security, arguments);
}

class GrpcTransport final : public Transport {
 public:
  using Connecting = std::function<absl::StatusOr<Connection>()>;
  // `connect`: opens another connection; null: `first` is the only one.
  GrpcTransport(Connection first, Connecting connect)
      : connect_(std::move(connect)),
        line_(std::make_unique<Line>(std::move(first))),
        thread_([this] { Loop(); }) {}

  ~GrpcTransport() override { Shutdown(); }

  void GetModel(const v1::GetModelRequest& request, const CallOptions& options,
                OnAnswer<v1::GetModelResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncGetModel, request, options, std::move(done));
  }
  void Select(const v1::SelectRequest& request, const CallOptions& options,
              OnAnswer<v1::SelectResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncSelect, request, options, std::move(done));
  }
  void BatchSelect(const v1::BatchSelectRequest& request, const CallOptions& options,
                   OnAnswer<v1::BatchSelectResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncBatchSelect, request, options, std::move(done));
  }
  void Report(const v1::ReportRequest& request, const CallOptions& options,
              OnAnswer<v1::ReportResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncReport, request, options, std::move(done));
  }
  void Submit(const v1::SubmitRequest& request, const CallOptions& options,
              OnAnswer<v1::SubmitResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncSubmit, request, options, std::move(done));
  }
  void GetPosterior(const v1::GetPosteriorRequest& request, const CallOptions& options,
                    OnAnswer<v1::GetPosteriorResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncGetPosterior, request, options, std::move(done));
  }
  void GetArmEffects(const v1::GetArmEffectsRequest& request, const CallOptions& options,
                     OnAnswer<v1::GetArmEffectsResponse> done) override {
    Start(&v1::Recommender::Stub::PrepareAsyncGetArmEffects, request, options, std::move(done));
  }

  void Shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(closed_, true)) return;
      for (Call* call : calls_) call->context->TryCancel();
      queue_.Shutdown();
    }
    thread_.join();
  }

 private:
  struct Line {
    explicit Line(Connection opened)
        : connection(std::move(opened)), stub(v1::Recommender::NewStub(connection.channel())) {}
    const Connection connection;
    const std::unique_ptr<v1::Recommender::Stub> stub;
  };

  // Null: it could not be opened. Requires mutex_.
  const Line* OpenLine() {
    if (line_ != nullptr) return line_.get();
    auto connection = connect_();
    if (connection.ok()) line_ = std::make_unique<Line>(*std::move(connection));
    return line_.get();
  }

  template <typename Request, typename Response, typename Prepare>
  void Start(Prepare prepare, const Request& request, const CallOptions& options,
             OnAnswer<Response> done) {
    auto call = std::make_unique<TypedCall<Response>>(std::move(done));
    call->context->set_deadline(std::chrono::system_clock::now() +
                                absl::ToChronoNanoseconds(options.deadline));
    call->context->set_wait_for_ready(options.wait_for_ready);
    {
      const std::lock_guard lock(mutex_);
      if (const Line* const line = closed_ ? nullptr : OpenLine(); line != nullptr) {
        line->connection.Authorize(*call->context);
        calls_.insert(call.get());
        call->reader = (line->stub.get()->*prepare)(&*call->context, request, &queue_);
        call->reader->StartCall();
        call->reader->Finish(&call->response, &call->status, call.get());
        static_cast<void>(call.release());  // Loop owns it now
        return;
      }
      call->status = closed_ ? grpc::Status(grpc::StatusCode::CANCELLED, "the client is closing")
                             : grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                            "the files of options.security cannot be used");
    }
    call->Finish({.status = ToStatus(call->status), .pushback = std::nullopt});
  }

  void Loop() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      const Answer answer = ToAnswer(*call);
      std::unique_ptr<Line> unused;
      {
        const std::lock_guard lock(mutex_);
        calls_.erase(call.get());
        call->Release();
        if (connect_ != nullptr && calls_.empty()) unused = std::move(line_);
      }
      unused.reset();
      call->Finish(answer);
    }
  }

  const Connecting connect_;
  grpc::CompletionQueue queue_;
  std::mutex mutex_;
  std::unique_ptr<Line> line_;  // null: none is open
  std::set<Call*> calls_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> OpenTransport(const std::string& target,
                                                         const ChannelSecurity& security,
                                                         bool only_for_calls) {
  BANDANA_ASSIGN_OR_RETURN(Connection connection, Connect(target, security));
  GrpcTransport::Connecting connect;
  if (only_for_calls) connect = [target, security] { return Connect(target, security); };
  return std::unique_ptr<Transport>(
      std::make_unique<GrpcTransport>(std::move(connection), std::move(connect)));
}

}  // namespace bandana::device
