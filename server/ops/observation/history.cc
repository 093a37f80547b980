#include "server/ops/observation/history.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace bandana::server {
namespace {

// How much too early a tick may come.
constexpr absl::Duration kEarly = absl::Milliseconds(500);

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

std::optional<float> ToFloat(const std::optional<double>& value) {
  if (!value) return std::nullopt;
  return static_cast<float>(*value);
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

SampleRing::SampleRing(const Shape& shape) : shape_(shape), samples_(shape.slots) {}

Sample SampleRing::SampleOf(const CallTotals& totals, std::uint64_t resident_bytes,
                            absl::Time now) const {
  const double seconds = absl::ToDoubleSeconds(now - start_->at);
  const Counts selects =
      Difference(totals, start_->totals,
                 {"bandana.v1.Recommender/Select", "bandana.v1.Recommender/BatchSelect"});
  const Counts reports = Difference(
      totals, start_->totals, {"bandana.v1.Recommender/Report", "bandana.v1.Recommender/Submit"});
  return {.at = now,
          .selections_per_second = Total(selects) / seconds,
          .reports_per_second = Total(reports) / seconds,
          .select_p50 = Quantile(totals.bounds, selects, 0.5),
          .select_p99 = Quantile(totals.bounds, selects, 0.99),
          .report_p50 = Quantile(totals.bounds, reports, 0.5),
          .report_p99 = Quantile(totals.bounds, reports, 0.99),
          .resident_bytes = resident_bytes};
}

ModelSample SampleRing::SampleOf(const ModelView& model, double seconds) const {
  ModelSample sample;
  sample.apply_lag = static_cast<float>(model.apply_lag());
  sample.posterior_norm = ToFloat(model.posterior_norm);
  const auto found = start_->models.find(model.name);
  // A model that was deleted and made again counts from 0.
  if (found == start_->models.end() || found->second.reports_applied > model.reports_applied)
    return sample;
  const ModelCounts& then = found->second;
  const auto reports = static_cast<double>(model.reports_applied - then.reports_applied);
  sample.reports_per_second = static_cast<float>(reports / seconds);
  if (model.rewards && then.rewards && model.rewards->count > then.rewards->count) {
    const auto count = static_cast<double>(model.rewards->count - then.rewards->count);
    sample.reward_mean = static_cast<float>((model.rewards->sum - then.rewards->sum) / count);
  }
  return sample;
}

void SampleRing::PutModels(const std::vector<ModelView>& models, double seconds) {
  std::map<std::string, std::vector<ModelSample>> next;
  for (const ModelView& model : models) {
    const auto [place, is_new] = next.try_emplace(model.name);
    if (!is_new) continue;
    std::vector<ModelSample>& slots = place->second;
    if (const auto found = models_.find(model.name); found != models_.end()) {
      slots = std::move(found->second);
    } else {
      slots.resize(shape_.slots);
    }
    slots[next_] = SampleOf(model, seconds);
  }
  models_ = std::move(next);
}

void SampleRing::Tick(const ServerView& view, const CallTotals& totals,
                      std::uint64_t resident_bytes, absl::Time now) {
  const bool back = start_ && now < start_->at;
  if (start_ && !back && now - start_->at < shape_.interval - kEarly) return;
  if (back) {
    taken_ = 0;
    models_.clear();
  } else if (start_) {
    samples_[next_] = SampleOf(totals, resident_bytes, now);
    PutModels(view.models, absl::ToDoubleSeconds(now - start_->at));
    next_ = (next_ + 1) % shape_.slots;
    taken_ = std::min(taken_ + 1, shape_.slots);
  }
  start_ = Start{now, totals, {}};
  for (const ModelView& model : view.models)
    start_->models[model.name] = {model.reports_applied, model.rewards};
}

Series SampleRing::Read() const {
  const auto unroll = [this](const auto& slots, auto& out) {
    out.reserve(taken_);
    for (std::size_t i = 0; i < taken_; ++i)
      out.push_back(slots[(next_ + shape_.slots - taken_ + i) % shape_.slots]);
  };
  Series series;
  unroll(samples_, series.samples);
  for (const auto& [name, slots] : models_) unroll(slots, series.models[name]);
  return series;
}

void History::Tick(const ServerView& view, const CallTotals& totals, std::uint64_t resident_bytes,
                   absl::Time now) {
  const std::lock_guard lock(mutex_);
  recent_.Tick(view, totals, resident_bytes, now);
  hour_.Tick(view, totals, resident_bytes, now);
}

Series History::Recent() const {
  const std::lock_guard lock(mutex_);
  return recent_.Read();
}

Series History::Hour() const {
  const std::lock_guard lock(mutex_);
  return hour_.Read();
}

}  // namespace bandana::server
