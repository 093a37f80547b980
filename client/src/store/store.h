// DeviceStore's body: one writer thread that puts everything queued into one transaction, so that
// many callers share one sync.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/store.h"
#include "client/core/journal.h"
#include "client/core/writer.h"
#include "client/src/base/monotone_clock.h"
#include "client/src/base/start_gate.h"
#include "client/src/store/anchor.h"
#include "client/src/store/sqlite.h"
#include "client/src/store/store_key.h"

namespace bandana {

// Threads: safe. Operations run one after another on the writer thread, in the order of Enqueue.
class DeviceStore::Body final : public DeviceStore, public device::Journal {
 public:
  using Transaction = device::Transaction;

  // As DeviceStore::Open. `stepped`, for audits and tests: there is no thread, Step does the work.
  static absl::StatusOr<std::shared_ptr<Body>> OpenFile(const std::string& path,
                                                        const StoreOptions& options, bool stepped);
  // `path`: of the file, whose anchor lies beside it; empty: in memory.
  static absl::StatusOr<std::shared_ptr<Body>> Create(std::unique_ptr<device::Database> database,
                                                      const std::string& path,
                                                      const device::StoreKeys& keys, bool stepped);
  ~Body() override;
  // Runs all operations that wait, and those that they enqueue. Requires `stepped`.
  void Step();

  bool durable() const override { return anchor_ != nullptr; }
  bool rolled_back() const override { return rolled_back_; }
  // 16 random bytes, made with the store.
  const std::string& identity() const { return identity_; }
  device::Ledger& ledger() { return writer_.ledger(); }
  // For audits; inside operations.
  device::Database& database() { return database_; }
  device::StartGate& gate() { return gate_; }
  // The device's time, over the first `wall` that was given, which outlives the store.
  device::MonotoneClock& ClockOver(const Clock& wall);
  // Whether this process waited for another one that had the file.
  bool taken_over() const { return taken_over_; }

  // As Journal; `committed` runs on the writer thread.
  void Enqueue(Operation operation, Committed committed) override;
  void EnqueueReaction(Operation operation, Committed committed) override;
  void EnqueueLazy(Operation operation) override;
  // Enqueue, and wait.
  absl::Status Run(Operation operation);

  // The answers kept of a model, by name; none when it cannot be read. Blocks.
  std::map<std::string, std::string> KeptOf(const std::string& model);

  // A fresh decision number, greater than every one before, in this run and in earlier ones.
  device::DecisionNumber NextNumber() { return next_number_.fetch_add(1); }

  // A client's name on its rows while it lives.
  device::OwnerId AddOwner();
  void RemoveOwner(device::OwnerId owner);
  std::set<device::OwnerId> live_owners() const;

 private:
  using Entry = device::Writer::Entry;

  Body(std::unique_ptr<device::Tables> tables, device::Database& database, bool stepped);
  absl::Status OpenAnchor(const std::string& path);
  absl::Status StartRun();
  void WriterLoop();
  void Push(Entry entry);
  // These three require mutex_.
  bool LazyDue() const;
  bool ScrubDue() const;
  std::vector<Entry> TakeGroup();
  void Write(std::vector<Entry> group);
  std::optional<device::DeviceTime> TimeNow() const;

  device::Writer writer_;       // used by the writer's thread, but for Ledger::Exhausted
  device::Database& database_;  // of the writer's rows
  std::unique_ptr<device::Anchor> anchor_;  // used by the writer thread; none in memory
  bool rolled_back_ = false;
  device::StartGate gate_;
  std::unique_ptr<device::MonotoneClock> clock_;  // made under mutex_
  bool taken_over_ = false;
  std::string identity_;
  std::atomic<device::DecisionNumber> next_number_{0};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Entry> queue_;
  std::deque<Entry> lazy_;
  std::chrono::steady_clock::time_point lazy_since_{};  // of its first entry
  // When what draws have erased leaves the write-ahead log: a moment after the first of them, by
  // the clock alone, so that many of them share the work.
  std::optional<std::chrono::steady_clock::time_point> scrub_at_;
  std::set<device::OwnerId> owners_;
  device::OwnerId next_owner_ = 0;
  bool stopping_ = false;
  const bool stepped_;
  std::thread thread_;  // none when stepped
};

namespace device {
using Store = DeviceStore::Body;
}  // namespace device

}  // namespace bandana
