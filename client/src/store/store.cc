#include "client/src/store/store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/src/base/once.h"
#include "client/src/store/locked_user_set.h"
#include "client/src/store/open_tables.h"
#include "client/src/store/schema.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The log is moved into the file about every 4 MiB, after the callbacks and not inside a commit.
constexpr int kCheckpointPages = 1000;
constexpr std::chrono::seconds kLazyDelay(1);
constexpr std::chrono::milliseconds kScrubDelay(250);

// Whether this process was refused the file since it had it last; notes that it is now.
bool WaitedFor(const std::string& path, bool refused) {
  static auto& mutex = *new std::mutex;
  static auto& waiting = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (refused) return waiting.insert(path).second;
  return waiting.erase(path) > 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceStore>> DeviceStore::Open(const std::string& path,
                                                               const StoreOptions& options) {
  return Body::OpenFile(path, options, false);
}

std::shared_ptr<DeviceStore> DeviceStore::InMemory() {
  auto database = device::OpenStoreInMemory();
  const auto keys = device::KeysInMemory();
  // Without memory or entropy the process cannot go on anyway.
  BANDANA_CHECK(database.ok() && keys.ok());
  auto store = Body::Create(*std::move(database), "", *keys, false);
  BANDANA_CHECK(store.ok());
  return *std::move(store);
}

absl::StatusOr<std::shared_ptr<DeviceStore::Body>> DeviceStore::Body::OpenFile(
    const std::string& path, const StoreOptions& options, bool stepped) {
  auto database = device::OpenStoreFile(path);
  const bool waited = WaitedFor(path, absl::IsUnavailable(database.status()));
  BANDANA_RETURN_IF_ERROR(database.status());
  BANDANA_ASSIGN_OR_RETURN(const device::StoreKeys keys,
                           device::KeysOf(**database, path, options.key));
  BANDANA_ASSIGN_OR_RETURN(auto store, Create(*std::move(database), path, keys, stepped));
  store->taken_over_ = waited;
  return store;
}

absl::StatusOr<std::shared_ptr<DeviceStore::Body>> DeviceStore::Body::Create(
    std::unique_ptr<device::Database> database, const std::string& path,
    const device::StoreKeys& keys, bool stepped) {
  device::Database& opened = *database;
  BANDANA_ASSIGN_OR_RETURN(auto tables, device::OpenTables(std::move(database), keys));
  std::shared_ptr<Body> store(new Body(std::move(tables), opened, stepped));
  if (!path.empty()) BANDANA_RETURN_IF_ERROR(store->OpenAnchor(path));
  BANDANA_RETURN_IF_ERROR(store->StartRun());
  if (!stepped) store->thread_ = std::thread([body = store.get()] { body->WriterLoop(); });
  return store;
}

DeviceStore::Body::Body(std::unique_ptr<device::Tables> tables, device::Database& database,
                        bool stepped)
    : writer_(std::move(tables), std::make_unique<device::LockedUserSet>()),
      database_(database),
      stepped_(stepped) {}

DeviceStore::Body::~Body() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (stepped_) Step();
}

absl::Status DeviceStore::Body::OpenAnchor(const std::string& path) {
  const std::string anchor_path = device::Anchor::PathOf(path);
  const device::StoreMark mark = writer_.tables().Mark();
  auto anchor = device::Anchor::Open(anchor_path);
  if (absl::IsNotFound(anchor.status())) {
    if (mark.position > 0) {
      return DataLoss("device store: ", anchor_path, " is missing: ", path,
                      " may be an older copy of itself");
    }
    BANDANA_RETURN_IF_ERROR(device::Anchor::CreateFile(anchor_path, mark));
    anchor = device::Anchor::Open(anchor_path);
  }
  BANDANA_RETURN_IF_ERROR(anchor.status());
  if ((*anchor)->mark().identity != mark.identity) {
    return DataLoss("device store: ", anchor_path, " is of another store than ", path);
  }
  anchor_ = *std::move(anchor);
  rolled_back_ = device::IsOlder(mark, anchor_->mark());
  return absl::OkStatus();
}

absl::Status DeviceStore::Body::StartRun() {
  device::Tables& tables = writer_.tables();
  if (rolled_back_) tables.RecoverFromRollback(anchor_->mark());
  const std::int64_t run = tables.NextRun(anchor_ ? anchor_->mark().run : 0);
  tables.SavePosition();
  absl::Status started = tables.rows().failure();
  if (started.ok()) {
    tables.rows().Commit([&started](const absl::Status& status) { started = status; });
  }
  BANDANA_RETURN_IF_ERROR(started);
  if (anchor_) anchor_->Write(tables.Mark());
  identity_ = tables.identity();
  next_number_ = (run << device::kDecisionRunShift) + 1;
  next_owner_ = (run << device::kDecisionRunShift) + 1;
  // From here on the file is known to be sound and ours. A run that ended otherwise than by closing
  // has left its log.
  database_.CheckpointOnClose();
  database_.Scrub();
  return database_.failure();
}

device::MonotoneClock& DeviceStore::Body::ClockOver(const Clock& wall) {
  // No operation of a client runs before this.
  const device::DeviceTime before = writer_.tables().time();
  const std::lock_guard lock(mutex_);
  if (clock_ == nullptr) clock_ = std::make_unique<device::MonotoneClock>(wall, before);
  return *clock_;
}

void DeviceStore::Body::Enqueue(Operation operation, Committed committed) {
  Push({.operation = std::move(operation), .committed = std::move(committed)});
}

void DeviceStore::Body::EnqueueReaction(Operation operation, Committed committed) {
  Push({.operation = std::move(operation), .committed = std::move(committed), .reaction = true});
}

void DeviceStore::Body::Push(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(entry));
  }
  wake_.notify_one();
}

void DeviceStore::Body::EnqueueLazy(Operation operation) {
  const std::lock_guard lock(mutex_);
  if (lazy_.empty()) lazy_since_ = std::chrono::steady_clock::now();
  lazy_.push_back({.operation = std::move(operation)});
  // The writer sleeps at most kLazyDelay while something lazy waits.
  if (lazy_.size() == 1) wake_.notify_one();
}

absl::Status DeviceStore::Body::Run(Operation operation) {
  device::Once<absl::Status> done;
  Enqueue(std::move(operation), [&done](absl::Status status) { done.Set(std::move(status)); });
  if (stepped_) Step();
  return done.Get();
}

std::map<std::string, std::string> DeviceStore::Body::KeptOf(const std::string& model) {
  std::map<std::string, std::string> kept;
  const absl::Status read = Run([&](Transaction& transaction) {
    kept = transaction.tables.kept().Of(model);
    return absl::OkStatus();
  });
  if (!read.ok()) kept.clear();
  return kept;
}

device::OwnerId DeviceStore::Body::AddOwner() {
  const std::lock_guard lock(mutex_);
  owners_.insert(next_owner_);
  return next_owner_++;
}

void DeviceStore::Body::RemoveOwner(device::OwnerId owner) {
  const std::lock_guard lock(mutex_);
  owners_.erase(owner);
}

std::set<device::OwnerId> DeviceStore::Body::live_owners() const {
  const std::lock_guard lock(mutex_);
  return owners_;
}

void DeviceStore::Body::WriterLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto due = [this] { return stopping_ || !queue_.empty() || LazyDue() || ScrubDue(); };
    auto until = std::chrono::steady_clock::time_point::max();
    if (!lazy_.empty()) until = lazy_since_ + kLazyDelay;
    if (scrub_at_) until = std::min(until, *scrub_at_);
    if (until == std::chrono::steady_clock::time_point::max()) {
      wake_.wait(lock, [&] { return due() || !lazy_.empty(); });
    } else {
      wake_.wait_until(lock, until, due);
    }
    if (stopping_ && queue_.empty() && lazy_.empty()) return;
    if (!due()) continue;
    std::vector<Entry> group = TakeGroup();
    lock.unlock();
    Write(std::move(group));
    lock.lock();
  }
}

bool DeviceStore::Body::ScrubDue() const {
  return scrub_at_ && std::chrono::steady_clock::now() >= *scrub_at_;
}

bool DeviceStore::Body::LazyDue() const {
  if (lazy_.empty()) return false;
  return stopping_ || stepped_ || lazy_.size() >= kGroupCommitMax ||
         std::chrono::steady_clock::now() >= lazy_since_ + kLazyDelay;
}

void DeviceStore::Body::Step() {
  std::unique_lock lock(mutex_);
  while (!queue_.empty() || !lazy_.empty()) {
    std::vector<Entry> group = TakeGroup();
    lock.unlock();
    Write(std::move(group));
    lock.lock();
  }
}

std::vector<DeviceStore::Body::Entry> DeviceStore::Body::TakeGroup() {
  std::vector<Entry> group;
  const auto take = [&group](std::deque<Entry>& queue) {
    while (!queue.empty() && group.size() < kGroupCommitMax) {
      group.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  };
  const bool joined =
      std::any_of(queue_.begin(), queue_.end(), [](const Entry& entry) { return !entry.reaction; });
  if (joined || LazyDue()) take(lazy_);
  take(queue_);
  return group;
}

std::optional<device::DeviceTime> DeviceStore::Body::TimeNow() const {
  const std::lock_guard lock(mutex_);
  return clock_ == nullptr ? std::nullopt : std::optional(clock_->state());
}

void DeviceStore::Body::Write(std::vector<Entry> group) {
  if (!group.empty()) {
    writer_.Write(
        std::move(group), [this] { return TimeNow(); },
        [this](bool durable) {
          if (durable && anchor_) anchor_->Write(writer_.tables().Mark());
        });
  }
  bool scrub = false;
  if (database_.scrub_wanted()) {
    const std::lock_guard lock(mutex_);
    if (!scrub_at_) scrub_at_ = std::chrono::steady_clock::now() + kScrubDelay;
    scrub = stepped_ || ScrubDue();
    if (scrub) scrub_at_.reset();
  }
  if (scrub) return database_.Scrub();
  database_.CheckpointAfter(kCheckpointPages);
}

}  // namespace bandana
