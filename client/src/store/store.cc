#include "client/src/store/store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/src/base/once.h"
#include "client/src/store/schema.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The log is moved into the file about every 4 MiB, after the callbacks and not inside a commit.
constexpr int kCheckpointPages = 1000;
using SteadyClock = std::chrono::steady_clock;
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

DeviceStore::Body::Body(device::OpenedTables tables, device::Database& database, bool stepped)
    : rows_(*tables.rows),
      state_(std::move(tables.tables),
             {.elapsed = [] { return absl::FromChrono(SteadyClock::now().time_since_epoch()); },
              .on_queued =
                  [this] {
                    const std::lock_guard lock(mutex_);
                    queued_ = true;
                    wake_.notify_one();
                  },
              .on_durable =
                  [this](const device::StoreMark& mark) {
                    if (anchor_) anchor_->Write(mark);
                  }}),
      database_(database),
      stepped_(stepped) {}

DeviceStore::Body::~Body() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  StepIfStepped();
}

absl::Status DeviceStore::Body::OpenAnchor(const std::string& path) {
  const std::string anchor_path = device::Anchor::PathOf(path);
  const device::StoreMark mark = state_.tables().Mark();
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
  return absl::OkStatus();
}

absl::Status DeviceStore::Body::StartRun() {
  absl::Status started;
  state_.StartRun(anchor_ ? std::optional(anchor_->mark()) : std::nullopt,
                  [&started](const absl::Status& status) { started = status; });
  BANDANA_RETURN_IF_ERROR(started);
  // From here on the file is known to be sound and ours. A run that ended otherwise than by closing
  // has left its log.
  database_.CheckpointOnClose();
  database_.Scrub();
  return database_.failure();
}

void DeviceStore::Body::Push(Entry entry) {
  entrance_.Enter([&] { state_.Push(std::move(entry)); });
}

absl::Status DeviceStore::Body::Run(Operation operation) {
  device::Once<absl::Status> done;
  Enqueue(std::move(operation), [this, &done](absl::Status status) {
    entrance_.Tell([&done, status = std::move(status)] { done.Set(status); });
  });
  StepIfStepped();
  return done.Get();
}

void DeviceStore::Body::WriterLoop() {
  auto write_at = SteadyClock::time_point::max();
  while (true) {
    bool stopping = false;
    {
      const auto due = [this] { return stopping_ || queued_; };
      const auto until = std::min(write_at, scrub_at_.value_or(SteadyClock::time_point::max()));
      std::unique_lock lock(mutex_);
      if (until == SteadyClock::time_point::max()) {
        wake_.wait(lock, due);
      } else {
        wake_.wait_until(lock, until, due);
      }
      queued_ = false;
      stopping = stopping_;
    }
    const bool wrote = Write(stopping ? Lazy::kNow : Lazy::kWhenDue);
    Tidy();
    if (stopping && !wrote) return;
    entrance_.Enter([&] {
      const auto at = state_.WriteAt();
      write_at = at ? SteadyClock::time_point(absl::ToChronoNanoseconds(*at))
                    : SteadyClock::time_point::max();
    });
  }
}

bool DeviceStore::Body::Write(Lazy lazy) {
  std::shared_ptr<device::Writer::Group> group;
  entrance_.Enter([&] { group = state_.Begin(lazy); });
  if (group == nullptr) return false;
  // The long part: others may be inside meanwhile.
  state_.Run(*group);
  if (group->failure.ok()) rows_.CommitAhead();
  entrance_.Enter([&] { state_.Commit(group); });
  return true;
}

void DeviceStore::Body::Tidy() {
  if (!database_.scrub_wanted()) return database_.CheckpointAfter(kCheckpointPages);
  const auto now = SteadyClock::now();
  if (!scrub_at_) scrub_at_ = now + kScrubDelay;
  if (!stepped_ && now < *scrub_at_) return database_.CheckpointAfter(kCheckpointPages);
  scrub_at_.reset();
  database_.Scrub();
}

void DeviceStore::Body::Step() {
  while (Write(Lazy::kNow)) Tidy();
}

}  // namespace bandana
