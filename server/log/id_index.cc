#include "server/log/id_index.h"

#include <algorithm>

namespace bandana::server {
namespace {

struct Place {
  std::size_t word = 0;
  std::uint64_t bit = 0;
};
Place PlaceOf(const DenseId& id) {
  const std::uint64_t at = id.number % IdChunk::kIds;
  return {.word = at / 64, .bit = std::uint64_t{1} << (at % 64)};
}

}  // namespace

bool IdIndex::Contains(const RememberedId& id) const {
  if (const auto dense = DenseId::Of(id)) {
    const auto chunk = chunks_.find(KeyOf(*dense, id.kind));
    const Place place = PlaceOf(*dense);
    return chunk != chunks_.end() && (chunk->second->words[place.word] & place.bit) != 0;
  }
  const auto bucket = buckets_.find(id.bucket);
  if (bucket == buckets_.end()) return false;
  const auto it = bucket->second.find(id.id);
  return it != bucket->second.end() && (it->second & Bit(id)) != 0;
}

void IdIndex::SetNewest(const Key& key, Bits& bits, std::int64_t bucket, bool is_new) {
  if (!is_new && bucket <= bits.newest) return;
  if (!is_new) {
    const auto before = by_newest_.find(bits.newest);
    before->second.erase(key);
    if (before->second.empty()) by_newest_.erase(before);
  }
  bits.newest = bucket;
  by_newest_[bucket].insert(key);
}

void IdIndex::Insert(const RememberedId& id) {
  if (const auto dense = DenseId::Of(id)) {
    const Key key = KeyOf(*dense, id.kind);
    auto [chunk, is_new] = chunks_.try_emplace(key);
    if (is_new) chunk->second = std::make_unique<Bits>();
    SetNewest(key, *chunk->second, id.bucket, is_new);
    const Place place = PlaceOf(*dense);
    std::uint64_t& word = chunk->second->words[place.word];
    if ((word & place.bit) == 0) ++dense_;
    word |= place.bit;
    changed_.insert(key);
    return;
  }
  std::uint8_t& kinds = buckets_[id.bucket][id.id];
  if (kinds == 0) ++loose_;
  kinds |= Bit(id);
}

void IdIndex::Remove(const RememberedId& id) {
  if (const auto dense = DenseId::Of(id)) {
    const Key key = KeyOf(*dense, id.kind);
    const auto chunk = chunks_.find(key);
    if (chunk == chunks_.end()) return;
    const Place place = PlaceOf(*dense);
    std::uint64_t& word = chunk->second->words[place.word];
    if ((word & place.bit) != 0) --dense_;
    word &= ~place.bit;
    changed_.insert(key);
    return;
  }
  const auto bucket = buckets_.find(id.bucket);
  if (bucket == buckets_.end()) return;
  const auto it = bucket->second.find(id.id);
  if (it == bucket->second.end()) return;
  it->second &= static_cast<std::uint8_t>(~Bit(id));
  if (it->second != 0) return;
  --loose_;
  bucket->second.erase(it);
  if (bucket->second.empty()) buckets_.erase(bucket);
}

void IdIndex::Insert(const IdChunk& chunk) {
  const Key key{chunk.issuer, chunk.number, chunk.kind};
  auto [place, is_new] = chunks_.try_emplace(key);
  if (is_new) place->second = std::make_unique<Bits>();
  Bits& bits = *place->second;
  SetNewest(key, bits, chunk.newest, is_new);
  dense_ -= KnownIds(bits.words);
  bits.words = chunk.bits;
  dense_ += KnownIds(bits.words);
}

void IdIndex::ForgetBefore(std::int64_t bucket) {
  if (bucket <= forgotten_before_) return;
  forgotten_before_ = bucket;
  while (!buckets_.empty() && buckets_.begin()->first < bucket) {
    loose_ -= buckets_.begin()->second.size();
    buckets_.erase(buckets_.begin());
  }
  while (!by_newest_.empty() && by_newest_.begin()->first < bucket) {
    for (const Key& key : by_newest_.begin()->second) {
      const auto chunk = chunks_.find(key);
      dense_ -= KnownIds(chunk->second->words);
      chunks_.erase(chunk);
      changed_.erase(key);
    }
    by_newest_.erase(by_newest_.begin());
  }
}

std::int64_t IdIndex::oldest_bucket() const {
  const std::int64_t loose = buckets_.empty() ? INT64_MAX : buckets_.begin()->first;
  const std::int64_t dense = by_newest_.empty() ? INT64_MAX : by_newest_.begin()->first;
  return std::min(loose, dense);
}

std::int64_t IdIndex::newest_bucket() const {
  const std::int64_t loose = buckets_.empty() ? INT64_MIN : buckets_.rbegin()->first;
  const std::int64_t dense = by_newest_.empty() ? INT64_MIN : by_newest_.rbegin()->first;
  return std::max(loose, dense);
}

void IdIndex::AddChanged(std::vector<IdChunk>& out) const {
  std::vector<Key> keys(changed_.begin(), changed_.end());
  std::sort(keys.begin(), keys.end());
  for (const Key& key : keys) {
    const auto chunk = chunks_.find(key);
    out.push_back({.issuer = std::get<0>(key),
                   .kind = std::get<2>(key),
                   .number = std::get<1>(key),
                   .newest = chunk->second->newest,
                   .bits = chunk->second->words});
  }
}

}  // namespace bandana::server
