#include "server/models/lift.h"

#include <utility>

#include "common/design/judgeable.h"

namespace bandana::server {
namespace {

constexpr std::size_t kInMany = 64;  // decisions that the monitor is given at once

void Fill(const LiftValue& value, v1::LiftValue& out) {
  out.set_against(std::string(value.against));
  if (value.value) out.set_value(*value.value);
  if (value.low) out.set_low(*value.low);
  if (value.high) out.set_high(*value.high);
}

}  // namespace

std::unique_ptr<Lift> Lift::Of(const ModelSpec& spec, const SegmentHeader& facts) {
  if (!WhyNoLift(spec).empty()) return nullptr;
  return std::make_unique<Lift>(facts, spec.public_spec.default_reward());
}

void Lift::Decided(const StoredDecision& decision, std::string_view encoded) {
  LiftMonitor::Waiting waiting = LiftMonitor::Prepare(decision, encoded);
  {
    const std::lock_guard lock(in_mutex_);
    in_.push_back(std::move(waiting));
    if (in_.size() < kInMany) return;
  }
  // A busy monitor takes them when it is free.
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) Admit();
}

std::vector<LiftMonitor::Waiting> Lift::TakeIn() {
  const std::lock_guard lock(in_mutex_);
  return std::exchange(in_, {});
}

void Lift::Admit() {
  for (LiftMonitor::Waiting& waiting : TakeIn()) monitor_.Add(std::move(waiting));
}

void Lift::Rewarded(std::span<const RewardRow> rows, absl::Time now) {
  const std::lock_guard lock(mutex_);
  Admit();
  monitor_.Rewarded(rows);
  monitor_.Close(now);
}

LiftReport Lift::Report(absl::Time now) {
  const std::lock_guard lock(mutex_);
  Admit();
  monitor_.Close(now);
  return monitor_.Report();
}

void FillLift(const ModelSpec& spec, Lift* lift, absl::Time now, v1::LiftStats& out) {
  if (lift == nullptr) {
    const std::string why = WhyNoLift(spec);
    out.set_none(why.empty() ? "none here: this server keeps none of the model's decisions" : why);
    return;
  }
  const LiftReport report = lift->Report(now);
  out.set_none(report.problem);
  out.set_decisions(report.judged);
  out.set_first_decisions(report.first);
  out.set_waiting(report.waiting);
  out.set_left_out(report.left_out);
  if (report.needed) out.set_decisions_needed(*report.needed);
  for (const LiftValue& value : report.values) Fill(value, *out.add_values());
  for (const LiftPoint& point : report.points) {
    v1::LiftPoint& to = *out.add_points();
    to.set_decisions(point.decisions);
    const absl::Duration since = point.time - absl::UnixEpoch();
    to.mutable_time()->set_seconds(absl::ToUnixSeconds(point.time));
    to.mutable_time()->set_nanos(
        static_cast<std::int32_t>(absl::ToInt64Nanoseconds(since % absl::Seconds(1))));
    for (const LiftValue& value : point.values) Fill(value, *to.add_values());
  }
}

}  // namespace bandana::server
