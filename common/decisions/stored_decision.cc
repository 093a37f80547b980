#include "common/decisions/stored_decision.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint8_t kFormat = 1;  // never 0: a frame that begins with it was erased

enum Flags : std::uint8_t {
  kDeferred = 1,
  kBaseline = 2,
  kNames = 4,
  kIds = 8,
  kPredictions = 16,
  kWindows = 32,
  kExtra = 64,  // features or a context follow
};

// Seven bits a byte, the low ones first; a set high bit says that more follow.
void Varint(std::uint64_t value, ByteWriter& out) {
  for (; value >= 0x80; value >>= 7) out.U8(static_cast<std::uint8_t>(value | 0x80));
  out.U8(static_cast<std::uint8_t>(value));
}

std::optional<std::uint64_t> Varint(ByteReader& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = in.U8();
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return in.ok() ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

absl::Status Damaged(std::string_view field) {
  return DataLoss("decision log: ", ToAbsl(field), " does not parse");
}

// A count that so many bytes each are left for.
bool Count(ByteReader& in, std::uint64_t bytes_each, std::size_t& count) {
  const std::optional<std::uint64_t> read = Varint(in);
  if (!read || *read > in.remaining() / bytes_each) return false;
  count = static_cast<std::size_t>(*read);
  return true;
}

bool Small(ByteReader& in, std::uint32_t& value) {
  const std::optional<std::uint64_t> read = Varint(in);
  if (!read || *read > 0xffffffff) return false;
  value = static_cast<std::uint32_t>(*read);
  return true;
}

template <typename T>
void Raw(ByteReader& in, std::vector<T>& out) {
  const std::string_view bytes = in.Take(out.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
}

bool IsPropensity(double p) { return (p >= 0 && p <= 1) || p == kNotOffered; }

absl::Status ReadSlots(std::size_t arms, ByteReader& in, StoredDecision& decision) {
  std::size_t slots = 0;
  if (!Count(in, sizeof(StoredId) + 1 + 8 * arms, slots) || slots < 1 || slots > kSlotsMax) {
    return Damaged("the number of slots");
  }
  decision.slots.resize(slots);
  for (StoredSlot& slot : decision.slots) {
    in.Fixed(slot.id);
    if (!Small(in, slot.chosen)) return Damaged("the chosen arm");
    slot.law.resize(arms);
    in.Doubles(slot.law);
    for (const double p : slot.law) {
      if (!IsPropensity(p)) return Damaged("a propensity");
    }
    if (slot.chosen >= arms) return Damaged("the chosen arm");
  }
  return absl::OkStatus();
}

absl::Status ReadRanks(bool windows, ByteReader& in, StoredDecision& decision) {
  std::size_t ranks = 0;
  if (!Count(in, 5, ranks) || ranks > kSealedRanksMax) return Damaged("the number of ranks");
  decision.ranks.resize(ranks);
  for (StoredRank& rank : decision.ranks) {
    if (!Small(in, rank.position) || rank.position >= decision.arms()) return Damaged("a rank");
    rank.mark = in.U32();
    rank.window.reset();
    if (!windows) continue;
    rank.window = StoredWindow{.low = in.F64(), .high = in.F64(), .scale = in.F64()};
    if (!std::isfinite(rank.window->low) || !std::isfinite(rank.window->high) ||
        !(rank.window->scale > 0)) {
      return Damaged("a window");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadArms(std::uint8_t flags, std::size_t arms, ByteReader& in,
                      StoredDecision& decision) {
  decision.ids.resize((flags & kIds) != 0 ? arms : 0);
  Raw(in, decision.ids);
  decision.names.resize((flags & kNames) != 0 ? arms : 0);
  for (std::string& name : decision.names) {
    std::size_t bytes = 0;
    if (!Count(in, 1, bytes)) return Damaged("a name");
    name = in.Take(bytes);
  }
  decision.q.resize((flags & kPredictions) != 0 ? arms : 0);
  Raw(in, decision.q);
  for (const float q : decision.q) {
    if (!std::isfinite(q)) return Damaged("a prediction");
  }
  return absl::OkStatus();
}

absl::Status ReadExtra(std::size_t arms, ByteReader& in, StoredDecision& decision) {
  std::size_t features = 0;
  if (!Count(in, 8, features) || features % arms != 0) return Damaged("the features");
  decision.features.resize(features);
  in.Doubles(decision.features);
  for (const double x : decision.features) {
    if (!std::isfinite(x)) return Damaged("a feature");
  }
  std::size_t bytes = 0;
  if (!Count(in, 1, bytes)) return Damaged("the context");
  decision.context = in.Take(bytes);
  return absl::OkStatus();
}

}  // namespace

std::uint32_t ArmMark(std::string_view features, std::string_view keys) {
  // zlib begins anew where it is given no bytes by a null pointer.
  const auto add = [](uLong sum, std::string_view bytes) {
    return bytes.empty() ? sum
                         : crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  const auto mark = static_cast<std::uint32_t>(add(add(0, features), keys));
  return mark == 0 ? 1 : mark;
}

void EncodeDecision(const StoredDecision& decision, std::string& out) {
  const bool windows = !decision.ranks.empty() && decision.ranks.front().window.has_value();
  const bool extra = !decision.features.empty() || !decision.context.empty();
  const auto flag = [](bool is, Flags flag) { return is ? static_cast<int>(flag) : 0; };
  ByteWriter to(out);
  to.U8(kFormat);
  to.U8(static_cast<std::uint8_t>(
      flag(decision.deferred, kDeferred) | flag(decision.baseline, kBaseline) |
      flag(!decision.names.empty(), kNames) | flag(!decision.ids.empty(), kIds) |
      flag(!decision.q.empty(), kPredictions) | flag(windows, kWindows) | flag(extra, kExtra)));
  to.I64(absl::ToUnixNanos(decision.time));
  Varint(decision.epoch, to);
  Varint(decision.version, to);
  Varint(decision.offered, to);
  Varint(decision.first_rank, to);
  Varint(decision.shown, to);
  Varint(decision.arms(), to);
  Varint(decision.slots.size(), to);
  for (const StoredSlot& slot : decision.slots) {
    to.Fixed(slot.id);
    Varint(slot.chosen, to);
    to.Doubles(slot.law);
  }
  Varint(decision.ranks.size(), to);
  for (const StoredRank& rank : decision.ranks) {
    Varint(rank.position, to);
    to.U32(rank.mark);
    if (!windows) continue;
    to.F64(rank.window->low);
    to.F64(rank.window->high);
    to.F64(rank.window->scale);
  }
  to.Fixed(std::as_bytes(std::span(decision.ids)));
  for (const std::string& name : decision.names) {
    Varint(name.size(), to);
    out.append(name);
  }
  to.Fixed(std::as_bytes(std::span(decision.q)));
  if (!extra) return;
  Varint(decision.features.size(), to);
  to.Doubles(decision.features);
  Varint(decision.context.size(), to);
  out.append(decision.context);
}

absl::Status DecodeDecision(std::string_view bytes, StoredDecision& decision) {
  ByteReader in(bytes);
  if (in.U8() != kFormat) return Damaged("the format");
  const std::uint8_t flags = in.U8();
  decision.deferred = (flags & kDeferred) != 0;
  decision.baseline = (flags & kBaseline) != 0;
  decision.time = absl::FromUnixNanos(in.I64());
  const std::optional<std::uint64_t> epoch = Varint(in);
  const std::optional<std::uint64_t> version = Varint(in);
  if (!epoch || !version) return Damaged("the version");
  decision.epoch = *epoch;
  decision.version = *version;
  std::size_t arms = 0;
  if (!Small(in, decision.offered) || !Small(in, decision.first_rank) ||
      !Small(in, decision.shown) || !Count(in, 8, arms) || arms < 1 || arms > decision.offered) {
    return Damaged("the number of arms");
  }
  BANDANA_RETURN_IF_ERROR(ReadSlots(arms, in, decision));
  BANDANA_RETURN_IF_ERROR(ReadRanks((flags & kWindows) != 0, in, decision));
  if (decision.shown < decision.first_rank ||
      decision.shown - decision.first_rank >= std::max<std::size_t>(decision.ranks.size(), 1)) {
    return Damaged("the rank");
  }
  BANDANA_RETURN_IF_ERROR(ReadArms(flags, arms, in, decision));
  decision.features.clear();
  decision.context.clear();
  if ((flags & kExtra) != 0) BANDANA_RETURN_IF_ERROR(ReadExtra(arms, in, decision));
  return in.Done() ? absl::OkStatus() : Damaged("its end");
}

}  // namespace bandana
