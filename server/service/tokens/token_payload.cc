#include "server/service/tokens/token_payload.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/check.h"
#include "common/base/limits.h"

namespace bandana::server {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand");

// Beside the number of arms.
constexpr std::uint8_t kWindows = 0x80;
constexpr std::uint8_t kShown = 0x40;  // a rank other than 0 follows at the end

class Writer {
 public:
  explicit Writer(char* out) : out_(out) {}
  void Bytes(const void* data, std::size_t size) {
    if (size != 0) std::memcpy(out_, data, size);
    out_ += size;
  }
  template <typename T>
  void Number(T value) {
    Bytes(&value, sizeof value);
  }
  const char* end() const { return out_; }

 private:
  char* out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool Bytes(void* data, std::size_t size) {
    if (rest_.size() < size) return false;
    if (size != 0) std::memcpy(data, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  template <typename T>
  bool Number(T& value) {
    return Bytes(&value, sizeof value);
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

bool AllFinite(const std::vector<double>& values) {
  for (const double v : values) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

bool FitRanked(std::size_t arms, std::size_t dimension) {
  return dimension <= kSparseDimensionMax && arms * dimension <= kRankedFeaturesMax;
}

std::size_t ArmBytes(std::size_t dimension, bool windows) {
  return 8 * (1 + dimension + (windows ? 2 : 0));
}

bool DecodeWindow(Reader& in, SealedArm& arm) {
  RewardRange& window = arm.window.emplace();
  return in.Number(window.min) && in.Number(window.max) && std::isfinite(window.min) &&
         std::isfinite(window.max) && window.min < window.max;
}

bool DecodeShown(Reader& in, Decision& decision) {
  std::uint8_t shown = 0;
  if (!in.Number(shown) || shown == 0 || shown >= decision.arms.size()) return false;
  decision.shown = shown;
  return true;
}

bool DecodeArms(Reader& in, Decision& decision) {
  std::vector<SealedArm>& arms = decision.arms;
  std::uint8_t count = 0;
  std::uint16_t dimension = 0;
  if (!in.Number(count) || !in.Number(dimension)) return false;
  const bool windows = (count & kWindows) != 0;
  const bool shown = (count & kShown) != 0;
  count &= kShown - 1;
  if (count < 1 || count > kTopKMax || dimension < 1 || !FitRanked(count, dimension)) return false;
  if (in.left() != count * ArmBytes(dimension, windows) + (shown ? 1 : 0)) return false;
  arms.resize(count);
  for (SealedArm& arm : arms) {
    arm.features.resize(dimension);
    if (!in.Number(arm.propensity) || (windows && !DecodeWindow(in, arm)) ||
        !in.Bytes(arm.features.data(), 8 * arm.features.size())) {
      return false;
    }
    if (!(arm.propensity >= 0 && arm.propensity <= 1) || !AllFinite(arm.features)) return false;
  }
  return !shown || DecodeShown(in, decision);
}

}  // namespace

void EncodeDecision(const Decision& decision, std::string& out) {
  BANDANA_CHECK(!decision.arms.empty() && decision.arms.size() <= kTopKMax);
  BANDANA_CHECK(decision.user.size() <= kUserIdBytesMax);
  const std::size_t dimension = decision.arms.front().features.size();
  BANDANA_CHECK(dimension >= 1 && FitRanked(decision.arms.size(), dimension));
  BANDANA_CHECK(decision.shown < decision.arms.size());
  const bool windows = decision.arms.front().window.has_value();
  const std::size_t start = out.size();
  const std::size_t size = 16 + 16 + 8 + 8 + 4 + 1 + decision.user.size() + 1 + 2 +
                           decision.arms.size() * ArmBytes(dimension, windows) +
                           (decision.shown > 0 ? 1 : 0);
  out.resize(start + size);
  Writer writer(out.data() + start);
  writer.Bytes(decision.instance.data(), 16);
  writer.Bytes(decision.id.data(), 16);
  writer.Number(decision.epoch);
  writer.Number(std::int64_t{absl::ToUnixMicros(decision.time)});
  writer.Number(decision.node);
  writer.Number(static_cast<std::uint8_t>(decision.user.size()));
  writer.Bytes(decision.user.data(), decision.user.size());
  writer.Number(static_cast<std::uint8_t>(decision.arms.size() | (windows ? kWindows : 0) |
                                          (decision.shown > 0 ? kShown : 0)));
  writer.Number(static_cast<std::uint16_t>(dimension));
  for (const SealedArm& arm : decision.arms) {
    BANDANA_CHECK(arm.features.size() == dimension && arm.window.has_value() == windows);
    writer.Number(arm.propensity);
    if (windows) {
      writer.Number(arm.window->min);
      writer.Number(arm.window->max);
    }
    writer.Bytes(arm.features.data(), 8 * dimension);
  }
  if (decision.shown > 0) writer.Number(static_cast<std::uint8_t>(decision.shown));
  BANDANA_CHECK(writer.end() == out.data() + out.size());
}

std::optional<Decision> DecodeDecision(std::string_view bytes) {
  Decision decision;
  Reader in(bytes);
  std::int64_t micros = 0;
  std::uint8_t user_bytes = 0;
  if (!in.Bytes(decision.instance.data(), 16) || !in.Bytes(decision.id.data(), 16) ||
      !in.Number(decision.epoch) || !in.Number(micros) || !in.Number(decision.node) ||
      !in.Number(user_bytes)) {
    return std::nullopt;
  }
  if (decision.node < -1 || user_bytes > kUserIdBytesMax) return std::nullopt;
  decision.time = absl::FromUnixMicros(micros);
  decision.user.resize(user_bytes);
  if (!in.Bytes(decision.user.data(), user_bytes)) return std::nullopt;
  if (!DecodeArms(in, decision)) return std::nullopt;
  return decision;
}

}  // namespace bandana::server
