#include "common/bandits/rebuild_beside.h"

#include <algorithm>
#include <utility>

namespace bandana {

RebuildBeside::RebuildBeside(std::vector<Job> jobs, const ComponentScale& scale) : scale_(scale) {
  for (Job& job : jobs) {
    const int component = job.component;
    works_[component].job = std::move(job);
  }
  thread_ = std::thread([this] { Run(); });
}

RebuildBeside::~RebuildBeside() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = complete_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RebuildBeside::Apply(int component, std::span<const ComponentEvent> events) {
  const auto d = static_cast<std::size_t>(scale_.dimension);
  Change change{.component = component, .events = {events.begin(), events.end()}};
  change.features.reserve(events.size() * d);
  for (const ComponentEvent& event : events)
    change.features.insert(change.features.end(), event.features, event.features + d);
  for (std::size_t i = 0; i < events.size(); ++i)
    change.events[i].features = change.features.data() + i * d;
  Add(std::move(change));
}

void RebuildBeside::Update(int component, int position, const EffectiveStatistics& old,
                           const EffectiveStatistics& next) {
  Add({.component = component, .position = position, .old = old, .next = next});
}

void RebuildBeside::Drop(int component) { Add({.component = component, .position = -1}); }

void RebuildBeside::Add(Change change) {
  {
    const std::lock_guard lock(mutex_);
    changes_.push_back(std::move(change));
  }
  wake_.notify_one();
}

std::vector<RebuildBeside::Rebuilt> RebuildBeside::Take() {
  {
    const std::lock_guard lock(mutex_);
    complete_ = true;
  }
  wake_.notify_one();
  thread_.join();
  std::vector<Rebuilt> rebuilt;
  for (auto& [component, work] : works_) rebuilt.push_back({component, std::move(work.posterior)});
  works_.clear();
  return rebuilt;
}

bool RebuildBeside::given_up() const {
  const std::lock_guard lock(mutex_);
  return given_up_;
}

void RebuildBeside::Run() {
  for (auto& [component, work] : works_) {
    if (given_up()) return;
    work.posterior.emplace(work.job.prior, scale_);
    work.posterior->Rebuild(work.job.statistics);
    work.job.statistics.clear();
  }
  std::vector<Change> changes;
  while (Await(changes)) {
    for (const Change& change : changes) {
      if (given_up()) return;
      Make(change);
    }
  }
}

bool RebuildBeside::Await(std::vector<Change>& changes) {
  changes.clear();
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return complete_ || !changes_.empty(); });
  changes.swap(changes_);
  return !changes.empty() && !given_up_;
}

void RebuildBeside::Make(const Change& change) {
  const auto found = works_.find(change.component);
  if (found == works_.end() || !found->second.posterior) return;
  if (change.position < 0) {
    works_.erase(found);
    return;
  }
  ComponentPosterior& posterior = *found->second.posterior;
  const bool made = change.events.empty()
                        ? posterior.Update(change.position, change.old, change.next, scratch_)
                        : posterior.Apply(change.events, scratch_);
  if (!made) found->second.posterior.reset();
}

}  // namespace bandana
