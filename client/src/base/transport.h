// The connection: Recommender's methods as asynchronous calls. The only gRPC of the SDK is in
// transport.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/channel/channel.h"

namespace bandana::device {

struct Answer {
  absl::Status status;
  std::optional<absl::Duration> pushback;  // grpc-retry-pushback-ms of a failure
};

// `response` is empty unless the status is OK; it may be moved from. Runs on the queue's thread.
template <typename Response>
using OnAnswer = std::function<void(const Answer&, Response& response)>;

struct CallOptions {
  absl::Duration deadline;
  bool wait_for_ready = false;  // wait for the connection instead of failing UNAVAILABLE at once
};

// Every call is one attempt; gRPC's own retries are off. Threads: safe.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual void GetModel(const v1::GetModelRequest& request, const CallOptions& options,
                        OnAnswer<v1::GetModelResponse> done) = 0;
  virtual void Select(const v1::SelectRequest& request, const CallOptions& options,
                      OnAnswer<v1::SelectResponse> done) = 0;
  virtual void BatchSelect(const v1::BatchSelectRequest& request, const CallOptions& options,
                           OnAnswer<v1::BatchSelectResponse> done) = 0;
  virtual void Report(const v1::ReportRequest& request, const CallOptions& options,
                      OnAnswer<v1::ReportResponse> done) = 0;
  virtual void Submit(const v1::SubmitRequest& request, const CallOptions& options,
                      OnAnswer<v1::SubmitResponse> done) = 0;
  virtual void GetPosterior(const v1::GetPosteriorRequest& request, const CallOptions& options,
                            OnAnswer<v1::GetPosteriorResponse> done) = 0;
  virtual void GetArmEffects(const v1::GetArmEffectsRequest& request, const CallOptions& options,
                             OnAnswer<v1::GetArmEffectsResponse> done) = 0;

  // Cancels what is under way, waits for its callbacks and stops the thread. Calls made afterwards
  // are answered CANCELLED by their caller's thread. Not from a callback.
  virtual void Shutdown() = 0;
};

// Over gRPC: one connection, one completion queue, one thread. Does not wait for the server.
// `only_for_calls`: the connection is closed with the last call under way, before that one is
// answered, and the next one opens another; so the end of a process ends none. Errors: as
// Connection::Open.
absl::StatusOr<std::unique_ptr<Transport>> OpenTransport(const std::string& target,
                                                         const ChannelSecurity& security = {},
                                                         bool only_for_calls = false);

}  // namespace bandana::device
