// Recommender's methods over the hosted models: decode, validate, call, encode. No gRPC in here.
#pragma once

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "server/models/registry.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

struct RecommenderOptions {
  int arms_per_request_max = kArmsPerRequestMaxDefault;  // [1, kArmsPerRequestMaxMax]
  int batch_decisions_max =
      kBatchDecisionsMax;  // decisions or outcomes in one call, [1, kBatchDecisionsMax]
};

// Errors are those of recommender.proto; they name field, shape and constraint, and never a
// context, a reward or a user. Threads: all methods are safe. Select waits for nobody and, in
// steady state, allocates only what the response needs.
class Recommender final : public Handlers {
 public:
  // All references must outlive the object and every Report in flight.
  Recommender(const RecommenderOptions& options, const ModelRegistry& registry, TokenCodec& tokens,
              const Clock& clock);

  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override;
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override;
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override;
  absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                            v1::GetPosteriorResponse& response) override;
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              Finish finish) override;
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              Finish finish) override;
  bool HushesReports(std::string_view model) override;
  // "" serves as long as the process does; a model serves while it can take reports.
  Serving ServingOf(std::string_view service) override;

 private:
  const RecommenderOptions options_;
  const ModelRegistry& registry_;
  TokenCodec& tokens_;
  const Clock& clock_;
};

}  // namespace bandana::server
