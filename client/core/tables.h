// The device's durable state: who it is, what was agreed on, spent, decided and drawn. Every
// function runs inside a transaction; failures are kept by the rows, and the writer rolls the whole
// transaction back.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/core/device_time.h"
#include "client/core/kept_rows.h"
#include "client/core/ledger_rows.h"
#include "client/core/report_rows.h"
#include "client/core/rows.h"
#include "client/core/sealed_rows.h"
#include "client/core/sealer.h"
#include "client/core/store_mark.h"
#include "client/core/store_row.h"
#include "client/core/stream_rows.h"

namespace bandana::device {

// A decision's number is run * 2^32 + a counter.
inline constexpr int kDecisionRunShift = 32;

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
  // Reads and verifies every row. A store without a run is sealed by the key of whoever opens it
  // first. Errors: DATA_LOSS; FAILED_PRECONDITION the store has another key; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<Tables>> Create(std::unique_ptr<Rows> rows,
                                                        const MakeSealer& make_sealer);

  SealedRows& rows() { return sealed_; }
  LedgerRows& ledger() { return ledger_; }
  StreamRows& streams() { return streams_; }
  ReportRows& reports() { return reports_; }
  KeptRows& kept() { return kept_; }
  // The device's time as it was kept last.
  const DeviceTime& time() const { return time_; }
  // Keeps it, about once in a second.
  void KeepTime(const DeviceTime& time);

  const std::string& identity() const { return store_.identity; }
  // Starts the next run of the store, after every run up to `after`, and returns its number, [1,
  // 2^31).
  std::int64_t NextRun(std::uint64_t after);

  // How far the store has come; positions of the open transaction do not count yet.
  StoreMark Mark() const;
  // Before the commit: one position further if something was debited or drawn.
  void SavePosition();
  // The store is an older copy of what `anchor` saw. Charges every user with all that the copy
  // cannot know of, takes every earlier decision as reported, ends every stream, and drops what
  // could be drawn or sent a second time. Returns the streams ended.
  int RecoverFromRollback(const StoreMark& anchor);
  // The last run that found the rows older than they had been; 0: none.
  std::int64_t RunFoundOlder();
  // Debits that no user can be named for, because an older copy of the store forgot them.
  std::uint64_t lost_events() const { return store_.lost_events; }
  std::uint64_t lost_streams() const { return store_.lost_streams; }

  // Finds or adds the policy of (model, hash).
  PolicyId AddPolicy(const PolicyRow& policy);
  std::vector<PolicyRow> PoliciesOf(std::string_view model) const;

  // ReportRows::Adopt of these policies' reports.
  int Adopt(OwnerId owner, const std::vector<PolicyRow>& policies, const std::set<OwnerId>& live);

  // Events debited for the user under one policy.
  std::uint64_t Events(PolicyId policy, std::string_view user) const {
    return ledger_.Of(policy, user).events;
  }
  void Debit(const LedgerEntry& entry);

  Drawn DrawnState(DecisionNumber number);
  // A decision that is drawn already is a failure.
  void MarkDrawn(DecisionNumber number, absl::Time forget_at);
  // ForgetDrawn with the usual bounds, once in a while.
  void ForgetDrawnAround(DecisionNumber number, absl::Time now);
  // Drops the oldest memories of drawn decisions, in order of number, while they are past
  // forget_at or more than `count_max` are kept; at most `limit` at a time.
  void ForgetDrawn(absl::Time now, std::int64_t count_max, int limit);
  // After a rollback: reads again what is kept in memory. Errors: what cannot be read again, and
  // must not be built on.
  absl::Status Reload();

 private:
  explicit Tables(std::unique_ptr<Rows> rows);
  absl::Status CheckKey();
  absl::Status Load(bool verify);
  void ReadTime();
  // Drops the memories up to `last`.
  void ForgetUpTo(DecisionNumber last);

  const std::unique_ptr<Rows> host_;
  std::unique_ptr<Sealer> sealer_;
  SealedRows sealed_;
  StoreRow store_;
  LedgerRows ledger_;
  StreamRows streams_;
  ReportRows reports_;
  KeptRows kept_;
  std::vector<PolicyRow> policies_;  // by id
  DeviceTime time_;
  bool moved_ = false;  // something was debited or drawn in the open transaction
  std::int64_t drawn_count_ = 0;
};

}  // namespace bandana::device
