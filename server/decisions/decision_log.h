// The decision log of one model while it is served: decisions come from the threads that answer
// them, rewards from the thread that learns, and one thread writes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/decisions/segment.h"
#include "server/decisions/decision_store.h"
#include "server/decisions/user_pseudonym.h"

namespace bandana::server {

// Threads: all methods are safe. Add and AddRewards wait for nobody.
class DecisionLog {
 public:
  struct Options {
    DecisionStore::Options store;
    std::shared_ptr<const PseudonymKey> key;
    std::function<absl::Time()> now;  // the model's clock
    // The free bytes of the folder's disk.
    std::function<absl::StatusOr<std::uint64_t>(const std::string& folder)> free_bytes;
    std::function<void(const std::string&)> warn;
    bool stepped = false;  // no thread: Step, and whoever waits, does its work
  };
  // Errors: those of DecisionStore::Open.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(Options options);
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  // A decision was answered with a token: an encoded StoredDecision. It becomes a line some 50 ms
  // later, or is dropped now, whole, where the queue or the disk is full.
  void Add(std::string decision, std::string_view user, bool deferred = false);
  // Whether a decision was deferred, ever: then the openings of windows are rows as well.
  bool deferred() const { return store_->counts().deferred(); }
  // Rows of entries in the order of the model's log, each once: all there are up to `through`.
  void AddRewards(std::span<const RewardRow> rows, std::uint64_t through);

  // The model's log may let go of its entries on return: what was added before is durable, or,
  // where the disk fails, all lines are gone.
  void Flush();
  // Lines of these users go before it returns: DecisionStore::Erase.
  absl::StatusOr<std::uint64_t> Erase(std::span<const std::string> users);
  absl::StatusOr<std::uint64_t> Erase(std::span<const UserPseudonym> users);
  // All lines and rewards go. Errors: UNAVAILABLE, and then some are left.
  absl::Status RemoveAll();
  // Lines of decisions at or after this time go, perhaps with some before.
  void GiveUpSince(absl::Time time);
  // Calls `look` while nothing is written, with all that was added before in the files.
  absl::Status Look(const std::function<absl::Status(const DecisionStore&)>& look);
  const PseudonymKey& key() const { return *options_.key; }

  // For the start, before anything is added. The rewards of entries beyond these are not here:
  // the newest that has one, and the newest that is known to have all of them.
  std::uint64_t last_sequence() const { return store_->last_sequence(); }
  DecisionCounts::Through through() const { return store_->counts().through(); }
  absl::Status TakeBackFrom(std::uint64_t sequence);

  struct Figures {
    std::uint64_t lines = 0;
    std::uint64_t lost = 0;  // decisions that did not become lines, since the log began
    std::uint64_t bytes = 0;
    absl::Time oldest = absl::InfiniteFuture();
  };
  Figures figures() const;

  void Step();
  // Writes what was added; decisions that come later are dropped. Idempotent.
  void Close();

 private:
  struct Added {
    std::string decision;
    std::string user;
  };
  struct Batch {
    std::vector<Added> decisions;
    std::vector<RewardRow> rewards;
    std::size_t bytes = 0;      // of the decisions
    std::uint64_t through = 0;  // the model's log was read so far; 0: no further than before
    bool gave_up = false;       // rewards were dropped: no decision of before may stay
    bool empty() const { return decisions.empty() && rewards.empty() && !gave_up; }
  };

  DecisionLog(Options options, std::unique_ptr<DecisionStore> store)
      : options_(std::move(options)), store_(std::move(store)) {}
  void Run();
  // Writes what was added. Requires writing_.
  void Drain();
  // Makes it durable, and says how far it goes. Errors: UNAVAILABLE. Requires writing_.
  absl::Status SyncAll();
  void Write(Batch& batch, absl::Time now);
  void Housekeeping(absl::Time now);
  void Publish();
  void WarnOfLosses(absl::Time now);

  const Options options_;
  std::mutex writing_;  // for what follows
  const std::unique_ptr<DecisionStore> store_;
  Batch draining_;
  std::vector<DecisionStore::Line> lines_;
  DecisionCounts::Through written_;  // in the files, perhaps not durable yet
  absl::Time kept_at_ = absl::InfinitePast();
  absl::Time warned_at_ = absl::InfinitePast();
  std::uint64_t warned_of_ = 0;

  std::atomic<bool> disk_full_{false};
  std::atomic<std::uint64_t> lines_there_{0};
  std::atomic<std::uint64_t> bytes_there_{0};
  std::atomic<std::int64_t> oldest_nanos_{0};  // 0: none
  std::atomic<std::uint64_t> lost_{0};

  std::mutex mutex_;  // for what follows; locked after writing_
  std::condition_variable wake_;
  Batch added_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace bandana::server
