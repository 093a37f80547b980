// Handlers that a test scripts, a call observer that counts, and bare clients of the transport.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/grpc_server.h"
#include "server/service/transport/handlers.h"

namespace bandana::testing {

// A gate that is open or shut. Threads: safe.
class Gate {
 public:
  explicit Gate(bool open) : open_(open) {}
  void Open() { Set(true); }
  void Shut() { Set(false); }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void AwaitWaiting(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= n; });
  }

 private:
  void Set(bool open) {
    std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_;
  int waiting_ = 0;
};

// Select echoes the version 7; Report and Submit answer one APPLIED an outcome, at once or held.
// Threads: safe.
class ScriptedHandlers final : public server::Handlers {
 public:
  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override {
    response.set_model(request.model());
    return absl::OkStatus();
  }
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    selects.fetch_add(1);
    select_gate.Pass();
    if (request.user() == "error") return absl::InvalidArgumentError(error_text);
    response.set_posterior_version(7);
    response.set_token(std::string(request.top_k(), 't'));
    return absl::OkStatus();
  }
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override {
    for (int i = 0; i < request.decisions_size(); ++i) response.add_results();
    return absl::OkStatus();
  }
  absl::Status GetPosterior(const v1::GetPosteriorRequest&,
                            v1::GetPosteriorResponse& response) override {
    response.set_version(7);
    return absl::OkStatus();
  }
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest&,
                             v1::GetArmEffectsResponse& response) override {
    response.set_version(7);
    return absl::OkStatus();
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    Hold([&request, &response, finish = std::move(finish)] {
      for (int i = 0; i < request.outcomes_size(); ++i)
        response.add_results()->set_code(v1::APPLIED);
      finish(absl::OkStatus());
    });
  }
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) override {
    for (int i = 0; i < request.tokens_size(); ++i) response.add_results()->set_code(v1::APPLIED);
    finish(absl::OkStatus());
  }
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              server::Finish finish) override {
    Hold([&request, &response, finish = std::move(finish)] {
      for (int i = 0; i < request.reports_size(); ++i)
        response.add_results()->set_code(v1::APPLIED);
      finish(absl::OkStatus());
    });
  }
  bool KeepsCallUnrecorded(std::string_view model, std::string_view policy_hash) override {
    return policy_hash == "former" || KeepsReportsUnrecorded(model);
  }
  bool KeepsReportsUnrecorded(std::string_view model) override {
    return keeps_unrecorded.load() && (model.empty() || model == "unrecorded");
  }
  server::Serving ServingOf(std::string_view service) override {
    std::lock_guard lock(mutex_);
    const auto found = serving_.find(std::string(service));
    return found == serving_.end() ? server::Serving::kUnknownService : found->second;
  }

  void SetServing(const std::string& service, server::Serving serving) {
    std::lock_guard lock(mutex_);
    serving_[service] = serving;
  }
  void HoldReports() {
    std::lock_guard lock(mutex_);
    hold_ = true;
  }
  int held() const {
    std::lock_guard lock(mutex_);
    return static_cast<int>(held_.size());
  }
  // Completes what is held, on the calling thread.
  void ReleaseReports(bool keep_holding = false) {
    std::vector<std::function<void()>> held;
    {
      std::lock_guard lock(mutex_);
      hold_ = keep_holding;
      held.swap(held_);
    }
    for (auto& complete : held) complete();
  }

  std::atomic<int> selects{0};
  std::atomic<bool> keeps_unrecorded{false};  // reports of the model `unrecorded`
  Gate select_gate{true};
  std::string error_text = "field: wrong";

 private:
  void Hold(std::function<void()> complete) {
    {
      std::lock_guard lock(mutex_);
      if (hold_) {
        held_.push_back(std::move(complete));
        return;
      }
    }
    complete();
  }

  mutable std::mutex mutex_;
  bool hold_ = false;
  std::vector<std::function<void()>> held_;
  std::map<std::string, server::Serving> serving_ = {{"", server::Serving::kServing},
                                                     {"m", server::Serving::kServing}};
};

class CountingObserver final : public server::CallObserver {
 public:
  void OnStart(const server::Rpc&, absl::Duration waited) override {
    std::lock_guard lock(mutex_);
    ++started_;
    if (waited < absl::ZeroDuration()) ++negative_;
  }
  void OnCall(const server::Rpc& rpc, int status_code, absl::Duration duration) override {
    std::lock_guard lock(mutex_);
    ++calls_[{std::string(rpc.method()), status_code}];
    if (duration < absl::ZeroDuration()) ++negative_;
  }
  int calls(const std::string& method, int status_code) const {
    std::lock_guard lock(mutex_);
    const auto found = calls_.find({method, status_code});
    return found == calls_.end() ? 0 : found->second;
  }
  int started() const {
    std::lock_guard lock(mutex_);
    return started_;
  }
  int negative() const {
    std::lock_guard lock(mutex_);
    return negative_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int> calls_;
  int started_ = 0;
  int negative_ = 0;
};

// Keeps what is written.
class RecordingLog final : public server::CallLog {
 public:
  void Write(const server::CallRecord& record) override {
    std::lock_guard lock(mutex_);
    records_.push_back(record);
  }
  std::vector<server::CallRecord> records() const {
    std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<server::CallRecord> records_;
};

// A connection of its own: equal arguments would share one.
inline std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  static std::atomic<int> next{0};
  grpc::ChannelArguments arguments;
  arguments.SetInt("bandana.test.channel", next.fetch_add(1));
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// A context that fails the test rather than hang it.
inline std::unique_ptr<grpc::ClientContext> Context(absl::Duration timeout = absl::Seconds(30)) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return context;
}

inline std::string Trailer(const grpc::ClientContext& context, const std::string& key) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(key);
  return found == trailers.end() ? "" : std::string(found->second.data(), found->second.size());
}

// One call of bytes to any method; blocks.
inline grpc::Status CallBytes(const std::shared_ptr<grpc::Channel>& channel,
                              const std::string& method, const std::string& bytes,
                              grpc::ClientContext& context, grpc::ByteBuffer* response = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, &status);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (response != nullptr) *response = answer;
  return status;
}

// Waits, at most half a minute, until `done` holds.
inline bool Eventually(const std::function<bool()>& done) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!done()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

inline std::unique_ptr<server::GrpcServer> StartServer(server::Handlers& handlers,
                                                       server::GrpcServerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  return std::move(server::GrpcServer::Start(options, handlers)).value();
}

}  // namespace bandana::testing
