#include "client/src/store/handle.h"

#include <cstdint>
#include <cstring>

#include "client/src/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::string_view kMark = "bdh3";
constexpr std::size_t kWindowBytes = 2 * sizeof(double);
constexpr std::size_t kIdentityBytes = 16;

}  // namespace

std::string Encode(const Handle& handle) {
  std::string out(kMark);
  out.append(handle.identity);
  PutNumber(out, static_cast<std::uint64_t>(handle.number));
  PutNumber(out, static_cast<std::uint64_t>(handle.policy));
  PutNumber(out, static_cast<std::uint64_t>(handle.ranks));
  PutNumber(out, static_cast<std::uint64_t>(handle.shown));
  PutBytes(out, handle.user);
  PutBytes(out, handle.token);
  PutBytes(out, handle.features);
  PutBytes(out, handle.windows);
  return out;
}

absl::StatusOr<Handle> DecodeHandle(std::string_view bytes) {
  Reader reader{bytes};
  const std::string_view mark = reader.Take(kMark.size());
  Handle handle;
  handle.identity = std::string(reader.Take(kIdentityBytes));
  handle.number = static_cast<DecisionNumber>(reader.Number());
  handle.policy = static_cast<PolicyId>(reader.Number());
  const std::uint64_t ranks = reader.Number();
  const std::uint64_t shown = reader.Number();
  handle.user = reader.Bytes();
  handle.token = reader.Bytes();
  handle.features = reader.Bytes();
  handle.windows = reader.Bytes();
  if (mark != kMark || !reader.ok || !reader.rest.empty() || ranks < 1 || ranks > kTopKMax ||
      shown >= ranks) {
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
