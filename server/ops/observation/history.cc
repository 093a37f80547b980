#include "server/ops/observation/history.h"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace bandana::server {
namespace {

using Counts = std::vector<std::uint64_t>;

Counts Difference(const CallTotals& now, const CallTotals& then,
                  std::initializer_list<std::string_view> rpcs) {
  Counts sum(now.bounds.size() + 1, 0);
  for (const std::string_view rpc : rpcs) {
    const std::size_t m = QueueIndex(RpcNamed(rpc));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += now.buckets[m][i] - then.buckets[m][i];
  }
  return sum;
}

double Total(const Counts& counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  return total;
}

ModelSample SampleOf(const ModelView& now, const ModelView* then, double seconds) {
  ModelSample sample;
  sample.posterior_norm = now.posterior_norm;
  if (then == nullptr || then->reports_applied > now.reports_applied) return sample;
  sample.reports_per_second =
      static_cast<double>(now.reports_applied - then->reports_applied) / seconds;
  if (now.rewards && then->rewards && now.rewards->count > then->rewards->count) {
    sample.reward_mean = (now.rewards->sum - then->rewards->sum) /
                         static_cast<double>(now.rewards->count - then->rewards->count);
  }
  return sample;
}

}  // namespace

std::optional<double> Quantile(const std::vector<double>& bounds, const Counts& counts, double q) {
  const double total = Total(counts);
  if (total == 0) return std::nullopt;
  double below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (below + here >= q * total && here > 0) {
      const double low = i == 0 ? 0 : bounds[i - 1];
      return low + (bounds[i] - low) * (q * total - below) / here;
    }
    below += here;
  }
  return bounds.back();
}

void History::Tick(const ServerView& view, const CallTotals& totals, std::uint64_t resident_bytes,
                   absl::Time now) {
  const std::lock_guard lock(mutex_);
  Start next{now, totals, {}};
  for (const ModelView& model : view.models) next.models[model.name] = model;
  // A clock that was set back begins anew.
  if (!start_ || now < start_->at) {
    start_ = std::move(next);
    return;
  }
  if (now - start_->at < kInterval) return;
  const double seconds = absl::ToDoubleSeconds(now - start_->at);
  const Counts selects =
      Difference(totals, start_->totals,
                 {"bandana.v1.Recommender/Select", "bandana.v1.Recommender/BatchSelect"});
  const Counts reports = Difference(
      totals, start_->totals, {"bandana.v1.Recommender/Report", "bandana.v1.Recommender/Submit"});
  Sample sample{.at = now,
                .selections_per_second = Total(selects) / seconds,
                .reports_per_second = Total(reports) / seconds,
                .select_p50 = Quantile(totals.bounds, selects, 0.5),
                .select_p99 = Quantile(totals.bounds, selects, 0.99),
                .report_p50 = Quantile(totals.bounds, reports, 0.5),
                .report_p99 = Quantile(totals.bounds, reports, 0.99),
                .resident_bytes = resident_bytes};
  for (const auto& [name, model] : next.models) {
    const auto then = start_->models.find(name);
    sample.models[name] =
        SampleOf(model, then == start_->models.end() ? nullptr : &then->second, seconds);
  }
  samples_.push_back(std::move(sample));
  if (samples_.size() > kSamples) samples_.pop_front();
  start_ = std::move(next);
}

std::vector<Sample> History::Read() const {
  const std::lock_guard lock(mutex_);
  return {samples_.begin(), samples_.end()};
}

}  // namespace bandana::server
