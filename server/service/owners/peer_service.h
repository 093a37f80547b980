// bandana.internal.Peer: what the servers of one store say to one another.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/design/instance_id.h"
#include "server/models/model_directory.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/taken_call.h"

namespace grpc {
class Service;
}

namespace bandana::server {

// Threads: all methods are safe. A synchronous service.
//
// Record, per call. Errors: those of TakenCall::Admit; those of AbsenceOf; UNAVAILABLE the model
// is not owned here, or cannot take a decision now; INVALID_ARGUMENT a decision without slots, or a
// token that does not open; FAILED_PRECONDITION one of another instance. Decisions before the one
// that is wrong are taken.
//
// Forget, per call. Errors: those of TakenCall::Admit; INVALID_ARGUMENT an instance that is not 16
// bytes; those of Options::forget.
//
// Part, per call. Errors: those of TakenCall::Admit; those of AbsenceOf; INVALID_ARGUMENT an
// instance that is not 16 bytes; those of LoggedModel::AnswerPart.
//
// Stand, per call. Errors: those of TakenCall::Admit; INVALID_ARGUMENT an instance that is not 16
// bytes; those of ModelDirectory::Stand.
class PeerService {
 public:
  struct Options {
    CallDeskOptions calls;  // no gatekeeper: everybody is a peer
    // Forgets what was decided by name for these users of an instance of a model
    // (DecisionIndex::ForgetUsers).
    std::function<absl::Status(const InstanceId& instance, std::span<const std::string> users)>
        forget;
    const Clock* clock = nullptr;  // what Stand tells; required
  };
  // All must outlive the service.
  PeerService(const ModelDirectory& registry, TokenCodec& tokens, Options options);
  ~PeerService();
  PeerService(const PeerService&) = delete;
  PeerService& operator=(const PeerService&) = delete;

  grpc::Service* service();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace bandana::server
