#include "common/model/entries/records.h"

#include <algorithm>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint8_t kVersion = 1;

enum Type : std::uint8_t {
  kFormerDecision = 1,
  kOutcome = 2,
  kTime = 3,
  kEpoch = 4,
  kGraph = 5,
  kCounter = 6,
  kDebit = 7,
  kContext = 8,
  kShape = 9,
  kCurveDebit = 10,
  kDecision = 11,
  kClose = 12,
  kShown = 13,
  kReport = 14,
  // As kOutcome, kDecision, kShown and kReport, with keys.
  kKeyedOutcome = 15,
  kKeyedDecision = 16,
  kKeyedShown = 17,
  kKeyedReport = 18,
  kFree = 19,
  kSalted = 20,  // 16 random bytes, then another record with its version and type
  kDelete = 21,
  kDeleteRequest = 22,
  kFade = 23,
  // Requests, which stand in no log.
  kDeferredReport = 24,  // as kKeyedReport, of a decision that has to be activated
  kOpening = 25,
  kClock = 26,
  kSeen = 27,
};
constexpr Type kLast = kSeen;
constexpr std::size_t kSaltedHeadBytes = 2 + EntrySalt().size();

// The record without its salt, if it has one.
std::string_view Unsalted(std::string_view bytes) {
  const bool salted = bytes.size() >= kSaltedHeadBytes &&
                      static_cast<std::uint8_t>(bytes[0]) == kVersion &&
                      static_cast<std::uint8_t>(bytes[1]) == kSalted;
  return salted ? bytes.substr(kSaltedHeadBytes) : bytes;
}

void Put(ByteWriter& out, absl::Time time) { out.I64(absl::ToUnixNanos(time)); }
absl::Time TakeTime(ByteReader& in) { return absl::FromUnixNanos(in.I64()); }

template <typename Number>
void Put(ByteWriter& out, const Packed<Number>& numbers) {
  out.Fixed(AsBytes(numbers.bytes()));
}

PackedDoubles TakeDoubles(ByteReader& in, std::uint64_t count) {
  return PackedDoubles::OfBytes(in.Take(count * sizeof(double)));
}

// At most 255 of them.
void PutKeys(ByteWriter& out, const PackedKeys& keys) {
  BANDANA_CHECK(keys.size() <= kKeyPartsMax);
  out.U8(static_cast<std::uint8_t>(keys.size()));
  Put(out, keys);
}

PackedKeys TakeKeys(ByteReader& in) {
  return PackedKeys::OfBytes(in.Take(in.U8() * sizeof(std::uint64_t)));
}

void PutUser(ByteWriter& out, std::string_view user) {
  BANDANA_CHECK(user.size() <= kUserIdBytesMax);
  out.U8(static_cast<std::uint8_t>(user.size()));
  out.Fixed(AsBytes(user));
}

void Put(ByteWriter& out, const CounterRecord& r) {
  out.Fixed(r.stream);
  out.U64(r.epoch);
  Put(out, r.received);
  out.I32(r.node);
  PutUser(out, r.user);
  out.U64(r.step);
  out.Fixed(r.last);
  Put(out, r.moment);
  out.U32(static_cast<std::uint32_t>(r.steps.size()));
  for (const CounterStep& step : r.steps) {
    out.U8(!step.readable ? 0 : step.covered ? 1 : 2);
    if (!step.readable) continue;
    out.Fixed(step.id);
    Put(out, step.time);
    Put(out, step.features);
  }
}

CounterRecord TakeCounter(ByteReader& in, int dimension) {
  const auto d = static_cast<std::uint64_t>(dimension);
  CounterRecord r;
  in.Fixed(r.stream);
  r.epoch = in.U64();
  r.received = TakeTime(in);
  r.node = in.I32();
  r.user = in.Take(in.U8());
  r.step = in.U64();
  in.Fixed(r.last);
  r.moment = TakeDoubles(in, d);
  const std::uint32_t steps = in.U32();
  for (std::uint32_t i = 0; i < steps && in.ok(); ++i) {
    CounterStep& step = r.steps.emplace_back();
    const std::uint8_t kind = in.U8();
    step.readable = kind != 0;
    step.covered = kind != 2;
    if (!step.readable) continue;
    in.Fixed(step.id);
    step.time = TakeTime(in);
    step.features = TakeDoubles(in, d);
  }
  return r;
}

void Put(ByteWriter& out, const EventRecord& event) {
  out.Fixed(event.id);
  out.U64(event.epoch);
  Put(out, event.time);
  out.I32(event.node);
  PutUser(out, event.user);
  Put(out, event.features);
}

EventRecord TakeEvent(ByteReader& in, int dimension) {
  EventRecord event;
  in.Fixed(event.id);
  event.epoch = in.U64();
  event.time = TakeTime(in);
  event.node = in.I32();
  event.user = in.Take(in.U8());
  event.features = TakeDoubles(in, static_cast<std::uint64_t>(dimension));
  return event;
}

void Put(ByteWriter& out, const ContextRecord& r) {
  out.Fixed(r.id);
  out.U64(r.epoch);
  Put(out, r.received);
  out.U8(r.seed.empty() ? 1 : 0);
  out.Fixed(AsBytes(r.seed));
  Put(out, r.values);
}

ContextRecord TakeContext(ByteReader& in, int dimension) {
  const std::uint64_t d = static_cast<std::uint64_t>(dimension);
  ContextRecord r;
  in.Fixed(r.id);
  r.epoch = in.U64();
  r.received = TakeTime(in);
  if (in.U8() == 0) {
    r.seed = in.Take(16);
  } else {
    r.values = PackedIntegers::OfBytes(in.Take((d * (d + 1) / 2 + d) * sizeof(std::int64_t)));
  }
  return r;
}

void Put(ByteWriter& out, const CloseRecord& r) {
  BANDANA_CHECK(r.windows.size() <= kClosedWindowsMax);
  Put(out, r.now);
  out.U8(r.early ? 1 : 0);
  out.U32(static_cast<std::uint32_t>(r.windows.size()));
  for (const ClosedWindow& window : r.windows) {
    out.Fixed(window.id);
    out.F64(window.reward);
  }
}

CloseRecord TakeClose(ByteReader& in) {
  CloseRecord r{.now = TakeTime(in)};
  r.early = in.U8() == 1;
  const std::uint32_t windows = std::min<std::uint32_t>(in.U32(), kClosedWindowsMax);
  for (std::uint32_t i = 0; i < windows && in.ok(); ++i) {
    ClosedWindow& window = r.windows.emplace_back();
    in.Fixed(window.id);
    window.reward = in.F64();
  }
  return r;
}

void Put(ByteWriter& out, const FreeRecord& r) {
  BANDANA_CHECK(r.keys.size() <= kFreedKeysMax);
  out.U32(static_cast<std::uint32_t>(r.keys.size()));
  Put(out, r.keys);
}

// More keys than there may be are left, and then the entry is too long.
FreeRecord TakeFree(ByteReader& in) {
  const std::uint64_t keys = std::min<std::uint64_t>(in.U32(), kFreedKeysMax);
  return {.keys = PackedKeys::OfBytes(in.Take(keys * sizeof(std::uint64_t)))};
}

void PutUntil(ByteWriter& out, absl::Time until) {
  out.I64(until == absl::InfiniteFuture() ? INT64_MAX : absl::ToUnixNanos(until));
}
absl::Time TakeUntil(ByteReader& in) {
  const std::int64_t nanos = in.I64();
  return nanos == INT64_MAX ? absl::InfiniteFuture() : absl::FromUnixNanos(nanos);
}

void Put(ByteWriter& out, const DeleteRecord& r) {
  BANDANA_CHECK(r.users.size() <= kDeletedUsersMax);
  Put(out, r.now);
  PutUntil(out, r.until);
  out.Fixed(r.key);
  out.U32(static_cast<std::uint32_t>(r.users.size()));
  for (const DeletedUser& user : r.users) {
    out.I32(user.node);
    out.Fixed(user.hash);
  }
}

DeleteRecord TakeDelete(ByteReader& in) {
  DeleteRecord r{.now = TakeTime(in), .until = TakeUntil(in)};
  in.Fixed(r.key);
  const std::size_t users = std::min<std::size_t>(in.U32(), kDeletedUsersMax);
  for (std::size_t i = 0; i < users && in.ok(); ++i) {
    DeletedUser& user = r.users.emplace_back();
    user.node = in.I32();
    in.Fixed(user.hash);
  }
  return r;
}

void Put(ByteWriter& out, const DeleteRequest& r) {
  Put(out, r.now);
  PutUntil(out, r.until);
  out.U32(static_cast<std::uint32_t>(r.ids.size()));
  for (const std::string_view id : r.ids) PutUser(out, id);
}

DeleteRequest TakeDeleteRequest(ByteReader& in) {
  DeleteRequest r{.now = TakeTime(in), .until = TakeUntil(in)};
  const std::size_t ids = std::min<std::size_t>(in.U32(), kDeletedUsersMax);
  for (std::size_t i = 0; i < ids && in.ok(); ++i) r.ids.push_back(in.Take(in.U8()));
  return r;
}

struct Encoder {
  std::string& bytes;
  ByteWriter out{bytes};

  void operator()(const DecisionRecord& r) {
    const bool keyed = !r.event.keys.empty();
    out.U8(keyed ? kKeyedDecision : kDecision);
    if (keyed) PutKeys(out, r.event.keys);
    Put(out, r.event);
    Put(out, r.close);
    out.F64(r.default_reward);
  }
  void operator()(const OutcomeRecord& r) {
    const bool keyed = !r.event.keys.empty();
    bytes.reserve(112 + r.event.user.size() + r.event.features.bytes().size() +
                  r.event.keys.bytes().size());
    out.U8(keyed ? kKeyedOutcome : kOutcome);
    if (keyed) PutKeys(out, r.event.keys);
    Put(out, r.event);
    Put(out, r.received);
    Put(out, r.deadline);
    out.F64(r.reward);
    if (keyed) out.F64(r.variance);
  }
  void operator()(const TimeRecord& r) {
    out.U8(kTime);
    Put(out, r.now);
  }
  void operator()(const EpochRecord& r) {
    out.U8(kEpoch);
    out.U64(r.epoch);
  }
  void operator()(const GraphRecord& r) {
    out.U8(kGraph);
    out.Block(r.graph);
  }
  void operator()(const CounterRecord& r) {
    out.U8(kCounter);
    Put(out, r);
  }
  void operator()(const ContextRecord& r) {
    out.U8(kContext);
    Put(out, r);
  }
  void operator()(const DebitRecord& r) {
    out.U8(r.mu > 0 ? kCurveDebit : kDebit);
    out.U64(r.epoch);
    out.I32(r.node);
    out.U64(r.releases);
    out.F64(r.pure);
    out.F64(r.rho);
    if (r.mu > 0) {
      out.F64(r.mu);
      out.F64(r.variation);
    }
  }
  void operator()(const CloseRecord& r) {
    out.U8(kClose);
    Put(out, r);
  }
  void operator()(const ShownRecord& r) {
    const bool keyed = !r.keys.empty();
    out.U8(keyed ? kKeyedShown : kShown);
    if (keyed) PutKeys(out, r.keys);
    out.Fixed(r.id);
    Put(out, r.features);
  }
  void operator()(const ReportRecord& r) {
    const bool deferred = r.decided != absl::InfinitePast();
    const bool keyed = deferred || !r.keys.empty();
    out.U8(deferred ? kDeferredReport : keyed ? kKeyedReport : kReport);
    if (keyed) PutKeys(out, r.keys);
    if (deferred) {
      Put(out, r.decided);
      Put(out, r.activated_by);
    }
    out.Fixed(r.id);
    out.U64(r.epoch);
    Put(out, r.received);
    out.F64(r.reward);
    Put(out, r.features);
  }
  void operator()(const OpeningRequest& r) {
    BANDANA_CHECK(!r.decisions.empty() && r.decisions.size() <= kSlotsMax);
    out.U8(kOpening);
    out.U8(static_cast<std::uint8_t>(r.decisions.size()));
    for (const std::string_view decision : r.decisions) out.Block(decision);
  }
  void operator()(const FreeRecord& r) {
    out.U8(kFree);
    Put(out, r);
  }
  void operator()(const DeleteRecord& r) {
    out.U8(kDelete);
    Put(out, r);
  }
  void operator()(const DeleteRequest& r) {
    out.U8(kDeleteRequest);
    Put(out, r);
  }
  void operator()(const FadeRecord& r) {
    out.U8(kFade);
    Put(out, r.now);
    out.I64(absl::ToInt64Nanoseconds(r.half_life));
  }
  void operator()(const ClockRecord& r) {
    out.U8(kClock);
    out.I64(absl::ToInt64Nanoseconds(r.ahead));
  }
  void operator()(const SeenRecord& r) {
    BANDANA_CHECK(r.arms.size() <= kSlotsMax);
    out.U8(kSeen);
    Put(out, r.time);
    out.U64(r.user);
    PutKeys(out, r.arms);
  }
  void operator()(const ShapeRecord& r) {
    out.U8(kShape);
    out.I32(r.nodes);
    Put(out, r.root);
  }
};

// Whether the entry begins with keys.
bool IsKeyed(std::uint8_t type) {
  return (type >= kKeyedOutcome && type <= kKeyedReport) || type == kDeferredReport;
}

Record DecodeBody(std::uint8_t type, ByteReader& in, int dimension) {
  const PackedKeys keys = IsKeyed(type) ? TakeKeys(in) : PackedKeys();
  switch (type) {
    case kDecision:
    case kKeyedDecision: {
      DecisionRecord r{.event = TakeEvent(in, dimension)};
      r.event.keys = keys;
      r.close = TakeTime(in);
      r.default_reward = in.F64();
      return r;
    }
    case kOutcome:
    case kKeyedOutcome: {
      OutcomeRecord r{.event = TakeEvent(in, dimension)};
      r.event.keys = keys;
      r.received = TakeTime(in);
      r.deadline = TakeTime(in);
      r.reward = in.F64();
      if (IsKeyed(type)) r.variance = in.F64();
      return r;
    }
    case kTime:
      return TimeRecord{TakeTime(in)};
    case kEpoch:
      return EpochRecord{in.U64()};
    case kGraph:
      return GraphRecord{in.Block()};
    case kCounter:
      return TakeCounter(in, dimension);
    case kContext:
      return TakeContext(in, dimension);
    case kClose:
      return TakeClose(in);
    case kFree:
      return TakeFree(in);
    case kDelete:
      return TakeDelete(in);
    case kDeleteRequest:
      return TakeDeleteRequest(in);
    case kFade:
      return FadeRecord{.now = TakeTime(in), .half_life = absl::Nanoseconds(in.I64())};
    case kClock:
      return ClockRecord{.ahead = absl::Nanoseconds(in.I64())};
    case kSeen: {
      SeenRecord r{.time = TakeTime(in)};
      r.user = in.U64();
      r.arms = TakeKeys(in);
      return r;
    }
    case kShown:
    case kKeyedShown: {
      ShownRecord r{.keys = keys};
      in.Fixed(r.id);
      r.features = TakeDoubles(in, static_cast<std::uint64_t>(dimension));
      return r;
    }
    case kOpening: {
      OpeningRequest r;
      const int decisions = std::min<int>(in.U8(), kSlotsMax);
      for (int i = 0; i < decisions && in.ok(); ++i) r.decisions.push_back(in.Block());
      return r;
    }
    case kReport:
    case kKeyedReport:
    case kDeferredReport: {
      ReportRecord r{.keys = keys};
      if (type == kDeferredReport) {
        r.decided = TakeTime(in);
        r.activated_by = TakeTime(in);
      }
      in.Fixed(r.id);
      r.epoch = in.U64();
      r.received = TakeTime(in);
      r.reward = in.F64();
      r.features = PackedDoubles::OfBytes(in.Take(in.remaining()));
      return r;
    }
    case kShape: {
      ShapeRecord r{.nodes = in.I32()};
      const auto nodes = static_cast<std::uint64_t>(std::clamp(r.nodes, 0, kNodesMax));
      r.root = TakeDoubles(in, nodes * nodes);
      return r;
    }
    default: {
      DebitRecord r{.epoch = in.U64()};
      r.node = in.I32();
      r.releases = in.U64();
      r.pure = in.F64();
      r.rho = in.F64();
      if (type == kCurveDebit) {
        r.mu = in.F64();
        r.variation = in.F64();
      }
      return r;
    }
  }
}

}  // namespace

absl::Status FormerWindows() {
  return FailedPrecondition(
      "the log has entries of a former version, which kept reports of open windows in it; start "
      "that version once more and stop it cleanly (SIGTERM), then this one");
}

std::string Encode(const Record& record) {
  std::string bytes;
  ByteWriter(bytes).U8(kVersion);
  std::visit(Encoder{bytes}, record);
  return bytes;
}

int EntryKindOf(std::string_view record) {
  const std::string_view bytes = Unsalted(record);
  const int type = bytes.size() < 2 ? 0 : static_cast<std::uint8_t>(bytes[1]);
  switch (type) {
    case kReport:
    case kKeyedReport:
    case kDeferredReport:
      return kKeyedShown;  // where it says of another arm than the first
    case kDeleteRequest:
      return kDelete;
    case kOpening:
      return kKeyedDecision;
    case kTime:
      return kClose;
    default:
      return type;
  }
}

std::string Salted(const EntrySalt& salt, std::string_view record) {
  std::string bytes;
  bytes.reserve(kSaltedHeadBytes + record.size());
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.U8(kSalted);
  out.Fixed(salt);
  out.Fixed(AsBytes(record));
  return bytes;
}

absl::StatusOr<Record> Decode(std::string_view entry, int dimension) {
  const std::string_view bytes = Unsalted(entry);
  ByteReader in(bytes);
  const std::uint8_t version = in.U8();
  const std::uint8_t type = in.U8();
  const bool known = type >= kFormerDecision && type <= kLast && type != kSalted;
  if (in.ok() && version == kVersion && type > kLast) {
    return DataLoss("log record of type ", type,
                    ", which this version does not know: a later one wrote it");
  }
  if (!in.ok() || version != kVersion || !known) {
    return DataLoss("log record of unknown version ", version, " or type ", type);
  }
  if (type == kFormerDecision) return FormerWindows();
  Record record = DecodeBody(type, in, dimension);
  if (!in.Done()) return DataLoss("log record of type ", type, " has ", bytes.size(), " bytes");
  return record;
}

}  // namespace bandana
