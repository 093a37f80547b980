#include "common/bandits/effects/frozen_effects.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kSlice = 1024;  // blocks that are read while the writer waits

}  // namespace

// A stretch of the encoding: bytes, then blocks.
struct FrozenEffects::Part {
  std::string bytes;
  const BlockTable* blocks = nullptr;
  BlockTable::Index index;
};

std::shared_ptr<const FrozenEffects> FrozenEffects::Take(
    std::shared_ptr<EffectsPosterior> posterior) {
  BANDANA_CHECK(!posterior->waiting());
  {
    const std::unique_lock lock(posterior->mutex_);
    if (std::exchange(posterior->frozen_, true)) return nullptr;
    posterior->model_.Freeze();
    for (PairParts& pairs : posterior->pairs_) pairs.Freeze();
  }
  return std::shared_ptr<const FrozenEffects>(new FrozenEffects(std::move(posterior)));
}

FrozenEffects::FrozenEffects(std::shared_ptr<EffectsPosterior> posterior)
    : posterior_(std::move(posterior)) {
  ByteWriter out(head_);
  out.U64(posterior_->events_);
  out.Fixed(AsBytes(posterior_->model_.Head()));
  for (std::size_t t = 0; t < posterior_->options_.effects.size(); ++t)
    effect_heads_.push_back(posterior_->model_.EffectHead(t));
}

FrozenEffects::~FrozenEffects() {
  const std::unique_lock lock(posterior_->mutex_);
  posterior_->model_.Thaw();
  for (PairParts& pairs : posterior_->pairs_) pairs.Thaw();
  posterior_->frozen_ = false;
}

FrozenEffects::Part FrozenEffects::TakePart(std::size_t effect) const {
  Part part{.bytes = effect_heads_[effect]};
  ByteWriter out(part.bytes);
  part.blocks = posterior_->model_.blocks_of(effect);
  if (part.blocks == nullptr) {
    std::shared_lock lock(posterior_->mutex_);
    ScalarTable::State cells = posterior_->model_.cells_of(effect)->TakeState();
    lock.unlock();
    ScalarTable::EncodeState(std::move(cells), out);
  } else {
    std::shared_lock lock(posterior_->mutex_);
    part.index = part.blocks->TakeIndex();
    lock.unlock();
    BlockTable::SortIndex(part.index);
    BlockTable::EncodeIndex(part.index, out);
  }
  return part;
}

std::vector<FrozenEffects::Part> FrozenEffects::TakeParts() const {
  std::vector<Part> parts;
  parts.push_back({.bytes = head_});
  for (std::size_t t = 0; t < effect_heads_.size(); ++t) parts.push_back(TakePart(t));
  for (std::size_t t = 0; t < effect_heads_.size(); ++t) {
    if (!IsPair(posterior_->options_.scopes[t])) continue;
    std::shared_lock lock(posterior_->mutex_);
    PairParts::State pairs = posterior_->pairs_[t].TakeState();
    lock.unlock();
    ByteWriter out(parts.emplace_back().bytes);
    PairParts::EncodeState(std::move(pairs), out);
  }
  return parts;
}

absl::Status FrozenEffects::EncodeBlock(const ByteSink& sink) const {
  const std::vector<Part> parts = TakeParts();
  std::uint64_t size = 0;
  for (const Part& part : parts) size += part.bytes.size() + part.index.floats * sizeof(float);
  std::string slice;
  ByteWriter out(slice);
  out.U64(size);
  BANDANA_RETURN_IF_ERROR(sink(slice));
  for (const Part& part : parts) {
    BANDANA_RETURN_IF_ERROR(sink(part.bytes));
    const std::vector<BlockTable::Entry>& entries = part.index.entries;
    for (std::size_t begin = 0; begin < entries.size(); begin += kSlice) {
      slice.clear();
      std::shared_lock lock(posterior_->mutex_);
      const std::size_t end = std::min(begin + kSlice, entries.size());
      for (std::size_t i = begin; i < end; ++i) part.blocks->EncodeBlock(entries[i], out);
      lock.unlock();
      BANDANA_RETURN_IF_ERROR(sink(slice));
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana
