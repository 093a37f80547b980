#include "common/model/state/stream_table.h"

#include <algorithm>
#include <span>

namespace bandana {

StreamTable::StreamTable(const LocalStreams& streams) {
  for (std::size_t node = 0; node < streams.streams().size(); ++node) {
    for (const auto& [id, stream] : streams.streams()[node]) {
      const auto bytes = std::as_bytes(std::span(stream.moment));
      places_[id] = {static_cast<int>(node), stream.step, stream.last, Sha256Of(AsChars(bytes))};
    }
  }
  CountAll();
}

void StreamTable::CountAll() {
  counts_.clear();
  longest_ = 0;
  for (const auto& [id, place] : places_) {
    ++counts_[place.node];
    longest_ = std::max(longest_, place.step);
  }
}

const StreamPlace* StreamTable::Find(const StreamId& id) const {
  const auto it = places_.find(id);
  return it == places_.end() ? nullptr : &it->second;
}

std::uint64_t StreamTable::CountOf(int node) const {
  const auto it = counts_.find(node);
  return it == counts_.end() ? 0 : it->second;
}

void StreamTable::Set(const StreamId& id, const std::optional<StreamPlace>& place) {
  const auto known = places_.find(id);
  if (known != places_.end()) --counts_[known->second.node];
  if (place) {
    places_[id] = *place;
    ++counts_[place->node];
  } else if (known != places_.end()) {
    places_.erase(known);
  }
}

void StreamTable::Accept(const CounterRecord& record, int node) {
  const StreamPlace* const known = Find(record.stream);
  changes_.push_back({record.stream, known == nullptr ? std::nullopt : std::optional(*known)});
  Set(record.stream, StreamPlace{node, record.step, record.last, Sha256Of(record.moment.bytes())});
}

void StreamTable::Forget(const absl::flat_hash_set<int>& nodes) {
  const std::size_t changed = changes_.size();
  for (const auto& [id, place] : places_) {
    if (nodes.contains(place.node)) changes_.push_back({id, place});
  }
  for (std::size_t i = changed; i < changes_.size(); ++i) Set(changes_[i].id, std::nullopt);
  fewer_ = fewer_ || changes_.size() > changed;
}

void StreamTable::Clear() {
  cleared_.emplace_back(std::move(places_), std::move(changes_));
  places_ = {};
  changes_ = {};
  counts_.clear();
}

void StreamTable::Commit() {
  if (fewer_) {
    CountAll();
  } else {
    if (!cleared_.empty()) longest_ = 0;
    for (const Change& change : changes_) longest_ = std::max(longest_, Find(change.id)->step);
  }
  fewer_ = false;
  changes_.clear();
  cleared_.clear();
}

void StreamTable::Rollback() {
  const std::uint64_t longest = longest_;
  if (!cleared_.empty()) {
    places_ = std::move(cleared_.front().first);
    changes_ = std::move(cleared_.front().second);
    cleared_.clear();
    CountAll();
    longest_ = longest;
  }
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    Set(change->id, change->before);
  }
  fewer_ = false;
  changes_.clear();
}

}  // namespace bandana
