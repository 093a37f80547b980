// A conversation of clients and a server, byte by byte: recorded, kept in a file, replayed.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/service/transport/handlers.h"

namespace bandana::testing {

// One call that succeeded; messages serialized.
struct Exchange {
  std::string method;  // of Recommender: "Select"
  std::string model;
  std::string request;
  std::string response;
};

// A file of one line an exchange: method, model, both messages in hexadecimal.
std::string FormatConversation(const std::vector<Exchange>& exchanges);
std::vector<Exchange> ParseConversation(const std::string& text);  // aborts when it is none

// Lets `handlers` answer the request anew. Errors: INVALID_ARGUMENT the request does not parse, or
// holds a field that its message does not have; what the method says; DEADLINE_EXCEEDED after ten
// seconds.
absl::StatusOr<Exchange> Replay(const Exchange& exchange, server::Handlers& handlers);

// Names of all fields that the response, or any message inside, has set; sorted. "unknown" stands
// for a field that its message does not have.
std::vector<std::string> FieldsOfResponse(const Exchange& exchange);

// All methods as one.
class AnyMethod : public server::Handlers {
 public:
  absl::Status GetModel(const v1::GetModelRequest& request, v1::GetModelResponse& response) final;
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) final;
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) final;
  absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                            v1::GetPosteriorResponse& response) final;
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest& request,
                             v1::GetArmEffectsResponse& response) final;
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) final;
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) final;
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              server::Finish finish) final;
  server::Serving ServingOf(std::string_view) final { return server::Serving::kServing; }

 private:
  // Finishes before it returns, but for Report, Activate and Submit.
  virtual void Call(const std::string& method, const std::string& model,
                    const google::protobuf::Message& request, google::protobuf::Message& response,
                    server::Finish finish) = 0;
};

// Passes calls on and keeps those that succeed. Threads: safe.
class Recorder final : public AnyMethod {
 public:
  explicit Recorder(server::Handlers& inner) : inner_(inner) {}
  std::vector<Exchange> exchanges() const;

 private:
  void Call(const std::string& method, const std::string& model,
            const google::protobuf::Message& request, google::protobuf::Message& response,
            server::Finish finish) override;

  server::Handlers& inner_;
  mutable std::mutex mutex_;
  std::vector<Exchange> exchanges_;
};

// An earlier server: answers each call with the recorded answer, in the recorded order; the
// last answer of a method and model again and again. NOT_FOUND where there was none, UNIMPLEMENTED
// where the method was never called. Threads: safe.
class Playback final : public AnyMethod {
 public:
  explicit Playback(std::vector<Exchange> exchanges) : left_(std::move(exchanges)) {}

 private:
  void Call(const std::string& method, const std::string& model,
            const google::protobuf::Message& request, google::protobuf::Message& response,
            server::Finish finish) override;

  std::mutex mutex_;
  std::vector<Exchange> left_;
};

}  // namespace bandana::testing
