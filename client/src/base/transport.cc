#include "client/src/base/transport.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";

constexpr const char* kMethods[] = {
    "/bandana.v1.Recommender/GetModel",      "/bandana.v1.Recommender/Select",
    "/bandana.v1.Recommender/BatchSelect",   "/bandana.v1.Recommender/Report",
    "/bandana.v1.Recommender/Submit",        "/bandana.v1.Recommender/GetPosterior",
    "/bandana.v1.Recommender/GetArmEffects", "/bandana.v1.Recommender/Activate"};

// One call under way: the tag of its completion.
struct Call {
  explicit Call(OnAnswer done) : done(std::move(done)) {}

  void Finish(const Answer& answer) {
    std::string bytes;
    if (answer.status.ok()) Append(response, bytes);
    done(answer, bytes);
  }
  // Lets go of the connection, after the completion.
  void Release() {
    reader.reset();
    context.reset();
  }
  static void Append(const grpc::ByteBuffer& buffer, std::string& bytes) {
    std::vector<grpc::Slice> slices;
    if (!buffer.Dump(&slices).ok()) return;
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }

  OnAnswer done;
  std::optional<grpc::ClientContext> context{std::in_place};
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::ByteBuffer response;
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

  void Make(Method method, std::string request, const CallOptions& options,
            OnAnswer done) override {
    auto call = std::make_unique<Call>(std::move(done));
    call->context->set_deadline(std::chrono::system_clock::now() +
                                absl::ToChronoNanoseconds(options.deadline));
    call->context->set_wait_for_ready(options.wait_for_ready);
    const grpc::Slice slice(request);
    const grpc::ByteBuffer bytes(&slice, 1);
    {
      const std::lock_guard lock(mutex_);
      if (Line* const line = closed_ ? nullptr : OpenLine(); line != nullptr) {
        line->connection.Authorize(*call->context);
        calls_.insert(call.get());
        call->reader = line->stub.PrepareUnaryCall(
            &*call->context, kMethods[static_cast<std::size_t>(method)], bytes, &queue_);
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
    explicit Line(Connection opened) : connection(std::move(opened)), stub(connection.channel()) {}
    const Connection connection;
    grpc::GenericStub stub;
  };

  // Null: it could not be opened. Requires mutex_.
  Line* OpenLine() {
    if (line_ != nullptr) return line_.get();
    auto connection = connect_();
    if (connection.ok()) line_ = std::make_unique<Line>(*std::move(connection));
    return line_.get();
  }

  void Loop() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      Answer answer;
      std::unique_ptr<Line> unused;
      {
        const std::lock_guard lock(mutex_);
        answer = ToAnswer(*call);
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
