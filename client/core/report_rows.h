// Rows of decisions and their reports, and what of them is asked for by owner and time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "client/core/sealed_rows.h"
#include "client/core/secret_bytes.h"
#include "client/core/stream_rows.h"

namespace bandana::device {

enum class ReportState : int {
  kOpen = 0,      // the report is drawn, and leaves, at wake_at
  kReady = 1,     // drawn, and sent by a client that has gone: leaves with the next one
  kOutbound = 2,  // a live client is sending it
};

inline constexpr std::size_t kHeldBytes = 8;

// The data of a decision until its draw. All but the last two stands from the decision on; a
// reaction overwrites those, in place: the row's size does not change.
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

// Inside transactions; failures are kept by the rows. Owners, states and times of all rows are in
// memory as well. Threads: not thread-safe.
class ReportRows {
 public:
  // `rows` outlives it. Call Load before anything else.
  explicit ReportRows(SealedRows* rows) : rows_(rows) {}
  // Reads and verifies every row. Errors: DATA_LOSS.
  absl::Status Load();

  // Adds the row, or replaces the one of the same number, whose private bytes are erased.
  void Put(const ReportRow& row);
  std::optional<ReportRow> Find(DecisionNumber number);
  void Delete(DecisionNumber number);
  // Up to `limit` of the owner's rows in `state` with wake_at <= now, earliest first, then by
  // number.
  std::vector<ReportRow> Awake(OwnerId owner, ReportState state, absl::Time now, int limit);
  // The earliest wake_at of the owner's open and ready rows.
  std::optional<absl::Time> NextWake(OwnerId owner) const;
  // Gives `owner` every report of the policies that none of `live` owns; what an earlier client was
  // sending is ready again. Returns how many.
  int Adopt(OwnerId owner, const std::set<PolicyId>& policies, const std::set<OwnerId>& live);
  // Whether any decision of the store, whoever owns it, is not due yet.
  bool IsAnyOpen(absl::Time now) const;
  // The owner's decisions that were due at `time` or before and are not drawn.
  std::vector<DecisionNumber> OpenSince(OwnerId owner, absl::Time time) const;
  // Reports that the owner was sending are ready again.
  void ReadyAgain(OwnerId owner);
  // Nobody knows any more when the owner's drawn reports were due: they count as old.
  void TakeForOld(OwnerId owner);
  std::vector<DecisionNumber> numbers() const;

 private:
  // All but the private part; times in microseconds.
  struct Envelope {
    PolicyId policy = 0;
    OwnerId owner = 0;
    ReportState state = ReportState::kOpen;
    std::int64_t wake_at = 0;
    std::int64_t due_at = 0;
  };
  using Wake = std::tuple<OwnerId, ReportState, std::int64_t, DecisionNumber>;

  void Note(DecisionNumber number, const Envelope& envelope);
  void Forget(DecisionNumber number);
  // Writes owner and state alone.
  void PutEnvelope(DecisionNumber number, const Envelope& envelope);

  SealedRows* const rows_;
  std::map<DecisionNumber, Envelope> envelopes_;
  std::set<Wake> wakes_;
};

}  // namespace bandana::device
