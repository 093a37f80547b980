#include "server/models/admission/apprentice.h"

#include "common/promise/event_rule.h"
#include "common/promise/mode.h"

namespace bandana::server {

Apprentice::Apprentice(const ModelSpec& spec, absl::Time start)
    : counts_(!HidesContexts(spec.public_spec.mode)),
      rewards_(!IsPrivateMode(spec.public_spec.mode)),
      default_(EventRuleOf(spec.public_spec).unreported),
      start_(start) {}

void Apprentice::Decided(bool agreed) {
  if (!counts_) return;
  const std::lock_guard lock(mutex_);
  ++all_.decisions;
  if (agreed) ++agreements_.decisions;
}

void Apprentice::Reported(bool agreed, absl::Time decided, double reward) {
  if (!rewards_ || decided < start_) return;
  const std::lock_guard lock(mutex_);
  const auto add = [&](Tally& tally) {
    ++tally.reports;
    tally.sum += reward - default_.value_or(0);
  };
  add(all_);
  if (agreed) add(agreements_);
}

// A decision whose window is open counts with the default until its report comes.
std::optional<double> Apprentice::Tally::Mean(std::optional<double> otherwise) const {
  const std::uint64_t count = otherwise ? decisions : reports;
  if (count == 0) return std::nullopt;
  return otherwise.value_or(0) + sum / static_cast<double>(count);
}

std::optional<v1::ApprenticeStats> Apprentice::Stats() const {
  const std::lock_guard lock(mutex_);
  if (all_.decisions == 0) return std::nullopt;
  v1::ApprenticeStats stats;
  stats.set_decisions(all_.decisions);
  stats.set_agreements(agreements_.decisions);
  if (!rewards_) return stats;
  if (const auto mean = agreements_.Mean(default_)) stats.set_reward_of_agreements(*mean);
  if (const auto mean = all_.Mean(default_)) stats.set_reward(*mean);
  return stats;
}

}  // namespace bandana::server
