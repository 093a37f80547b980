// bandana.v1.Admin over the hosted models: a synchronous service, because its calls are few and may
// wait for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "common/base/limits.h"
#include "server/models/registry.h"
#include "server/service/decisions/decision_index.h"
#include "server/service/transport/taken_call.h"

namespace grpc {
class Service;
}

namespace bandana::server {

class OwnerChannels;  // owners/owner_channels.h

struct AdminOptions {
  // Longest token_lifetime that a new model may have: keys are rotated at this age.
  absl::Duration token_lifetime_max = absl::Hours(24);
  // Called after a model or an alias came, went or changed.
  std::function<void()> on_models_changed = [] {};
  // Streaming calls at a time, and how long each may take; Export and Import longer while they move
  // (kStreamBytesPerSecondMin).
  int streams_max = 4;
  absl::Duration stream_life_max = absl::Minutes(10);
  // The bytes that an Import without a header may carry.
  std::uint64_t headless_bytes_max = kAdminStreamBytesMax;
  // Has the decisions that callers have named: those of a deleted user are forgotten. May be null;
  // outlives the service.
  DecisionIndex* decision_index = nullptr;
  // Takes calls about models that are not owned here, but for ListModels and ListArms; null: they
  // are UNAVAILABLE, so that no call is forwarded in a loop. GetStats and OpenEpoch are answered
  // here while nobody owns the model. Outlives the service.
  OwnerChannels* owners = nullptr;
  // Who may call, and who is told. `calls_max` is at most kAdminCallsMax: selections come before
  // reports, and reports before administration.
  CallDeskOptions calls;
};

// Threads: all methods are safe.
//
// Errors beyond those of admin.proto: those of TakenCall::Admit, before anything is read or done;
// NOT_FOUND unknown model; RESOURCE_EXHAUSTED too many streams, or a stream of arms or users with
// more than kAdminStreamBytesMax; CANCELLED a stream that takes longer than ten minutes.
class AdminService {
 public:
  static constexpr char kName[] = "bandana.v1.Admin";

  // `registry` must outlive the service.
  AdminService(ModelAdministration& registry, AdminOptions options);
  ~AdminService();
  AdminService(const AdminService&) = delete;
  AdminService& operator=(const AdminService&) = delete;

  grpc::Service* service();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace bandana::server
