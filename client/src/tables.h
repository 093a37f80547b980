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
#include "client/src/sqlite.h"

namespace bandana::device {

using PolicyId = std::int64_t;
using OwnerId = std::int64_t;
using DecisionNumber = std::int64_t;

enum class ReportState : int {
  kOpen = 0,      // the reward window is open and nothing was drawn
  kReady = 1,     // the report exists; it leaves at due_at
  kOutbound = 2,  // a live client is sending it
};

struct ReportRow {
  DecisionNumber number = 0;
  PolicyId policy = 0;
  OwnerId owner = 0;
  ReportState state = ReportState::kOpen;
  absl::Time wake_at;  // open: the window's close; ready: due_at
  absl::Time due_at;   // when it may leave
  std::string user;
  std::string token;  // open decisions of the server's Select
  std::string
      features;        // decisions made on the device: of every rank; once drawn, of the arm shown
  std::string report;  // once drawn: PerturbedReport or Outcome, the bytes that are sent
};

struct LedgerRow {
  PolicyId policy = 0;
  std::string user;
  std::uint64_t events = 0;
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
  // Prepares the statements and verifies every ledger and report row. Errors: DATA_LOSS.
  static absl::StatusOr<std::unique_ptr<Tables>> Create(std::unique_ptr<Database> database);
  ~Tables();

  Database& database() { return *database_; }

  std::string Identity();
  // Starts the next run of the store and returns its number, [1, 2^31).
  std::int64_t NextRun();

  // Finds or adds the policy of (model, hash).
  PolicyId AddPolicy(const PolicyRow& policy);
  std::vector<PolicyRow> PoliciesOf(std::string_view model);

  // Events debited for the user under one policy.
  std::uint64_t Events(PolicyId policy, std::string_view user);
  void SetEvents(const LedgerRow& row);
  std::vector<LedgerRow> Ledger();

  // Adds the row, or replaces the one of the same number.
  void PutReport(const ReportRow& row);
  std::optional<ReportRow> FindReport(DecisionNumber number);
  void DeleteReport(DecisionNumber number);
  // Up to `limit` of the owner's rows in `state` with wake_at <= now, earliest first.
  std::vector<ReportRow> Awake(OwnerId owner, ReportState state, absl::Time now, int limit);
  // The earliest wake_at of the owner's open and ready rows.
  std::optional<absl::Time> NextWake(OwnerId owner);
  // Gives `owner` every report of the policies that none of `live` owns; what an earlier client was
  // sending is ready again. Returns how many.
  int Adopt(OwnerId owner, const std::vector<PolicyRow>& policies, const std::set<OwnerId>& live);

  Drawn DrawnState(DecisionNumber number);
  void MarkDrawn(DecisionNumber number, absl::Time forget_at);
  // Drops the oldest memories of drawn decisions, in order of number, while they are past
  // forget_at or more than `count_max` are kept; at most `limit` at a time.
  void ForgetDrawn(absl::Time now, std::int64_t count_max, int limit);
  // After a rollback: reads again what is kept in memory.
  void Reload();

 private:
  struct Statements;
  explicit Tables(std::unique_ptr<Database> database);
  absl::Status VerifyRows();

  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> sql_;
  std::int64_t drawn_count_ = 0;
  DecisionNumber forgotten_ = 0;
};

}  // namespace bandana::device
