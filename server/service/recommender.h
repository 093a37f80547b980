// Recommender's methods over the hosted models: decode, validate, call, encode. No gRPC in here.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "server/models/model_directory.h"
#include "server/service/decisions/decision_index.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

class OwnerChannels;  // owners/owner_channels.h

struct RecommenderOptions {
  int arms_per_request_max = kArmsPerRequestMaxDefault;  // [1, kArmsMaxMax]
  int batch_decisions_max =
      kBatchDecisionsMax;  // decisions or outcomes in one call, [1, kBatchDecisionsMax]
};

class RecommenderHandlers : public Handlers {
 public:
  // For calls from now on.
  virtual void Take(const RecommenderOptions& options) = 0;
};

// A call for a model that is not owned here is handed to `owners`; null: it is UNAVAILABLE, so that
// no call is forwarded in a loop. Errors are those of recommender.proto; they name field, shape and
// constraint, and never a context, a reward or a user. Threads: all methods are safe. Select waits
// for nobody and, in steady state, allocates only what the response needs. All references must
// outlive the object and every Report in flight. `decision_index`: of the decisions that callers
// name; null: one in memory.
std::unique_ptr<RecommenderHandlers> MakeRecommender(const RecommenderOptions& options,
                                                     const ModelDirectory& registry,
                                                     TokenCodec& tokens, const Clock& clock,
                                                     DecisionIndex* decision_index = nullptr,
                                                     OwnerChannels* owners = nullptr);

}  // namespace bandana::server
