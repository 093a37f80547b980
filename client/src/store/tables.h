// Typed rows of the device store. Every function runs inside the writer's transaction; failures
// are kept by the Database, and the writer rolls the whole transaction back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/base/monotone_clock.h"
#include "client/src/base/secret_bytes.h"
#include "client/src/store/anchor.h"
#include "client/src/store/kept_rows.h"
#include "client/src/store/ledger_rows.h"
#include "client/src/store/sealer.h"
#include "client/src/store/sqlite.h"
#include "client/src/store/store_key.h"
#include "client/src/store/stream_rows.h"

namespace bandana::device {

// A decision's number is run * 2^32 + a counter.
inline constexpr int kDecisionRunShift = 32;

enum class ReportState : int {
  kOpen = 0,      // the report is drawn, and leaves, at wake_at
  kReady = 1,     // drawn, and sent by a client that has gone: leaves with the next one
  kOutbound = 2,  // a live client is sending it
};

inline constexpr std::size_t kHeldBytes = 8;

// What a decision is until its draw. All but the last two stands from the decision on; a reaction
// overwrites those, in place: the row's size does not change.
struct Opening {
  int shown = 0;                         // rank that the report names
  std::uint64_t epoch = 0;               // of the model
  absl::Time close = absl::UnixEpoch();  // reactions count until then
  std::string window;                    // of a centred randomizer: the arm's, as in Handle
  bool reacted = false;
  SecretBytes held;  // kHeldBytes: the draw's clipped input
};

struct ReportRow {
  DecisionNumber number = 0;
  PolicyId policy = 0;
  OwnerId owner = 0;
  ReportState state = ReportState::kOpen;
  absl::Time wake_at;  // due_at
  absl::Time due_at;   // when it is drawn and leaves
  std::string user;
  std::string token;     // open decisions of the server's Select
  std::string features;  // the arm shown, packed: made on the device, or of a counter
  std::string report;    // once drawn: the bytes that are sent
  Opening opening;       // until then
  StreamId stream = 0;   // counters: whose step the draw took; not stored
};

struct PolicyRow {
  PolicyId id = 0;
  std::string model;
  std::string hash;
  double epsilon = 0;
  double delta = 0;
};

enum class Drawn {
  kNo,
  kYes,        // the decision's one report exists or existed
  kForgotten,  // too old to tell: counts as yes
};

class Tables {
 public:
  // Prepares the statements and verifies every row. A file of the former format is migrated: the
  // ledger and the streams stay, decisions whose window is open are dropped. Errors: DATA_LOSS;
  // FAILED_PRECONDITION the store has another key; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<Tables>> Create(std::unique_ptr<Database> database,
                                                        const StoreKeys& keys);
  ~Tables();

  Database& database() { return *database_; }
  LedgerRows& ledger() { return *ledger_; }
  StreamRows& streams() { return *streams_; }
  KeptRows& kept() { return *kept_; }
  // The device's time as it was kept last.
  const MonotoneClock::State& time() const { return time_; }
  // Keeps it, about once in a second.
  void KeepTime(const MonotoneClock::State& time);

  const std::string& identity() const { return identity_; }
  // Starts the next run of the store, after every run up to `after`, and returns its number, [1,
  // 2^31).
  std::int64_t NextRun(std::uint64_t after);

  // How far the store has come; positions of the open transaction do not count yet.
  StoreMark Mark() const;
  // Before the commit: one position further if something was debited or drawn.
  void SavePosition();
  // The file is an older copy of what `anchor` saw. Charges every user with all that the copy
  // cannot know of, takes every earlier decision as reported, ends every stream, and drops what
  // could be drawn or sent a second time. Returns the streams ended.
  int RecoverFromRollback(const StoreMark& anchor);
  // Debits that no user can be named for, because an older copy of the file forgot them.
  std::uint64_t lost_events() const { return lost_events_; }
  std::uint64_t lost_streams() const { return lost_streams_; }

  // Finds or adds the policy of (model, hash).
  PolicyId AddPolicy(const PolicyRow& policy);
  std::vector<PolicyRow> PoliciesOf(std::string_view model);

  // Events debited for the user under one policy.
  std::uint64_t Events(PolicyId policy, std::string_view user) const {
    return ledger_->Of(policy, user).events;
  }
  void Debit(const LedgerEntry& entry);

  // Adds the row, or replaces the one of the same number, whose private bytes are erased.
  void PutReport(const ReportRow& row);
  std::optional<ReportRow> FindReport(DecisionNumber number);
  void DeleteReport(DecisionNumber number);
  // Up to `limit` of the owner's rows in `state` with wake_at <= now, earliest first, then by
  // number.
  std::vector<ReportRow> Awake(OwnerId owner, ReportState state, absl::Time now, int limit);
  // The earliest wake_at of the owner's open and ready rows.
  std::optional<absl::Time> NextWake(OwnerId owner);
  // Gives `owner` every report of the policies that none of `live` owns; what an earlier client was
  // sending is ready again. Returns how many.
  int Adopt(OwnerId owner, const std::vector<PolicyRow>& policies, const std::set<OwnerId>& live);

  // Whether any decision of the store, whoever owns it, is not due yet.
  bool IsAnyOpen(absl::Time now);
  // The owner's decisions that were due at `time` or before and are not drawn.
  std::vector<DecisionNumber> OpenSince(OwnerId owner, absl::Time time);
  // Reports that the owner was sending are ready again.
  void ReadyAgain(OwnerId owner);
  // Nobody knows any more when the owner's drawn reports were due: they count as old.
  void TakeForOld(OwnerId owner);

  Drawn DrawnState(DecisionNumber number);
  void MarkDrawn(DecisionNumber number, absl::Time forget_at);
  // ForgetDrawn with the usual bounds, once in a while.
  void ForgetDrawnAround(DecisionNumber number, absl::Time now);
  // Drops the oldest memories of drawn decisions, in order of number, while they are past
  // forget_at or more than `count_max` are kept; at most `limit` at a time.
  void ForgetDrawn(absl::Time now, std::int64_t count_max, int limit);
  // After a rollback: reads again what is kept in memory.
  void Reload();

 private:
  struct Statements;
  explicit Tables(std::unique_ptr<Database> database);
  absl::Status CheckKey();
  absl::Status VerifyRows();
  // One transaction: everything sealed anew, in the format of today.
  absl::Status Migrate(std::string_view former_key);
  absl::Status MigrateReports(Sealer& former);
  void ReadStore();
  void ReadTime();
  std::optional<ReportRow> ReadReport(const Statement& row);

  std::unique_ptr<Database> database_;
  std::unique_ptr<Sealer> sealer_;
  std::unique_ptr<Statements> sql_;
  std::unique_ptr<LedgerRows> ledger_;
  std::unique_ptr<StreamRows> streams_;
  std::unique_ptr<KeptRows> kept_;
  MonotoneClock::State time_;
  std::string identity_;
  std::uint64_t position_ = 0;  // committed
  std::uint64_t run_ = 0;
  std::uint64_t lost_events_ = 0;
  std::uint64_t lost_streams_ = 0;
  bool moved_ = false;  // something was debited or drawn in the open transaction
  std::int64_t drawn_count_ = 0;
  DecisionNumber forgotten_ = 0;
};

}  // namespace bandana::device
