// Events of a counter model on the device: opens streams, pays for them, takes their steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/counter_stream.h"
#include "client/core/event_mechanism.h"
#include "common/accounting/composition.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// Invariants: 1. a stream's whole cost is debited in an earlier transaction than its first draw.
// 2. A decision takes at most one step; step, state, release and the mark that the decision is
// drawn are one transaction, and only what it made durable is sent. 3. A state is stepped once:
// there is one writer, and a store that may be older than what left has no streams (Tables).
//
// Privacy:  design.cost()-zCDP per stream in the reward of any one of its events, so (epsilon,
//           delta)-LDP per event; docs/privacy/device_stream.md.
class StreamPrivatizer final : public EventMechanism {
 public:
  struct Options {
    std::shared_ptr<const CounterDesign> design;
    double centre = 0;  // of the rewards that it counts
    PrivacyCost cost;   // of a stream
    RewardRange range;
    double default_reward = 0;
    std::string model;
    PolicyId policy = 0;
    OwnerId owner = 0;
    std::uint64_t events_max = 0;  // of one user, 0 = no bound
    BitSource* bits = nullptr;     // outlives the privatizer
    ModelEpoch* epoch = nullptr;   // outlives the privatizer
    EventTraits traits;
  };
  // Errors: INVALID_ARGUMENT a cost that cannot be accounted for.
  static absl::StatusOr<std::unique_ptr<EventMechanism>> Create(Options options);

  const EventTraits& traits() const override { return options_.traits; }
  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::Status Debit(Transaction& transaction, const std::string& user, int events) const override;
  absl::Status MayDebit(Transaction& transaction, const std::string& user,
                        int events) const override;
  // Takes the step of the decision `row` (number, user, token, rank, epoch, features of the arm
  // shown) in the user's stream. Errors also: FAILED_PRECONDITION the model is in another epoch
  // than it was at the decision; DATA_LOSS, FAILED_PRECONDITION the stream's state does not fit.
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  StreamPrivatizer(Options options, std::uint64_t rho_cost)
      : options_(std::move(options)), rho_cost_(rho_cost) {}
  const CounterDesign& design() const { return *options_.design; }
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, 0};
  }
  // Ends what is left of other epochs, debits and adds a stream.
  absl::StatusOr<StreamRow> Open(Transaction& transaction, const std::string& user) const;
  absl::Status TakeStep(Transaction& transaction, StreamRow& stream, const ReportRow& row,
                        const HeldReward& reward) const;

  const Options options_;
  const std::uint64_t rho_cost_;  // of a stream, in units of PrivacyTotals::kUnit
};

}  // namespace bandana::device
