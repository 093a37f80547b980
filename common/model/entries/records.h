// The entries of a model's log, between plain data and bytes. Layout: docs/formats/log.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/model/entries/decision.h"
#include "common/model/entries/log_entry.h"

namespace bandana {

// A view of numbers of 8 bytes, little-endian and not aligned: of a vector before it is encoded, of
// the record's bytes after it was decoded. So a decoded record encodes to the bytes it came from.
template <typename Number>
class Packed {
 public:
  Packed() = default;
  Packed(std::span<const Number> numbers)  // NOLINT(google-explicit-constructor)
      : bytes_(AsChars(std::as_bytes(numbers))) {}
  Packed(const std::vector<Number>& numbers)  // NOLINT(google-explicit-constructor)
      : Packed(std::span<const Number>(numbers)) {}
  static Packed OfBytes(std::string_view bytes) {
    Packed packed;
    packed.bytes_ = bytes;
    return packed;
  }

  std::string_view bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size() / sizeof(Number); }
  bool empty() const { return bytes_.empty(); }
  std::vector<Number> Values() const {
    std::vector<Number> values(size());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), size() * sizeof(Number));
    return values;
  }

 private:
  std::string_view bytes_;
};

using PackedDoubles = Packed<double>;
using PackedIntegers = Packed<std::int64_t>;
using PackedKeys = Packed<std::uint64_t>;

// Fields that decision and outcome entries share. Views point into the caller's memory before a
// record is encoded, and into its bytes after it was decoded.
struct EventRecord {
  DecisionId id{};
  std::uint64_t epoch = 0;
  absl::Time time;         // of the Select
  std::int32_t node = -1;  // -1: the node of `user`
  std::string_view user;   // independent models, else empty
  PackedDoubles features;  // d, of the shown arm
  // Models of effects: the key parts of the user, then those of the shown arm (EventKeys); of
  // others none.
  PackedKeys keys;
};

// A decision of a reward-window model: one event at `close`, with the reward of the entry that
// closes it. Nothing in the log tells before whether a report came (see Cell).
struct DecisionRecord {
  EventRecord event;
  absl::Time close;  // of the window and its grace
  double default_reward = 0;
};

// A request for the cell of an open decision. No entry: it changes nothing in the log, unless
// `features` says of another arm than the first one that it counts (non-private models).
struct ReportRecord {
  DecisionId id{};
  std::uint64_t epoch = 0;
  absl::Time received;  // by this server
  double reward = 0;
  PackedDoubles features;  // none, or d
  PackedKeys keys;         // models of effects: where there are features, as in EventRecord
  // When a decision that counts from its activation on was made, and until when it can be
  // activated. InfinitePast for others.
  absl::Time decided = absl::InfinitePast();
  absl::Time activated_by = absl::InfinitePast();
};

// A request for the events of several decisions of one user: all of them or none. It stands in no
// log.
struct OpeningRequest {
  std::vector<std::string_view> decisions;  // 1 to kSlotsMax encoded DecisionRecords
};

// Non-private models: the arm of an open decision that was shown.
struct ShownRecord {
  DecisionId id{};
  PackedDoubles features;  // d
  PackedKeys keys;         // models of effects, as in EventRecord
};

// Windows close: those of the oldest close first, then of the oldest decision.
struct ClosedWindow {
  DecisionId id{};
  double reward = 0;  // as it counts: reported or default
};
inline constexpr std::size_t kClosedWindowsMax = 1024;  // in one entry; the next has the rest
struct CloseRecord {
  absl::Time now;                     // as TimeRecord
  bool early = false;                 // before their time: all that are open, as an epoch ends
  std::vector<ClosedWindow> windows;  // as a request: none
};

// A reported reward, or the value of a randomizer's output, of a model without a window here.
struct OutcomeRecord {
  EventRecord event;
  absl::Time received;  // by this server; one at or after `deadline` is refused
  absl::Time deadline;  // end of the token's life
  double reward = 0;
  double variance = 0;  // models of effects: of the noise in the reward; [0, 1e30]
};

// Time passes: ids are forgotten. As a request also for what closes windows. The only source of
// time in the state, beside CloseRecord.
struct TimeRecord {
  absl::Time now;
};

// The epoch before is over; no window is open.
struct EpochRecord {
  std::uint64_t epoch = 0;
};

// Another graph over the same nodes.
struct GraphRecord {
  std::string_view graph;  // serialized v1::Graph; empty: the configuration's graph
};

using StreamId = std::array<std::byte, 16>;  // drawn by the device

// The decision of one step of a local counter stream.
struct CounterStep {
  bool readable = false;  // its token opened; else nothing below is known
  bool covered = true;    // in the log: the record's release covers it
  DecisionId id{};
  absl::Time time;         // of the Select
  PackedDoubles features;  // d, of the shown arm
};

// The state of a local counter stream. As a request for admission it lists every step from the one
// after the last acknowledged to `step`; in the log, the steps whose decisions count.
struct CounterRecord {
  StreamId stream{};
  std::uint64_t epoch = 0;
  absl::Time received;     // by this server: tokens that are over by then do not count
  std::int32_t node = -1;  // -1: the node of `user`, or of the stream where that is empty
  std::string_view user;   // independent models, else empty
  std::uint64_t step = 0;
  DecisionId last{};     // decision of that step; zero when its token did not open
  PackedDoubles moment;  // d
  std::vector<CounterStep> steps;
};

// The charge for the releases of one principal; durable before anything it pays for is drawn.
struct DebitRecord {
  std::uint64_t epoch = 0;
  std::int32_t node = 0;       // the principal; may be the one that the next entry makes
  std::uint64_t releases = 0;  // this many of the cost below
  double pure = 0;             // epsilon of a release of a pure mechanism, or 0
  double rho = 0;              // zCDP cost of a stream, or 0
  // Where the exact Gaussian curve says more than rho = mu^2 / 2: mu, and the distance from a
  // Gaussian stream in total variation. Older entries hold more in its place, what it adds to delta
  // at one stream's epsilon, and are read as if that were the distance: never too little.
  double mu = 0;
  double variation = 0;
};

// A perturbed (context, reward) pair from a device. It names no user and no decision. It has
// exactly one of seed and values.
struct ContextRecord {
  EntryId id{};  // drawn by the device
  std::uint64_t epoch = 0;
  absl::Time received;    // by this server, the first time
  std::string_view seed;  // 16 bytes
  PackedIntegers values;  // D = d (d + 1) / 2 + d
};

// One counter over all users: how its noise is spread, before its first event.
struct ShapeRecord {
  std::int32_t nodes = 0;
  PackedDoubles root;  // nodes x nodes
};

// Models of effects: what was learnt of these users, arms and values of groups is forgotten.
struct FreeRecord {
  PackedKeys keys;
};
inline constexpr std::size_t kFreedKeysMax = 1024;  // in one entry

// Who a user is to models that delete users: 16 bytes that only the key of the deletion gives.
using UserHash = std::array<std::byte, 16>;

// Users are deleted: what is kept of each alone goes, and decisions for them up to `now` count no
// more. No id stands in it.
struct DeletedUser {
  std::int32_t node = -1;  // independent models: the user's own; -1: the user never had one
  UserHash hash{};
};
inline constexpr std::size_t kDeletedUsersMax = 1000;  // in one entry
struct DeleteRecord {
  absl::Time now;
  // The hashes are known until this time, InfiniteFuture: until the epoch ends.
  absl::Time until;
  std::array<std::byte, 32> key{};  // of the hashes
  std::vector<DeletedUser> users;
};

// A request for that entry. It stands in no log.
struct DeleteRequest {
  absl::Time now;
  absl::Time until;
  std::vector<std::string_view> ids;
};

// Models that forget: events before it have faded up to `now`, and fade by this half-life from then
// on; 0 nothing fades. Written by the clock alone, whatever events there are.
struct FadeRecord {
  absl::Time now;
  absl::Duration half_life;  // 0, or whole nanoseconds in [1 h, 87600 h]
};

// The log's time is so far ahead of the wall clock from now on: the clock was ahead once, and time
// in the log never goes back. Changes no other entry, and is written by the clock alone.
struct ClockRecord {
  absl::Duration ahead;  // at least 0
};

// Models that keep the arms that users were shown: a decision is made. It has no window here, or
// the entry that opens the window would tell.
struct SeenRecord {
  absl::Time time;         // of the decision
  std::uint64_t user = 0;  // its key
  PackedKeys arms;         // of those that are shown, at most kSlotsMax
};

using Record = std::variant<DecisionRecord, OutcomeRecord, TimeRecord, EpochRecord, GraphRecord,
                            CounterRecord, DebitRecord, ContextRecord, ShapeRecord, CloseRecord,
                            ShownRecord, ReportRecord, FreeRecord, DeleteRecord, DeleteRequest,
                            FadeRecord, OpeningRequest, ClockRecord, SeenRecord>;

// The error for entries of the format in which reports of open windows were entries of their own.
absl::Status FormerWindows();

// Kinds of ids in the log.
inline constexpr std::uint8_t kDecisionKind = 0;
inline constexpr std::uint8_t kOutcomeKind = 1;
inline constexpr std::uint8_t kReportKind = 2;  // of context reports

// Times are stored to the nanosecond: give times that ToUnixNanos can hold.
std::string Encode(const Record& record);

// Each kind of entry has a number, and a version reads those up to a greatest one. A server that
// shares logs tells the others its own, and writes no greater one than all of them read.
inline constexpr int kEntryKindRead = 27;
// The greatest kind read by versions that shared logs and did not tell. It never changes.
inline constexpr int kEntryKindOfTheSilent = 23;

// The kind of an encoded entry. Of a request: the greatest kind that it may become.
int EntryKindOf(std::string_view record);

// The encoded record with random bytes before it: they are part of the entry, and nobody reads
// them.
using EntrySalt = std::array<std::byte, 16>;
std::string Salted(const EntrySalt& salt, std::string_view record);

// With or without salt. `dimension`: d of the model. Views point into `bytes`. Errors: DATA_LOSS;
// FormerWindows.
absl::StatusOr<Record> Decode(std::string_view bytes, int dimension);

}  // namespace bandana
