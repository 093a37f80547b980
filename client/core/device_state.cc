#include "client/core/device_state.h"

#include <algorithm>
#include <utility>

#include "client/core/callback.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr absl::Duration kLazyDelay = absl::Seconds(1);

}  // namespace

void DeviceState::StartRun(const std::optional<StoreMark>& seen,
                           Callback<void(const absl::Status&)> started) {
  Tables& tables = writer_.tables();
  if (seen && seen->identity != tables.Mark().identity) {
    return started(DataLoss("device store: the rows are of another store than the host's mark"));
  }
  rolled_back_ = seen && IsOlder(tables.Mark(), *seen);
  if (rolled_back_) tables.RecoverFromRollback(*seen);
  const std::int64_t run = tables.NextRun(seen ? seen->run : 0);
  tables.SavePosition();
  if (const absl::Status failure = tables.rows().failure(); !failure.ok()) return started(failure);
  tables.rows().Commit([this, run, started = std::move(started),
                        answered = false](const absl::Status& committed) mutable {
    if (std::exchange(answered, true)) return;
    if (!committed.ok()) return started(committed);
    if (hooks_.on_durable) hooks_.on_durable(writer_.tables().Mark());
    identity_ = writer_.tables().identity();
    next_number_ = (run << kDecisionRunShift) + 1;
    next_owner_ = (run << kDecisionRunShift) + 1;
    started(absl::OkStatus());
  });
}

MonotoneClock& DeviceState::ClockOver(const Clock& wall) {
  if (clock_ == nullptr) {
    // No operation of a client runs before this.
    clock_ = std::make_unique<MonotoneClock>(wall, writer_.tables().time());
  }
  return *clock_;
}

OwnerId DeviceState::AddOwner() {
  owners_.insert(next_owner_);
  return next_owner_++;
}

void DeviceState::Push(Entry entry) {
  if (!entry.lazy) {
    queue_.push_back(std::move(entry));
  } else {
    lazy_.push_back(std::move(entry));
    if (lazy_.size() > 1) return;
    lazy_since_ = hooks_.elapsed();  // the host asks anew when to write
  }
  if (hooks_.on_queued) hooks_.on_queued();
}

bool DeviceState::LazyDue() const {
  return !lazy_.empty() &&
         (lazy_.size() >= kGroupCommitMax || hooks_.elapsed() >= lazy_since_ + kLazyDelay);
}

std::optional<absl::Duration> DeviceState::WriteAt() const {
  if (writer_.busy() || (queue_.empty() && lazy_.empty())) return std::nullopt;
  return queue_.empty() && !LazyDue() ? lazy_since_ + kLazyDelay : hooks_.elapsed();
}

bool DeviceState::Write(Lazy lazy) {
  const auto group = Begin(lazy);
  if (group == nullptr) return false;
  Run(*group);
  Commit(group);
  return true;
}

std::shared_ptr<Writer::Group> DeviceState::Begin(Lazy lazy) {
  if (writer_.busy()) return nullptr;
  std::vector<Entry> entries = TakeGroup(lazy);
  if (entries.empty()) return nullptr;
  return writer_.Begin(std::move(entries), [this] {
    return clock_ == nullptr ? std::nullopt : std::optional(clock_->state());
  });
}

void DeviceState::Commit(const std::shared_ptr<Writer::Group>& group) {
  writer_.Commit(group, [this](bool durable) {
    if (durable && hooks_.on_durable) hooks_.on_durable(writer_.tables().Mark());
  });
}

// Where a reaction alone waits, lazy operations do not go sooner because of it.
std::vector<DeviceState::Entry> DeviceState::TakeGroup(Lazy lazy) {
  std::vector<Entry> group;
  const auto take = [&group](std::list<Entry>& queue) {
    while (!queue.empty() && group.size() < kGroupCommitMax) {
      group.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  };
  const bool joined =
      std::any_of(queue_.begin(), queue_.end(), [](const Entry& entry) { return !entry.reaction; });
  const bool due = lazy == Lazy::kNow || (lazy == Lazy::kWhenDue && LazyDue());
  if (joined || due) take(lazy_);
  take(queue_);
  return group;
}

}  // namespace bandana::device
