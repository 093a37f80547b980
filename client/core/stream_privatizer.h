// Events of a counter model on the device: opens streams, pays for them, takes their steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/accounted_events.h"
#include "client/core/counter_stream.h"
#include "common/accounting/composition.h"
#include "common/mechanisms/counters/counter_design.h"

namespace bandana::device {

// Invariants: 1. a stream's whole cost is debited in an earlier transaction than its first draw.
// 2. A decision takes at most one step; step, state, release and the mark that the decision is
// drawn are one transaction, and only what it made durable is sent. 3. A state is stepped once:
// there is one writer, and a store that may be older than what left has no streams (Tables).
//
// Privacy:  design.cost()-zCDP per stream in the reward of any one of its events, so (epsilon,
//           delta)-LDP per event; docs/privacy/device_stream.md.
class StreamPrivatizer final : public AccountedEvents {
 public:
  struct Options {
    std::shared_ptr<const CounterDesign> design;
    double centre = 0;  // of the rewards that it counts
    PrivacyCost cost;   // of a stream
    OwnerId owner = 0;
    ModelEpoch* epoch = nullptr;  // outlives the privatizer
  };
  // Errors: INVALID_ARGUMENT a cost that cannot be accounted for.
  static absl::StatusOr<std::unique_ptr<EventMechanism>> Create(Options stream,
                                                                EventOptions options);

  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  // Takes the step of the decision `row` (number, user, token, rank, epoch, features of the arm
  // shown) in the user's stream. Errors also: FAILED_PRECONDITION the model is in another epoch
  // than it was at the decision; DATA_LOSS, FAILED_PRECONDITION the stream's state does not fit.
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  StreamPrivatizer(Options stream, EventOptions options, std::uint64_t rho_cost)
      : AccountedEvents(std::move(options), 0), stream_(std::move(stream)), rho_cost_(rho_cost) {}
  const CounterDesign& design() const { return *stream_.design; }
  // Ends what is left of other epochs, debits and adds a stream.
  absl::StatusOr<StreamRow> Open(Transaction& transaction, const std::string& user,
                                 std::uint64_t epoch) const;
  absl::Status TakeStep(Transaction& transaction, StreamRow& stream, const ReportRow& row,
                        const HeldReward& reward) const;

  const Options stream_;
  const std::uint64_t rho_cost_;  // of a stream, in units of PrivacyTotals::kUnit
};

}  // namespace bandana::device
