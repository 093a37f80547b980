#include "client/core/handle.h"

#include <cstdint>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::string_view kMark = "bdh3";
constexpr std::string_view kDeferredMark = "bdd1";  // with when and in which epoch it was made
constexpr std::size_t kWindowBytes = 2 * sizeof(double);

}  // namespace

std::string Encode(const Handle& handle) {
  std::string out(handle.deferral ? kDeferredMark : kMark);
  out.append(handle.identity);
  ByteWriter writer(out);
  if (handle.deferral) {
    writer.I64(absl::ToUnixMicros(handle.deferral->decided));
    writer.U64(handle.deferral->epoch);
  }
  writer.U64(static_cast<std::uint64_t>(handle.number));
  writer.U64(static_cast<std::uint64_t>(handle.policy));
  writer.U64(static_cast<std::uint64_t>(handle.ranks));
  writer.U64(static_cast<std::uint64_t>(handle.shown));
  writer.Block(handle.user);
  writer.Block(handle.token);
  writer.Block(handle.features);
  writer.Block(handle.windows);
  return out;
}

absl::StatusOr<Handle> DecodeHandle(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::string_view mark = reader.Take(kMark.size());
  Handle handle;
  handle.identity = std::string(reader.Take(kIdentityBytes));
  if (mark == kDeferredMark) {
    const std::int64_t decided = reader.I64();
    handle.deferral = {.decided = absl::FromUnixMicros(decided), .epoch = reader.U64()};
  }
  handle.number = static_cast<DecisionNumber>(reader.U64());
  handle.policy = static_cast<PolicyId>(reader.U64());
  const std::uint64_t ranks = reader.U64();
  const std::uint64_t shown = reader.U64();
  handle.user = std::string(reader.Block());
  handle.token = std::string(reader.Block());
  handle.features = std::string(reader.Block());
  handle.windows = std::string(reader.Block());
  const bool known = mark == kMark || mark == kDeferredMark;
  if (!known || !reader.Done() || ranks < 1 || ranks > kTopKMax || shown >= ranks) {
    return InvalidArgument("selection.handle was not made by this SDK, or was changed");
  }
  handle.ranks = static_cast<int>(ranks);
  handle.shown = static_cast<int>(shown);
  return handle;
}

std::optional<RewardRange> WindowOf(std::string_view windows, int rank) {
  const std::size_t begin = kWindowBytes * static_cast<std::size_t>(rank);
  if (windows.size() < begin + kWindowBytes) return std::nullopt;
  RewardRange window;
  std::memcpy(&window.min, windows.data() + begin, sizeof(double));
  std::memcpy(&window.max, windows.data() + begin + sizeof(double), sizeof(double));
  return window;
}

void AppendWindow(const RewardRange& window, std::string& windows) {
  for (const double end : {window.min, window.max}) {
    windows.append(reinterpret_cast<const char*>(&end), sizeof end);
  }
}

}  // namespace bandana::device
