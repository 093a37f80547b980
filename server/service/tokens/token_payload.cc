#include "server/service/tokens/token_payload.h"

#include <algorithm>
#include <cmath>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/limits.h"

namespace bandana::server {
namespace {

// Beside the number of arms.
constexpr std::uint8_t kWindows = 0x80;
constexpr std::uint8_t kShown = 0x40;    // a rank other than 0 follows at the end
constexpr std::uint8_t kAliased = 0x20;  // at the very end: the alias, and its model
static_assert(kSealedRanksMax < kAliased);
// Beside the dimension.
constexpr std::uint16_t kKeyed = 0x8000;
constexpr std::uint16_t kMarked = 0x4000;
static_assert(kSparseDimensionMax < kMarked);
// Marks, where there are any.
constexpr std::uint8_t kDeferred = 1;
constexpr std::uint8_t kBaseline = 2;
constexpr std::uint8_t kAgreed = 4;
constexpr std::uint8_t kShownAlone = 8;

bool AllFinite(const std::vector<double>& values) {
  for (const double v : values) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

bool FitRanked(std::size_t arms, std::size_t dimension) {
  return dimension <= kSparseDimensionMax && arms * dimension <= kRankedFeaturesMax;
}

std::size_t ArmBytes(std::size_t dimension, bool windows, std::size_t keys) {
  return 8 * (1 + dimension + (windows ? 2 : 0) + keys);
}

std::uint16_t ReadU16(ByteReader& in) {
  const std::uint16_t low = in.U8();
  return static_cast<std::uint16_t>(low | in.U8() << 8);
}

bool DecodeWindow(ByteReader& in, SealedArm& arm) {
  RewardRange& window = arm.window.emplace();
  window.min = in.F64();
  window.max = in.F64();
  return std::isfinite(window.min) && std::isfinite(window.max) && window.min < window.max;
}

bool DecodeShown(ByteReader& in, Decision& decision) {
  decision.shown = in.U8();
  const std::size_t ranks = decision.shown_alone ? kTopKMax : decision.arms.size();
  return decision.shown > 0 && decision.shown < ranks;
}

bool DecodeName(ByteReader& in, std::string& name) {
  name = std::string(in.Take(in.U8()));
  return !name.empty() && name.size() <= kModelNameBytesMax;
}

void EncodeName(const std::string& name, ByteWriter& writer, std::string& out) {
  BANDANA_CHECK(!name.empty() && name.size() <= kModelNameBytesMax);
  writer.U8(static_cast<std::uint8_t>(name.size()));
  out.append(name);
}

bool DecodeAsked(ByteReader& in, AskedDecision& decision) {
  AskedAlias& asked = decision.asked.emplace();
  return DecodeName(in, asked.alias) && DecodeName(in, asked.model);
}

std::uint8_t MarksOf(const Decision& decision) {
  const std::optional<bool>& agreed = decision.arms.front().agreed;
  const int marks = (decision.deferred ? kDeferred : 0) | (agreed ? kBaseline : 0) |
                    (agreed.value_or(false) ? kAgreed : 0) |
                    (decision.shown_alone ? kShownAlone : 0);
  return static_cast<std::uint8_t>(marks);
}

// Those that MarksOf makes, beside none. Requires arms.
bool TakeMarks(std::uint8_t marks, Decision& decision) {
  decision.deferred = (marks & kDeferred) != 0;
  std::optional<bool>& agreed = decision.arms.front().agreed;
  if ((marks & kBaseline) != 0) agreed = (marks & kAgreed) != 0;
  decision.shown_alone = (marks & kShownAlone) != 0;
  return marks == MarksOf(decision) && (!decision.shown_alone || decision.arms.size() == 1);
}

bool DecodeArms(ByteReader& in, AskedDecision& decision) {
  std::vector<SealedArm>& arms = decision.arms;
  const std::uint8_t flags = in.U8();
  const bool windows = (flags & kWindows) != 0;
  const bool shown = (flags & kShown) != 0;
  const bool aliased = (flags & kAliased) != 0;
  const std::size_t count = flags & (kAliased - 1);
  const std::uint16_t shape = ReadU16(in);
  const std::size_t dimension = shape & (kMarked - 1);
  const bool keyed = (shape & kKeyed) != 0;
  const bool marked = (shape & kMarked) != 0;
  const std::size_t keys = keyed ? in.U8() : 0;
  const std::uint8_t marks = marked ? in.U8() : 0;
  if (keyed && (keys < 1 || keys > kKeyPartsMax)) return false;
  if (marked && marks == 0) return false;
  if (count < 1 || count > kSealedRanksMax || dimension < 1 || !FitRanked(count, dimension))
    return false;
  const std::size_t bytes = count * ArmBytes(dimension, windows, keys) + (shown ? 1 : 0);
  if (in.remaining() < bytes) return false;
  arms.resize(count);
  if (!TakeMarks(marks, decision)) return false;
  for (SealedArm& arm : arms) {
    arm.features.resize(dimension);
    arm.propensity = in.F64();
    if (windows && !DecodeWindow(in, arm)) return false;
    in.Doubles(arm.features);
    arm.keys.resize(keys);
    for (std::uint64_t& key : arm.keys) key = in.U64();
    if (!(arm.propensity >= 0 && arm.propensity <= 1) || !AllFinite(arm.features)) return false;
  }
  if (shown && !DecodeShown(in, decision)) return false;
  return !aliased || DecodeAsked(in, decision);
}

}  // namespace

void EncodeDecision(const Decision& decision, const AskedAlias* asked, std::size_t ranks,
                    std::string& out) {
  BANDANA_CHECK(!decision.arms.empty() && decision.arms.size() <= kSealedRanksMax);
  BANDANA_CHECK(decision.user.size() <= kUserIdBytesMax);
  const std::size_t dimension = decision.arms.front().features.size();
  BANDANA_CHECK(dimension >= 1 && FitRanked(std::max(ranks, decision.arms.size()), dimension));
  BANDANA_CHECK(ArmOfRank(decision, decision.shown) != nullptr);
  BANDANA_CHECK(!decision.shown_alone || decision.arms.size() == 1);
  const bool windows = decision.arms.front().window.has_value();
  const std::size_t keys = decision.arms.front().keys.size();
  const std::uint8_t marks = MarksOf(decision);
  BANDANA_CHECK(keys <= kKeyPartsMax);
  const std::size_t common = 16 + 16 + 8 + 8 + 4 + 1 + decision.user.size() + 1 + 2 +
                             (keys > 0 ? 1 : 0) +
                             (asked == nullptr ? 0 : 2 + asked->alias.size() + asked->model.size());
  const std::size_t arm = ArmBytes(dimension, windows, keys);
  const std::size_t size =
      common + (marks > 0 ? 1 : 0) + decision.arms.size() * arm + (decision.shown > 0 ? 1 : 0);
  const std::size_t room = ranks == 0 ? size : std::max(size, common + 1 + ranks * arm + 1);
  out.reserve(out.size() + room);
  const std::size_t end = out.size() + size;
  ByteWriter writer(out);
  writer.Fixed(decision.instance);
  writer.Fixed(decision.id);
  writer.U64(decision.epoch);
  writer.I64(absl::ToUnixMicros(decision.time));
  writer.I32(decision.node);
  writer.U8(static_cast<std::uint8_t>(decision.user.size()));
  out.append(decision.user);
  writer.U8(static_cast<std::uint8_t>(decision.arms.size() | (windows ? kWindows : 0) |
                                      (decision.shown > 0 ? kShown : 0) |
                                      (asked == nullptr ? 0 : kAliased)));
  const std::size_t shape = dimension | (keys > 0 ? kKeyed : 0) | (marks > 0 ? kMarked : 0);
  writer.U8(static_cast<std::uint8_t>(shape & 0xff));
  writer.U8(static_cast<std::uint8_t>(shape >> 8));
  if (keys > 0) writer.U8(static_cast<std::uint8_t>(keys));
  if (marks > 0) writer.U8(marks);
  for (const SealedArm& arm : decision.arms) {
    BANDANA_CHECK(arm.features.size() == dimension && arm.window.has_value() == windows);
    BANDANA_CHECK(arm.keys.size() == keys);
    writer.F64(arm.propensity);
    if (windows) {
      writer.F64(arm.window->min);
      writer.F64(arm.window->max);
    }
    writer.Doubles(arm.features);
    for (const std::uint64_t key : arm.keys) writer.U64(key);
  }
  if (decision.shown > 0) writer.U8(static_cast<std::uint8_t>(decision.shown));
  if (asked != nullptr) {
    EncodeName(asked->alias, writer, out);
    EncodeName(asked->model, writer, out);
  }
  BANDANA_CHECK(out.size() == end);
  out.append(room - size, '\0');
}

std::optional<AskedDecision> DecodeDecision(std::string_view bytes) {
  AskedDecision decision;
  ByteReader in(bytes);
  in.Fixed(decision.instance);
  in.Fixed(decision.id);
  decision.epoch = in.U64();
  decision.time = absl::FromUnixMicros(in.I64());
  decision.node = in.I32();
  const std::uint8_t user_bytes = in.U8();
  if (user_bytes > kUserIdBytesMax || decision.node < -1) return std::nullopt;
  decision.user = std::string(in.Take(user_bytes));
  // A payload that was cut short fails here: no arms, or fewer bytes than they need.
  if (!DecodeArms(in, decision) || !in.ok()) return std::nullopt;
  const std::string_view rest = in.Take(in.remaining());
  if (rest.find_first_not_of('\0') != rest.npos) return std::nullopt;
  return decision;
}

}  // namespace bandana::server
