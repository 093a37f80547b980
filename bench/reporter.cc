#include "bench/reporter.h"

#include <chrono>
#include <thread>

#include "absl/time/clock.h"
#include "common/base/check.h"

namespace bandana::bench {

void Reporter::Run(const std::function<bool(std::int64_t sent)>& enough) {
  while (!enough(sent_)) {
    std::vector<ReportedOutcome> outcomes;
    outcomes.reserve(kReport);
    for (int i = 0; i < kReport; ++i) outcomes.push_back(Next());
    sent_ += kReport;
    std::unique_lock lock(mutex_);
    free_.wait(lock, [&] { return in_flight_ < kInFlight; });
    ++in_flight_;
    lock.unlock();
    Send(std::move(outcomes));
  }
  std::unique_lock lock(mutex_);
  free_.wait(lock, [&] { return in_flight_ == 0; });
  BANDANA_CHECK(refused_ == 0);
}

ReportedOutcome Reporter::Next() {
  ReportedOutcome outcome;
  Decision& decision = outcome.decision;
  decision.instance = model_.instance();
  decision.epoch = model_.epoch();
  model_.NumberDecision(decision.id);
  decision.time = absl::Now();
  SealedArm& arm = decision.arms.emplace_back();
  arm.propensity = 1;
  events_.DrawFeatures(arm.features);
  outcome.reward = 0.5 + 0.3 * arm.features[0];
  complete_(outcome);
  return outcome;
}

void Reporter::Send(std::vector<ReportedOutcome> outcomes) {
  model_.Report(std::move(outcomes), [this](absl::StatusOr<std::vector<ReportResult>> results) {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    if (!results.ok()) {
      ++refused_;
    } else {
      for (const ReportResult& result : *results) refused_ += result.code == v1::APPLIED ? 0 : 1;
    }
    free_.notify_one();
  });
}

void WaitApplied(const server::HostedModel& model) {
  for (;;) {
    const v1::GetStatsResponse stats = model.Stats();
    if (stats.applied_sequence() == stats.log_sequence()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace bandana::bench
