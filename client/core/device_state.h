// The device's state, which all clients of a store share: its tables, who writes to them and when,
// its time, its numbers, and its starts.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/core/callback.h"
#include "client/core/delivery/start_gate.h"
#include "client/core/journal.h"
#include "client/core/monotone_clock.h"
#include "client/core/writer.h"

namespace bandana::device {

// Operations wait until the host calls Write, which puts all that wait into one transaction.
// Threads: as the core: one at a time, but for Run.
class DeviceState final : public Journal {
 public:
  struct Hooks {
    // As Timers::Elapsed.
    Callback<absl::Duration()> elapsed;
    // Something waits for Write; may be null.
    Callback<void()> on_queued;
    // How far the rows have come, before anybody hears of the commit. The host keeps the newest
    // outside of the rows, so that an older copy of them is noticed. May be null.
    Callback<void(const StoreMark&)> on_durable;
  };
  DeviceState(std::unique_ptr<Tables> tables, Hooks hooks)
      : writer_(std::move(tables)), hooks_(std::move(hooks)) {}

  // Begins a run, once, before everything else; `started` hears when it is durable. `seen`: the
  // newest mark of the host; rows that are older are charged with all that they cannot know of.
  // Errors: DATA_LOSS rows of another store than the mark; UNAVAILABLE the host.
  void StartRun(const std::optional<StoreMark>& seen, Callback<void(const absl::Status&)> started);
  bool rolled_back() const { return rolled_back_; }

  // As Journal.
  void Push(Entry entry) override;

  // When Write has something to do, by `elapsed`: nothing, while a commit is unanswered or nothing
  // waits.
  std::optional<absl::Duration> WriteAt() const;
  // No operation waits but lazy ones, and no commit is unanswered.
  bool idle() const { return queue_.empty() && !writer_.busy(); }
  // When lazy operations go that no other operation but a reaction takes along.
  enum class Lazy { kLater, kWhenDue, kNow };
  // Writes what waits, in one transaction. False: there was nothing.
  bool Write(Lazy lazy);
  // Write in parts, of which a host with threads runs the second outside of the core. Null: there
  // was nothing. Otherwise Run and Commit follow, once each.
  std::shared_ptr<Writer::Group> Begin(Lazy lazy);
  void Run(Writer::Group& group) { writer_.Run(group); }
  void Commit(const std::shared_ptr<Writer::Group>& group);

  // 16 random bytes, made with the store.
  const std::string& identity() const { return identity_; }
  Ledger& ledger() { return writer_.ledger(); }
  StartGate& gate() { return gate_; }
  // Outside of operations: for a host that looks at what it stores.
  Tables& tables() { return writer_.tables(); }

  // The device's time, over the first `wall` that was given, which outlives the state.
  MonotoneClock& ClockOver(const Clock& wall);

  // A fresh decision number, greater than every one before, in this run and in earlier ones.
  DecisionNumber NextNumber() { return next_number_++; }
  // A client's name on its rows while it lives.
  OwnerId AddOwner();
  void RemoveOwner(OwnerId owner) { owners_.erase(owner); }
  const std::set<OwnerId>& live_owners() const { return owners_; }

 private:
  bool LazyDue() const;
  std::vector<Entry> TakeGroup(Lazy lazy);

  Writer writer_;
  Hooks hooks_;
  bool rolled_back_ = false;
  StartGate gate_;
  std::unique_ptr<MonotoneClock> clock_;
  std::string identity_;
  DecisionNumber next_number_ = 0;
  std::list<Entry> queue_;
  std::list<Entry> lazy_;
  absl::Duration lazy_since_;  // of its first entry
  std::set<OwnerId> owners_;
  OwnerId next_owner_ = 0;
};

}  // namespace bandana::device
