// The connection: Recommender's methods as asynchronous calls on one completion queue with one
// thread. The only gRPC of the SDK is in transport.cc.
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
  // Does not wait for the server. Errors: as Connection::Open.
  static absl::StatusOr<std::unique_ptr<Transport>> Open(const std::string& target,
                                                         const ChannelSecurity& security = {});
  ~Transport();

  void GetModel(const v1::GetModelRequest& request, const CallOptions& options,
                OnAnswer<v1::GetModelResponse> done);
  void Select(const v1::SelectRequest& request, const CallOptions& options,
              OnAnswer<v1::SelectResponse> done);
  void BatchSelect(const v1::BatchSelectRequest& request, const CallOptions& options,
                   OnAnswer<v1::BatchSelectResponse> done);
  void Report(const v1::ReportRequest& request, const CallOptions& options,
              OnAnswer<v1::ReportResponse> done);
  void Submit(const v1::SubmitRequest& request, const CallOptions& options,
              OnAnswer<v1::SubmitResponse> done);
  void GetPosterior(const v1::GetPosteriorRequest& request, const CallOptions& options,
                    OnAnswer<v1::GetPosteriorResponse> done);

  // Cancels what is under way, waits for its callbacks and stops the thread. Calls made afterwards
  // are answered CANCELLED by their caller's thread. Not from a callback.
  void Shutdown();

 private:
  class Body;
  explicit Transport(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace bandana::device
