// How a model reads reports of one decision each, a reward or the output that a device drew for it,
// and how the event is in the log. Whoever makes entries of such reports makes them by this: the
// server as well as experiments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/design/family.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/reward_range.h"
#include "common/model/entries/records.h"

namespace bandana {

// A report, without the decision that it is of.
struct ReportedReward {
  std::optional<double> reward;         // where devices send rewards; missing allowed
  std::optional<std::uint32_t> output;  // where devices draw
  bool whole_range = false;             // as RewardReport
  std::optional<RewardRange> window;    // of the arm that was shown, as the decision named it
};

// An event without its decision.
struct ReadReward {
  Family::Weighed event;
  bool clipped = false;         // moved into the range, and may be told
  std::optional<double> place;  // RewardEvent::place
};

// Threads: safe.
class OutcomeReader {
 public:
  virtual ~OutcomeReader() = default;
  virtual std::variant<ReadReward, v1::RejectReason> Read(const ReportedReward& report) const = 0;
};

// Requires a model whose devices send rewards or outputs. `spec` must outlive it.
std::unique_ptr<const OutcomeReader> MakeOutcomeReader(const ModelSpec& spec);

// Completes the record of a decision, whose features are those of the shown arm: its reward, and
// its features as the event scales them, which are then in `scaled`. `probability`: of the
// decision.
void WriteOutcome(const ModelSpec& spec, const Family::Weighed& event, double probability,
                  OutcomeRecord& record, std::vector<double>& scaled);

}  // namespace bandana
