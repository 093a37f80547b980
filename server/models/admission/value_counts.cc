#include "server/models/admission/value_counts.h"

#include <cstddef>

#include "common/features/schema.h"
#include "common/promise/mode.h"

namespace bandana::server {
namespace {

// Fewer vectors say nothing about a model.
constexpr std::uint64_t kRawMin = 1000;
constexpr std::uint64_t kClippedShare = 100;  // one in so many

}  // namespace

ValueCounts::ValueCounts(const PublicSpec& spec) : spec_(spec), hidden_(HidesContexts(spec.mode)) {
  if (spec.features == nullptr || hidden_) return;
  fields_ = std::make_unique<Field[]>(spec.features->fields().size());
}

void ValueCounts::Add(std::span<const FieldCount> counts) {
  if (fields_ == nullptr) return;
  const auto add = [](std::atomic<std::uint64_t>& sum, std::uint64_t more) {
    if (more > 0) sum.fetch_add(more, std::memory_order_relaxed);
  };
  for (std::size_t f = 0; f < counts.size(); ++f) {
    add(fields_[f].values, counts[f].values);
    add(fields_[f].missing, counts[f].missing);
    add(fields_[f].unknown, counts[f].unknown);
    add(fields_[f].out_of_bounds, counts[f].out_of_bounds);
  }
}

void ValueCounts::FillStats(v1::GetStatsResponse& stats) const {
  if (fields_ == nullptr) return;
  for (std::size_t f = 0; f < spec_.features->fields().size(); ++f) {
    v1::FeatureFieldStats& field = *stats.add_features();
    field.set_name(spec_.features->fields()[f]->name());
    field.set_values(fields_[f].values.load(std::memory_order_relaxed));
    field.set_missing(fields_[f].missing.load(std::memory_order_relaxed));
    field.set_unknown(fields_[f].unknown.load(std::memory_order_relaxed));
    field.set_out_of_bounds(fields_[f].out_of_bounds.load(std::memory_order_relaxed));
  }
}

bool ValueCounts::AddRaw(std::uint64_t arms, std::uint64_t clipped) {
  if (hidden_) return false;
  const std::uint64_t raw = raw_.fetch_add(arms, std::memory_order_relaxed) + arms;
  if (clipped == 0) return false;
  const std::uint64_t scaled = clipped_.fetch_add(clipped, std::memory_order_relaxed) + clipped;
  if (raw < kRawMin || scaled * kClippedShare <= raw) return false;
  return !told_.exchange(true, std::memory_order_relaxed);
}

std::string ClippedText(const ModelSpec& spec) {
  return absl::StrCat("model ", spec.public_spec.name,
                      ": more than 1 % of the vectors of its decisions are longer than "
                      "feature_l2_max = ",
                      spec.public_spec.feature_l2_max,
                      " and are scaled to it: what is large in them outweighs all else");
}

}  // namespace bandana::server
