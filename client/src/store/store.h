// DeviceStore's body: the device's state over SQLite, and one writer thread that puts everything
// queued into one transaction, so that many callers share one sync.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "bandana/store.h"
#include "client/core/device_state.h"
#include "client/src/base/entrance.h"
#include "client/src/store/anchor.h"
#include "client/src/store/open_tables.h"
#include "client/src/store/sqlite.h"
#include "client/src/store/store_key.h"

namespace bandana {

// The core is entered by entrance(). The writer thread runs operations, and makes commits durable,
// outside of it. Threads: safe.
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
  // Step, if stepped: before waiting for what an operation brings.
  void StepIfStepped() {
    if (stepped_) Step();
  }

  bool durable() const override { return anchor_ != nullptr; }
  bool rolled_back() const override { return state_.rolled_back(); }
  // 16 random bytes, made with the store.
  const std::string& identity() const { return state_.identity(); }
  // For audits; inside operations.
  device::Database& database() { return database_; }
  // Whether this process waited for another one that had the file.
  bool taken_over() const { return taken_over_; }

  device::Entrance& entrance() { return entrance_; }
  // Inside the core.
  device::DeviceState& state() { return state_; }

  // As Journal, from outside of the core; `committed` runs on the writer thread, inside.
  void Push(Entry entry) override;
  // Enqueue, and wait.
  absl::Status Run(Operation operation);

 private:
  using Lazy = device::DeviceState::Lazy;

  Body(device::OpenedTables tables, device::Database& database, bool stepped);
  absl::Status OpenAnchor(const std::string& path);
  absl::Status StartRun();
  void WriterLoop();
  // Writes one group; false when none waited.
  bool Write(Lazy lazy);
  void Tidy();

  device::Entrance entrance_;
  device::SqliteRows& rows_;  // of the state; used by the writer thread
  device::DeviceState state_;
  device::Database& database_;              // of the rows
  std::unique_ptr<device::Anchor> anchor_;  // used by the writer thread; none in memory
  bool taken_over_ = false;
  // When what draws have erased leaves the write-ahead log: a moment after the first of them, by
  // the clock alone, so that many of them share the work. The writer thread's.
  std::optional<std::chrono::steady_clock::time_point> scrub_at_;
  const bool stepped_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool queued_ = false;
  bool stopping_ = false;
  std::thread thread_;  // none when stepped
};

namespace device {
using Store = DeviceStore::Body;
}  // namespace device

}  // namespace bandana
