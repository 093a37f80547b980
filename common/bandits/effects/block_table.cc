#include "common/bandits/effects/block_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/bandits/effects/block_kernels.h"
#include "common/bandits/effects/block_rebase.h"
#include "common/bandits/effects/float_bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kPrefetched = 2048;  // bytes

constexpr std::size_t kEntryBytes = sizeof(EffectKey) + 2 * sizeof(std::uint32_t);
constexpr std::uint32_t kPriorsMax = 1001;

}  // namespace

absl::StatusOr<BlockTable> BlockTable::Create(int dimension, float prior_variance) {
  if (dimension < 1 || dimension > kDimensionMax) {
    return InvalidArgument("a block's dimension is ", dimension, ", must be in [1, ", kDimensionMax,
                           "]");
  }
  if (!(prior_variance > 0 && std::isfinite(prior_variance))) {
    return InvalidArgument("a block's prior variance is ", prior_variance,
                           ", must be above 0 and finite");
  }
  return BlockTable(static_cast<std::size_t>(dimension), prior_variance);
}

BlockTable::BlockTable(std::size_t dimension, float prior_variance)
    : dimension_(dimension),
      lanes_(BlockLanes(dimension)),
      rows_(PackedFloats(dimension)),
      priors_{prior_variance} {
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(1, rows_ / lanes_));
  for (std::uint32_t vectors = 1; vectors < most; vectors *= 2) {
    pools_.push_back({.floats = lanes_ * (1 + vectors), .capacity = vectors});
  }
  pools_.push_back({.floats = lanes_ * (1 + most), .capacity = most});
  pools_.push_back({.floats = lanes_ + rows_});
  for (Pool& pool : pools_) {
    const std::size_t fit = std::max<std::size_t>(1, kChunkBytes / (pool.floats * sizeof(float)));
    pool.per_chunk = static_cast<std::uint32_t>(std::bit_floor(fit));
    pool.chunk_bits = static_cast<std::uint32_t>(std::countr_zero(pool.per_chunk));
  }
}

std::size_t BlockTable::bytes() const {
  // absl keeps one more byte per place.
  std::size_t sum = places_.capacity() * (sizeof(std::pair<EffectKey, Place>) + 1);
  for (const Pool& pool : pools_) {
    sum += pool.chunks.size() * pool.per_chunk * pool.floats * sizeof(float);
    sum += pool.free.capacity() * sizeof(std::uint32_t);
  }
  return sum;
}

float* BlockTable::At(Place place) const {
  const Pool& pool = PoolOf(place);
  const std::uint32_t index = place.handle >> 4;
  return pool.chunks[index >> pool.chunk_bits].get() + (index & (pool.per_chunk - 1)) * pool.floats;
}

std::uint32_t BlockTable::Take(std::size_t number) {
  Pool& pool = pools_[number];
  std::uint32_t index = pool.used;
  if (!pool.free.empty()) {
    index = pool.free.back();
    pool.free.pop_back();
  } else {
    ++pool.used;
    if (index >> pool.chunk_bits == pool.chunks.size()) {
      pool.chunks.push_back(std::make_unique_for_overwrite<float[]>(pool.per_chunk * pool.floats));
    }
  }
  return index << 4 | static_cast<std::uint32_t>(number + 1);
}

void BlockTable::Give(std::uint32_t handle) {
  pools_[(handle & 15) - 1].free.push_back(handle >> 4);
}

// Moves the block to one with room for another vector.
void BlockTable::Grow(Place& place) {
  Place grown = place;
  grown.handle = Take(place.handle & 15);  // of the next pool
  const float* from = At(place);
  float* to = At(grown);
  std::copy(from, from + lanes_, to);
  if (has_rows(grown)) {
    std::fill(to + lanes_, to + lanes_ + rows_, 0.0f);
    AddCovariance(place, /*weight=*/1, to + lanes_);
    grown.vectors = 0;
  } else {
    std::copy(from + lanes_, from + lanes_ * (1 + place.vectors), to + lanes_);
  }
  Give(place.handle);
  place = grown;
}

BlockTable::Place BlockTable::Find(EffectKey key) const {
  const auto found = places_.find(key);
  return found != places_.end() ? found->second : Place{};
}

BlockTable::Place& BlockTable::Open(EffectKey key) {
  Keep(key);
  Place& place = places_[key];
  if (place.prior + std::size_t{1} != priors_.size()) Rebase(place);
  return place;
}

void BlockTable::Rebase(Place& place) {
  const float before = priors_[place.prior];
  place.prior = static_cast<std::uint16_t>(priors_.size() - 1);
  if (place.handle == 0) return;
  float* mean = At(place);
  if (has_rows(place)) {
    RebaseRows(mean, mean + lanes_, dimension_, before, priors_.back());
  } else {
    RebaseVectors(mean, mean + lanes_, place.vectors, lanes_, before, priors_.back());
  }
}

void BlockTable::Prefetch(Place place) const {
  if (place.handle == 0) return;
  const auto* bytes = reinterpret_cast<const char*>(At(place));
  const std::size_t floats =
      has_rows(place) ? PoolOf(place).floats : lanes_ * (1 + std::size_t{place.vectors});
  const std::size_t size = std::min(floats * sizeof(float), kPrefetched);
  for (std::size_t offset = 0; offset < size; offset += 64) __builtin_prefetch(bytes + offset);
}

float BlockTable::Project(Place place, const float* z, float* y) const {
  if (place.handle == 0) {
    for (std::size_t i = 0; i < lanes_; ++i) y[i] = prior_variance() * z[i];
    return 0;
  }
  const float* mean = At(place);
  const float* covariance = mean + lanes_;
  if (has_rows(place)) {
    ProjectThroughRows(covariance, z, y, dimension_);
  } else {
    ProjectThroughVectors(covariance, place.vectors, priors_[place.prior], z, y, lanes_);
  }
  return Dot(mean, z, lanes_);
}

float BlockTable::AlongMean(Place place, const float* y) const {
  return place.handle == 0 ? 0 : Dot(At(place), y, lanes_);
}

void BlockTable::Learn(Place& place, const float* y, float gain, float scale) {
  if (place.handle == 0) {
    place.handle = Take(0);
    std::fill(At(place), At(place) + lanes_, 0.0f);
  } else if (!has_rows(place) && place.vectors == PoolOf(place).capacity) {
    Grow(place);
  }
  float* mean = At(place);
  for (std::size_t i = 0; i < lanes_; ++i) mean[i] += gain * y[i];
  if (has_rows(place)) {
    alignas(32) float w[BlockLanes(kDimensionMax)];
    for (std::size_t i = 0; i < lanes_; ++i) w[i] = scale * y[i];
    return SubtractOuter(mean + lanes_, w, dimension_);
  }
  float* w = mean + lanes_ * (1 + place.vectors);
  for (std::size_t i = 0; i < lanes_; ++i) w[i] = scale * y[i];
  ++place.vectors;
}

void BlockTable::ForEachLength(const std::function<void(EffectKey, float)>& visit) const {
  for (const auto& [key, place] : places_) {
    const float* mean = At(place);
    visit(key, std::sqrt(Dot(mean, mean, lanes_)));
  }
}

void BlockTable::Forget(Place place, const Forgetting& forgetting) {
  float* mean = At(place);
  for (std::size_t i = 0; i < lanes_; ++i) mean[i] *= forgetting.kept;
  float* covariance = mean + lanes_;
  if (!has_rows(place)) {  // P = p I - W W', and so W shrinks
    for (std::size_t i = 0; i < lanes_ * place.vectors; ++i) covariance[i] *= forgetting.kept;
    return;
  }
  const float squared = forgetting.kept * forgetting.kept;
  for (std::size_t i = 0; i < rows_; ++i) covariance[i] *= squared;
  AddDiagonal(covariance, forgetting.renewed * priors_[place.prior], dimension_);
}

void BlockTable::AddTo(Place place, float* mean, float* rows, float weight) const {
  if (place.handle != 0) {
    const float* block = At(place);
    for (std::size_t i = 0; i < lanes_; ++i) mean[i] += weight * block[i];
  }
  AddCovariance(place, weight, rows);
}

void BlockTable::AddCovariance(Place place, float weight, float* rows) const {
  const float squared = weight * weight;
  const float* covariance = place.handle == 0 ? nullptr : At(place) + lanes_;
  if (covariance != nullptr && has_rows(place)) {
    for (std::size_t i = 0; i < rows_; ++i) rows[i] += squared * covariance[i];
    return;
  }
  const float prior = place.handle == 0 ? prior_variance() : priors_[place.prior];
  AddDiagonal(rows, squared * prior, dimension_);
  alignas(32) float w[BlockLanes(kDimensionMax)];
  for (std::uint32_t c = 0; c < place.vectors; ++c) {
    for (std::size_t i = 0; i < lanes_; ++i) w[i] = weight * covariance[c * lanes_ + i];
    SubtractOuter(rows, w, dimension_);
  }
}

bool BlockTable::Erase(EffectKey key) {
  Keep(key);
  const auto found = places_.find(key);
  if (found == places_.end()) return false;
  if (found->second.handle != 0) Give(found->second.handle);
  places_.erase(found);
  return true;
}

void BlockTable::Clear() {
  places_.clear();
  priors_.resize(1);
  for (Pool& pool : pools_) {
    pool.chunks.clear();
    pool.used = 0;
    pool.free.clear();
  }
}

void BlockTable::Encode(ByteWriter& out) const {
  Index index = TakeIndex();
  SortIndex(index);
  EncodeIndex(index, out);
  for (const Entry& entry : index.entries) EncodeBlock(entry, out);
}

absl::Status BlockTable::Decode(ByteReader& in) {
  Clear();
  absl::Status decoded = DecodeBlocks(in);
  if (!decoded.ok()) Clear();
  return decoded;
}

absl::Status BlockTable::DecodePriors(ByteReader& in) {
  const float first = priors_[0];
  const std::uint32_t count = in.U32();
  if (count == 0 || count > kPriorsMax) return DataLoss("an effect has ", count, " priors");
  std::vector<float> priors(count);
  const bool read = ReadFloats(in, priors);
  if (!read || priors[0] != first || *std::min_element(priors.begin(), priors.end()) <= 0) {
    return DataLoss("the priors of an effect are cut short or not its own");
  }
  priors_ = std::move(priors);
  return absl::OkStatus();
}

absl::Status BlockTable::DecodeBlocks(ByteReader& in) {
  BANDANA_RETURN_IF_ERROR(DecodePriors(in));
  const std::uint64_t count = in.U64();
  if (!in.ok() || count > in.remaining() / kEntryBytes) {
    return DataLoss("an effect's list of blocks is cut short");
  }
  ByteReader entries(in.Take(count * kEntryBytes));
  places_.reserve(count);
  EffectKey last = kAbsent;
  for (std::uint64_t i = 0; i < count; ++i) {
    const EffectKey key = entries.U64();
    const std::uint32_t form = entries.U32();
    const std::uint32_t prior = entries.U32();
    if (key <= last) return DataLoss("block ", i, " of an effect has no key after the one before");
    if (!DecodeBlock(in, form, prior, places_[key])) {
      return DataLoss("block ", i, " of an effect is cut short or no belief");
    }
    last = key;
  }
  return absl::OkStatus();
}

bool BlockTable::DecodeBlock(ByteReader& in, std::uint32_t form, std::uint32_t prior,
                             Place& place) {
  if (prior >= priors_.size()) return false;
  const std::uint32_t most = pools_[pools_.size() - 2].capacity;
  if (form != kTriangleForm && (form == 0 || form > most)) return false;
  const std::size_t triangle = dimension_ * (dimension_ + 1) / 2;
  const std::size_t covariance = form == kTriangleForm ? triangle : form * dimension_;
  if (in.remaining() / sizeof(float) < dimension_ + covariance) return false;
  std::size_t number = 0;
  while (form == kTriangleForm ? pools_[number].capacity != 0 : pools_[number].capacity < form) {
    ++number;
  }
  place = {.handle = Take(number),
           .vectors = static_cast<std::uint16_t>(form == kTriangleForm ? 0 : form),
           .prior = static_cast<std::uint16_t>(prior)};
  float* block = At(place);
  std::fill(block, block + pools_[number].floats, 0.0f);
  if (!ReadFloats(in, {block, dimension_})) return false;
  block += lanes_;
  for (std::uint32_t c = 0; c < place.vectors; ++c, block += lanes_) {
    if (!ReadFloats(in, {block, dimension_})) return false;
  }
  return form != kTriangleForm || DecodeTriangle(in, block);
}

bool BlockTable::DecodeTriangle(ByteReader& in, float* rows) const {
  for (std::size_t i = 0; i < dimension_; ++i) {
    if (!ReadFloats(in, {rows, i + 1})) return false;
    // Mirrors the number above the diagonal of a square.
    const std::size_t first = i / kBlockLanes * kBlockLanes;
    for (std::size_t j = first; j < i; ++j) *(rows - (i - j) * BlockLanes(i + 1) + i) = rows[j];
    rows += BlockLanes(i + 1);
  }
  return true;
}

}  // namespace bandana
