#include "common/bandits/effects/effects_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "common/bandits/effects/block_kernels.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Scales that are learnt: the first step after so many events, the next ones at their doublings; of
// effects with so many blocks; taken over when they change by more than this factor.
constexpr std::uint64_t kFirstStep = 1000;
constexpr std::uint64_t kLearntBlocksMin = 4;
constexpr double kChangeMin = 1.1;

// x in float, padded with zeros.
struct PaddedFeatures {
  explicit PaddedFeatures(std::span<const double> x) {
    for (std::size_t i = 0; i < x.size(); ++i) z[i] = static_cast<float>(x[i]);
    for (std::size_t i = x.size(); i < BlockLanes(x.size()); ++i) z[i] = 0;
  }
  alignas(32) float z[BlockLanes(kDimensionMax)];
};

// The byte of a state that tells of it.
std::uint8_t FormOf(EffectsAdapt adapt) { return adapt.weights ? 2 : adapt.scales ? 1 : 0; }

// Rounding may make z'Pz of a block that has learnt nearly everything slightly negative.
float Width(float projected) { return std::max(projected, 0.0f); }

}  // namespace

absl::StatusOr<EffectsModel> EffectsModel::Create(int dimension, std::vector<Effect> effects,
                                                  double noise_variance, std::uint64_t bounded_max,
                                                  EffectsAdapt adapt) {
  if (dimension < 1 || dimension > kDimensionMax) {
    return InvalidArgument("dimension is ", dimension, ", must be in [1, ", kDimensionMax, "]");
  }
  if (!(noise_variance > 0 && std::isfinite(noise_variance))) {
    return InvalidArgument("the noise variance is ", noise_variance,
                           ", must be above 0 and finite");
  }
  if (effects.empty()) return InvalidArgument("a model of effects needs at least one effect");
  if (adapt.scales && adapt.weights) {
    return InvalidArgument("a model of effects learns scales or weights, not both");
  }
  std::set<std::string> names;
  for (const Effect& effect : effects) {
    if (!names.insert(effect.name).second) {
      return InvalidArgument("two effects have the name ", effect.name);
    }
    // As the float that blocks start from.
    const auto prior = static_cast<float>(effect.prior_variance);
    if (!(prior > 0 && std::isfinite(prior))) {
      return InvalidArgument("the prior variance of effect ", effect.name, " is ",
                             effect.prior_variance, ", must be above 0 and finite");
    }
  }
  return EffectsModel(dimension, std::move(effects), noise_variance, bounded_max, adapt);
}

EffectsModel::EffectsModel(int dimension, std::vector<Effect> effects, double noise_variance,
                           std::uint64_t bounded_max, EffectsAdapt adapt)
    : dimension_(dimension),
      effects_(std::move(effects)),
      noise_variance_(noise_variance),
      bounded_max_(bounded_max),
      adapt_(adapt),
      places_(effects_.size()),
      cells_(effects_.size()),
      parts_(effects_.size()),
      projected_(effects_.size() * BlockLanes(dimension)) {
  for (const Effect& effect : effects_) forgetting_.push_back(ForgettingOf(effect.half_life));
  Clear();
}

void EffectsModel::Clear() {
  events_ = 0;
  if (adapt_.weights) weights_.emplace(effects_.size());
  scales_.assign(effects_.size(), {});
  table_.clear();
  vectors_.clear();
  scalars_.clear();
  for (const Effect& effect : effects_) {
    const auto prior = static_cast<float>(effect.prior_variance);
    table_.push_back(effect.vector ? vectors_.size() : scalars_.size());
    if (effect.vector) {
      vectors_.push_back(*BlockTable::Create(dimension_, prior));
    } else {
      scalars_.emplace_back(prior);
    }
  }
}

std::uint64_t EffectsModel::bounded_blocks() const {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    if (effects_[t].bounded) sum += blocks(static_cast<int>(t));
  }
  return sum;
}

bool EffectsModel::IsBeyond(std::size_t effect, EffectKey key) const {
  return bounded_blocks() >= bounded_max_ && !Has(static_cast<int>(effect), key);
}

EffectsModel::Belief EffectsModel::Learn(std::span<const EffectKey> keys, std::span<const double> x,
                                         double reward, double noise_variance) {
  BANDANA_CHECK(keys.size() == effects_.size() && x.size() == static_cast<std::size_t>(dimension_));
  Prefetch(keys);
  for (std::size_t t = 0; t < keys.size(); ++t) {
    places_[t] = nullptr;
    cells_[t] = nullptr;
    if (Leaves(t, keys[t])) continue;
    if (effects_[t].vector) {
      BlockTable& table = vectors_[table_[t]];
      places_[t] = &table.Open(keys[t]);
      table.Prefetch(*places_[t]);
    } else {
      cells_[t] = &scalars_[table_[t]].Open(keys[t]);
    }
  }
  const PaddedFeatures padded(x);
  const std::size_t lanes = BlockLanes(dimension_);
  float mean = 0;
  auto variance = static_cast<float>(noise_variance_ + noise_variance);
  const auto learnt = [this](std::size_t t) { return weights_ ? weights_->learnt(t) : 1.0f; };
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const float weight = learnt(t);
    parts_[t] = 0;
    float width = 0;
    if (places_[t] != nullptr) {
      float* y = &projected_[t * lanes];
      parts_[t] = vectors_[table_[t]].Project(*places_[t], padded.z, y);
      width = Width(Dot(y, padded.z, lanes));
    } else if (cells_[t] != nullptr) {
      const ScalarTable::Belief belief = scalars_[table_[t]].BeliefOf(*cells_[t]);
      parts_[t] = belief.mean;
      width = belief.variance;
    }
    mean += weight * parts_[t];
    variance += weight * weight * width;
  }
  if (weights_) variance += static_cast<float>(weights_->Spread(parts_));
  const float error = static_cast<float>(reward) - mean;
  if (adapt_.scales) LearnScales(error, variance);
  const float gain = error / variance;
  const float deviation = std::sqrt(variance);
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const float weight = learnt(t);
    if (places_[t] != nullptr) {
      vectors_[table_[t]].Learn(*places_[t], &projected_[t * lanes], weight * gain,
                                weight / deviation);
    } else if (cells_[t] != nullptr) {
      // The event's evidence on this number alone: the others' widths are noise.
      const ScalarTable::Belief belief = scalars_[table_[t]].BeliefOf(*cells_[t]);
      ScalarTable::Learn(*cells_[t], error / weight + belief.mean,
                         variance / (weight * weight) - belief.variance);
    }
  }
  Forget();
  ++events_;
  if (adapt_.scales && events_ % kFirstStep == 0 && std::has_single_bit(events_ / kFirstStep)) {
    StepScales();
  }
  if (weights_) {
    weights_->Learn(error, variance, noise_variance_ / (noise_variance_ + noise_variance));
    if (events_ % EffectWeights::kPublishEvents == 0) weights_->Publish();
  }
  return {.mean = mean, .variance = variance};
}

void EffectsModel::Forget() {
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    if (!forgetting_[t].any()) continue;
    if (places_[t] != nullptr) {
      vectors_[table_[t]].Forget(*places_[t], forgetting_[t]);
    } else if (cells_[t] != nullptr) {
      scalars_[table_[t]].Forget(*cells_[t], forgetting_[t]);
    }
  }
}

// An effect's mean for z is z'P b with what its events said, b; dP/deta = P P / p, so the
// prediction moves by z'P P b / p = y'm / p.
void EffectsModel::LearnScales(double error, double variance) {
  const std::size_t lanes = BlockLanes(dimension_);
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    if (places_[t] != nullptr) {
      const BlockTable& table = vectors_[table_[t]];
      const float along = table.AlongMean(*places_[t], &projected_[t * lanes]);
      scales_[t].Add(error, variance, along / table.prior_variance());
    } else if (cells_[t] != nullptr) {
      const ScalarTable& table = scalars_[table_[t]];
      const ScalarTable::Belief belief = table.BeliefOf(*cells_[t]);
      scales_[t].Add(error, variance, belief.variance * belief.mean / table.prior_variance());
    }
  }
}

// One block says nothing of a scale: with as few, the declared one stays.
void EffectsModel::StepScales() {
  std::vector<std::size_t> learnt;
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    if (blocks(static_cast<int>(t)) < kLearntBlocksMin) {
      scales_[t] = {};
    } else {
      scales_[t].Step();
      learnt.push_back(t);
    }
  }
  HoldSum(learnt);
  for (const std::size_t t : learnt) SetPrior(t);
}

// Width that one effect of the features loses goes to the others: widths that shrink as a whole
// explore too little.
void EffectsModel::HoldSum(std::span<const std::size_t> learnt) {
  double declared = 0;
  for (const std::size_t t : learnt) {
    if (effects_[t].vector) declared += effects_[t].prior_variance;
  }
  const auto missing = [&] {
    double sum = 0;
    for (const std::size_t t : learnt) {
      if (effects_[t].vector) sum += effects_[t].prior_variance * scales_[t].factor();
    }
    return sum < 0.99 * declared;
  };
  while (missing()) {
    for (const std::size_t t : learnt) {
      if (effects_[t].vector) scales_[t].Raise();
    }
  }
}

// A small change is not worth going over the blocks.
void EffectsModel::SetPrior(std::size_t effect) {
  const double target = effects_[effect].prior_variance * scales_[effect].factor();
  const double change = target / prior_variance(static_cast<int>(effect));
  if (change > 1 / kChangeMin && change < kChangeMin) return;
  const auto prior = static_cast<float>(target);
  if (!(prior > 0 && std::isfinite(prior))) return;
  const std::size_t table = table_[effect];
  effects_[effect].vector ? vectors_[table].SetPrior(prior) : scalars_[table].SetPrior(prior);
}

double EffectsModel::prior_variance(int effect) const {
  const std::size_t table = table_[effect];
  return effects_[effect].vector ? vectors_[table].prior_variance()
                                 : scalars_[table].prior_variance();
}

EffectsModel::Belief EffectsModel::Predict(std::span<const EffectKey> keys,
                                           std::span<const double> x) const {
  Belief belief;
  AddBelief(keys, x, belief);
  return belief;
}

void EffectsModel::AddBelief(std::span<const EffectKey> keys, std::span<const double> x,
                             Belief& belief) const {
  BANDANA_CHECK(x.size() == static_cast<std::size_t>(dimension_));
  const Belief constants = SumConstants(keys);
  belief.mean += constants.mean;
  belief.variance += constants.variance;
  if (vectors_.empty()) return;
  const PaddedFeatures padded(x);
  alignas(32) float y[BlockLanes(kDimensionMax)];
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (!effects_[t].vector || Leaves(t, keys[t])) continue;
    const BlockTable& table = vectors_[table_[t]];
    const float by = weight(t);
    belief.mean += by * table.Project(table.Find(keys[t]), padded.z, y);
    belief.variance += by * by * Width(Dot(y, padded.z, BlockLanes(dimension_)));
  }
}

void EffectsModel::SumVectors(std::span<const EffectKey> keys, std::span<double> mean,
                              std::span<double> covariance) const {
  const auto d = static_cast<std::size_t>(dimension_);
  BANDANA_CHECK(keys.size() == effects_.size() && mean.size() == d && covariance.size() == d * d);
  Prefetch(keys);
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (!effects_[t].vector || keys[t] == kAbsent) continue;
    const BlockTable& table = vectors_[table_[t]];
    table.Prefetch(table.Find(keys[t]));
  }
  std::vector<float> summed(BlockLanes(d));
  std::vector<float> rows(PackedFloats(d));
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (!effects_[t].vector || Leaves(t, keys[t])) continue;
    const BlockTable& table = vectors_[table_[t]];
    table.AddTo(table.Find(keys[t]), summed.data(), rows.data(), weight(t));
  }
  for (std::size_t i = 0, row = 0; i < d; ++i) {
    mean[i] = summed[i];
    for (std::size_t j = 0; j <= i; ++j) {
      covariance[i * d + j] = covariance[j * d + i] = rows[row + j];
    }
    row += BlockLanes(i + 1);
  }
}

EffectsModel::Belief EffectsModel::SumConstants(std::span<const EffectKey> keys) const {
  BANDANA_CHECK(keys.size() == effects_.size());
  Belief belief;
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (effects_[t].vector || Leaves(t, keys[t])) continue;
    const ScalarTable& table = scalars_[table_[t]];
    const ScalarTable::Belief one = table.BeliefOf(table.Find(keys[t]));
    const float by = weight(t);
    belief.mean += by * one.mean;
    belief.variance += by * by * one.variance;
  }
  return belief;
}

EffectsModel::Belief EffectsModel::Unweighted(int effect, EffectKey key) const {
  const auto t = static_cast<std::size_t>(effect);
  BANDANA_CHECK(!effects_[t].vector);
  if (Leaves(t, key)) return {};
  const ScalarTable& table = scalars_[table_[t]];
  const ScalarTable::Belief belief = table.BeliefOf(table.Find(key));
  return {.mean = belief.mean, .variance = belief.variance};
}

void EffectsModel::Prefetch(std::span<const EffectKey> keys) const {
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (keys[t] == kAbsent) continue;
    effects_[t].vector ? vectors_[table_[t]].Prefetch(keys[t])
                       : scalars_[table_[t]].Prefetch(keys[t]);
  }
}

bool EffectsModel::Erase(int effect, EffectKey key) {
  const std::size_t table = table_[effect];
  return effects_[effect].vector ? vectors_[table].Erase(key) : scalars_[table].Erase(key);
}

bool EffectsModel::Has(int effect, EffectKey key) const {
  const std::size_t table = table_[effect];
  return effects_[effect].vector ? vectors_[table].Has(key) : scalars_[table].Has(key);
}

std::uint64_t EffectsModel::blocks(int effect) const {
  const std::size_t table = table_[effect];
  return effects_[effect].vector ? vectors_[table].blocks() : scalars_[table].blocks();
}

std::size_t EffectsModel::bytes() const {
  std::size_t sum = 0;
  for (const BlockTable& table : vectors_) sum += table.bytes();
  for (const ScalarTable& table : scalars_) sum += table.bytes();
  return sum;
}

std::vector<EffectsModel::Block> EffectsModel::Largest(int effect, std::size_t count) const {
  const auto larger = [](const Block& a, const Block& b) {
    return a.mean != b.mean ? a.mean > b.mean : a.key < b.key;
  };
  std::vector<Block> heap;  // the smallest of them in front
  const auto offer = [&](const Block& block) {
    if (heap.size() == count && !larger(block, heap.front())) return;
    if (heap.size() == count) {
      std::pop_heap(heap.begin(), heap.end(), larger);
      heap.pop_back();
    }
    heap.push_back(block);
    std::push_heap(heap.begin(), heap.end(), larger);
  };
  if (count == 0) return heap;
  const float by = weight(static_cast<std::size_t>(effect));
  if (effects_[effect].vector) {
    vectors_[table_[effect]].ForEachLength(
        [&](EffectKey key, float length) { offer({.key = key, .mean = by * length}); });
  } else {
    scalars_[table_[effect]].ForEach([&](EffectKey key, const ScalarTable::Belief& belief) {
      offer({.key = key, .mean = by * belief.mean, .width = by * std::sqrt(belief.variance)});
    });
  }
  std::sort_heap(heap.begin(), heap.end(), larger);
  return heap;
}

std::string EffectsModel::Head() const {
  std::string head;
  ByteWriter out(head);
  out.U32(static_cast<std::uint32_t>(dimension_));
  out.F64(noise_variance_);
  out.U8(FormOf(adapt_));
  out.U64(events_);
  out.U32(static_cast<std::uint32_t>(effects_.size()));
  if (weights_) weights_->Encode(out);
  return head;
}

std::string EffectsModel::EffectHead(std::size_t effect) const {
  std::string head;
  ByteWriter out(head);
  out.Block(effects_[effect].name);
  out.U8(effects_[effect].vector ? 1 : 0);
  out.F64(effects_[effect].prior_variance);
  scales_[effect].Encode(out);
  return head;
}

const BlockTable* EffectsModel::blocks_of(std::size_t effect) const {
  return effects_[effect].vector ? &vectors_[table_[effect]] : nullptr;
}

const ScalarTable* EffectsModel::cells_of(std::size_t effect) const {
  return effects_[effect].vector ? nullptr : &scalars_[table_[effect]];
}

void EffectsModel::Freeze() {
  for (BlockTable& table : vectors_) table.Freeze();
  for (ScalarTable& table : scalars_) table.Freeze();
}

void EffectsModel::Thaw() {
  for (BlockTable& table : vectors_) table.Thaw();
  for (ScalarTable& table : scalars_) table.Thaw();
}

void EffectsModel::Encode(ByteWriter& out) const {
  out.Fixed(AsBytes(Head()));
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    out.Fixed(AsBytes(EffectHead(t)));
    effects_[t].vector ? vectors_[table_[t]].Encode(out) : scalars_[table_[t]].Encode(out);
  }
}

absl::Status EffectsModel::Decode(ByteReader& in) {
  absl::Status decoded = DecodeTables(in);
  if (!decoded.ok()) Clear();
  return decoded;
}

absl::Status EffectsModel::DecodeTables(ByteReader& in) {
  if (in.U32() != static_cast<std::uint32_t>(dimension_) || in.F64() != noise_variance_ ||
      in.U8() != FormOf(adapt_)) {
    return DataLoss(
        "the state of effects is of another dimension, noise or way with scales and weights");
  }
  events_ = in.U64();
  if (in.U32() != effects_.size()) return DataLoss("the state has another number of effects");
  if (weights_) BANDANA_RETURN_IF_ERROR(weights_->Decode(in));
  for (std::size_t t = 0; t < effects_.size(); ++t) {
    const Effect& effect = effects_[t];
    if (in.Block() != effect.name || in.U8() != (effect.vector ? 1 : 0) ||
        in.F64() != effect.prior_variance) {
      return DataLoss("the state of effect ", effect.name, " is of another effect");
    }
    BANDANA_RETURN_IF_ERROR(scales_[t].Decode(in));
    BANDANA_RETURN_IF_ERROR(effect.vector ? vectors_[table_[t]].Decode(in)
                                          : scalars_[table_[t]].Decode(in));
  }
  return in.ok() ? absl::OkStatus() : DataLoss("the state of effects is cut short");
}

}  // namespace bandana
