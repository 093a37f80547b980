// Which mechanism a model's events take on this device.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "client/core/event_mechanism.h"
#include "common/promise/public_spec.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// Whose events they are: what the ledger and the streams know the client by.
struct EventOwner {
  PolicyId policy = 0;
  OwnerId owner = 0;
  std::uint64_t events_max = 0;  // of one user, 0 = no bound
  BitSource* bits = nullptr;     // what is drawn with; outlives the mechanism
  ModelEpoch* epoch = nullptr;   // outlives the mechanism
};

// The one choice between them. Errors: INVALID_ARGUMENT a cost that cannot be accounted for.
absl::StatusOr<std::unique_ptr<EventMechanism>> MakeEventMechanism(const PublicSpec& spec,
                                                                   const EventOwner& owner);

}  // namespace bandana::device
