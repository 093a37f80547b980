// The one place on the device where a context and its reward become a perturbed report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/accounted_events.h"
#include "client/core/held_reward.h"
#include "common/promise/mechanism.h"
#include "common/ranking/link.h"

namespace bandana::device {

// Invariants, for every decision: 1. its event is debited durably before its draw. 2. At most one
// draw is ever persisted, and only persisted draws are sent. 3. Stored and sent are the draw, a
// random id that has nothing to do with the decision, and the model's epoch at the decision; from
// then on the device keeps neither the features nor the reward.
//
// Privacy:  the mechanism's guarantee for (x, r) of one event together, replacement neighbours;
//           docs/privacy/context_release.md.
class ContextPrivatizer final : public AccountedEvents {
 public:
  struct Options {
    std::shared_ptr<const Mechanism> mechanism;  // has contexts()
    Link link = Link::kLinear;
    int dimension = 0;
  };
  // Errors: INVALID_ARGUMENT a cost that cannot be accounted for.
  static absl::StatusOr<std::unique_ptr<EventMechanism>> Create(Options mechanism,
                                                                EventOptions options);

  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  // `row` has the features of the arm shown; they are straightened, and erased with the draw.
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  ContextPrivatizer(Options contexts, EventOptions options, std::uint64_t event_cost)
      : AccountedEvents(std::move(options), event_cost), contexts_(std::move(contexts)) {}
  // v1.ContextReport, the bytes that will be sent.
  absl::StatusOr<std::string> DrawReport(const ReportRow& row, double reward) const;

  const Options contexts_;
};

}  // namespace bandana::device
