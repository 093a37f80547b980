#include "server/models/admission/stream_table.h"

#include <algorithm>

namespace bandana::server {

const StreamPlace* StreamTable::Find(const StreamId& id) const {
  const auto it = places_.find(id);
  return it == places_.end() ? nullptr : &it->second;
}

std::uint64_t StreamTable::CountOf(int node) const {
  const auto it = counts_.find(node);
  return it == counts_.end() ? 0 : it->second;
}

void StreamTable::Set(const StreamId& id, const StreamPlace& place) {
  const auto [it, added] = places_.try_emplace(id, place);
  changes_.push_back({id, !added, added ? StreamPlace{} : it->second});
  if (added) {
    ++counts_[place.node];
  } else {
    it->second = place;
  }
}

void StreamTable::Clear() {
  cleared_.emplace_back(std::move(places_), std::move(changes_));
  places_ = {};
  changes_ = {};
  counts_.clear();
}

void StreamTable::Commit() {
  if (!cleared_.empty()) longest_ = 0;
  for (const Change& change : changes_) longest_ = std::max(longest_, Find(change.id)->step);
  changes_.clear();
  cleared_.clear();
}

void StreamTable::Rollback() {
  if (!cleared_.empty()) {
    places_ = std::move(cleared_.front().first);
    changes_ = std::move(cleared_.front().second);
    cleared_.clear();
    counts_.clear();
    for (const auto& [id, place] : places_) ++counts_[place.node];
  }
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (change->known) {
      places_[change->id] = change->before;
      continue;
    }
    const auto it = places_.find(change->id);
    --counts_[it->second.node];
    places_.erase(it);
  }
  changes_.clear();
}

std::uint64_t CoveredAt(const CounterDesign* counter, std::uint64_t step) {
  return counter == nullptr ? step : counter->Covered(step);
}

Admission PlaceOf(const CounterRecord& record, const StreamTable& streams,
                  const CounterDesign* counter) {
  const StreamPlace* known = streams.Find(record.stream);
  const std::uint64_t newest = known == nullptr ? 0 : known->step;
  const std::uint64_t first = record.step - record.steps.size() + 1;
  if (first > newest + 1) return Admission::kGap;
  if (record.step < newest) return Admission::kDuplicate;
  if (first <= newest) {
    const CounterStep& again = record.steps[newest - first];
    if (again.readable && known->last != DecisionId{} && again.id != known->last) {
      return Admission::kForked;
    }
  }
  const bool appends = record.step > newest;
  if (newest == 0) return Admission::kAppend;
  if (appends && CoveredAt(counter, record.step) > CoveredAt(counter, newest)) {
    return Admission::kAppend;
  }
  if (Sha256Of(record.moment.bytes()) != known->moment) return Admission::kForked;
  return appends ? Admission::kAppend : Admission::kDuplicate;
}

}  // namespace bandana::server
