// The one place on the device where a reward becomes a randomized one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/event_mechanism.h"
#include "common/accounting/composition.h"
#include "common/promise/reward_reports.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// Any mechanism that is RewardReports: it clips, it draws, and says what a report says of the
// decision's window. Invariants, for every decision: 1. its event is debited durably before its
// draw. 2. At most one draw is ever persisted, and only persisted draws are sent. 3. The drawn
// output is stored and sent; neither the reward nor its clipped form is.
//
// Privacy:  epsilon-LDP per event (replacement of one reward); docs/privacy/reward_randomizer.md.
class Privatizer final : public EventMechanism {
 public:
  struct Options {
    std::shared_ptr<const RewardReports> rewards;
    PrivacyCost cost;           // of an event
    double default_reward = 0;  // what missing and NaN rewards mean
    std::string model;
    PolicyId policy = 0;
    std::uint64_t events_max = 0;  // of one user, 0 = no bound
    BitSource* bits = nullptr;     // outlives the privatizer
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
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  Privatizer(Options options, std::uint64_t event_cost)
      : options_(std::move(options)), event_cost_(event_cost) {}
  const RewardReports& rewards() const { return *options_.rewards; }
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, event_cost_};
  }

  const Options options_;
  const std::uint64_t event_cost_;  // as Account::event_cost
};

}  // namespace bandana::device
