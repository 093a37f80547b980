// The one place on the device where a reward becomes a randomized one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/accounted_events.h"
#include "common/accounting/composition.h"
#include "common/promise/reward_reports.h"

namespace bandana::device {

// Any mechanism that is RewardReports: it clips, it draws, and says what a report says of the
// decision's window. Invariants, for every decision: 1. its event is debited durably before its
// draw. 2. At most one draw is ever persisted, and only persisted draws are sent. 3. The drawn
// output is stored and sent; neither the reward nor its clipped form is.
//
// Privacy:  epsilon-LDP per event (replacement of one reward); docs/privacy/reward_randomizer.md.
class Privatizer final : public AccountedEvents {
 public:
  struct Options {
    std::shared_ptr<const RewardReports> rewards;
    PrivacyCost cost;  // of an event
  };
  // Errors: INVALID_ARGUMENT a cost that cannot be accounted for.
  static absl::StatusOr<std::unique_ptr<EventMechanism>> Create(Options mechanism,
                                                                EventOptions options);

  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  Privatizer(std::shared_ptr<const RewardReports> rewards, EventOptions options,
             std::uint64_t event_cost)
      : AccountedEvents(std::move(options), event_cost), rewards_(std::move(rewards)) {}
  const RewardReports& rewards() const { return *rewards_; }

  const std::shared_ptr<const RewardReports> rewards_;
};

}  // namespace bandana::device
