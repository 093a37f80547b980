// The lift of a served model: what its policy brings beside others, while it decides.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "common/decisions/segment.h"
#include "common/decisions/stored_decision.h"
#include "common/design/model_spec.h"
#include "common/judging/lift_monitor.h"

namespace bandana::server {

// Since the start of this server: sums, and decisions that wait for their reward, of nobody's name.
// Nothing of it is stored. Threads: all methods are safe; Decided waits for nobody.
class Lift {
 public:
  // Null where WhyNoLift says why. `facts` as of the decision log.
  static std::unique_ptr<Lift> Of(const ModelSpec& spec, const SegmentHeader& facts);
  Lift(const SegmentHeader& facts, double unreported) : monitor_(facts, unreported) {}

  static constexpr std::uint64_t kFirst = LiftMonitor::kFirst;

  // A decision was answered with its tokens; `encoded` as its log has it.
  void Decided(const StoredDecision& decision, std::string_view encoded);
  // Rows of applied entries; `now` of the model's clock.
  void Rewarded(std::span<const RewardRow> rows, absl::Time now);
  LiftReport Report(absl::Time now);

 private:
  // Those that came since the monitor was last free.
  std::vector<LiftMonitor::Waiting> TakeIn();
  void Admit();  // requires mutex_

  std::mutex in_mutex_;  // for what follows
  std::vector<LiftMonitor::Waiting> in_;

  std::mutex mutex_;  // for what follows; taken before in_mutex_
  LiftMonitor monitor_;
};

// `lift` may be null: then the sentence says why.
void FillLift(const ModelSpec& spec, Lift* lift, absl::Time now, v1::LiftStats& out);

}  // namespace bandana::server
