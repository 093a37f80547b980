// The transport's callees: Recommender's methods as plain functions, without gRPC.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"

namespace bandana::server {

// Completes one call, exactly once, on any thread. With OK the response is sent as it stands then;
// the response may not be touched afterwards.
using Finish = std::function<void(absl::Status)>;

enum class Serving { kUnknownService, kServing, kNotServing };
// The answer of grpc.health.v1 for a service: the handlers' word, except that a draining server
// does not serve.
using ServingQuery = std::function<Serving(std::string_view)>;

// Threads: every method may run on several threads at once.
// Methods that return a status run to completion on the queue thread and must not block. Response
// objects come empty and are reused between calls. Methods with a Finish may complete later;
// request and response live until then.
class Handlers {
 public:
  virtual ~Handlers() = default;
  virtual absl::Status GetModel(const v1::GetModelRequest& request,
                                v1::GetModelResponse& response) = 0;
  virtual absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) = 0;
  virtual absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                                   v1::BatchSelectResponse& response) = 0;
  virtual absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                                    v1::GetPosteriorResponse& response) = 0;
  virtual absl::Status GetArmEffects(const v1::GetArmEffectsRequest& request,
                                     v1::GetArmEffectsResponse& response) = 0;
  virtual void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
                      Finish finish) = 0;
  virtual void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                        Finish finish) = 0;
  virtual void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
                      Finish finish) = 0;
  // Whether calls of rpcs that may be unrecorded (Report) for this model are to be neither counted
  // nor timed nor logged, because when they come is as private as what they say (HidesReports). "":
  // of some model, for calls that are refused before anybody looks which.
  virtual bool KeepsReportsUnrecorded(std::string_view) { return false; }
  // As above for a call that names a policy, empty: none. Where it is not the model's, the call is
  // of a model that was there before, and may have hidden its reports.
  virtual bool KeepsCallUnrecorded(std::string_view model, std::string_view /*policy_hash*/) {
    return KeepsReportsUnrecorded(model);
  }
  // For grpc.health.v1: "" is the whole server, other names are models.
  virtual Serving ServingOf(std::string_view service) = 0;
};

}  // namespace bandana::server
