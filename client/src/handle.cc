#include "client/src/handle.h"

#include <cstdint>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::string_view kMark = "bdh1";
constexpr std::size_t kIdentityBytes = 16;

void PutNumber(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void PutBytes(std::string& out, std::string_view bytes) {
  PutNumber(out, bytes.size());
  out.append(bytes);
}

// Reads little-endian numbers and length-prefixed bytes; after the first overrun `ok` is false.
struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view Take(std::uint64_t bytes) {
    ok = ok && bytes <= rest.size();
    if (!ok) return {};
    const std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t Number() {
    std::uint64_t value = 0;
    const std::string_view bytes = Take(8);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
  }
  std::string Bytes() { return std::string(Take(Number())); }
};

}  // namespace

std::string Encode(const Handle& handle) {
  std::string out(kMark);
  out.append(handle.identity);
  PutNumber(out, static_cast<std::uint64_t>(handle.number));
  PutNumber(out, static_cast<std::uint64_t>(handle.policy));
  PutNumber(out, static_cast<std::uint64_t>(handle.ranks));
  PutBytes(out, handle.user);
  PutBytes(out, handle.token);
  PutBytes(out, handle.features);
  return out;
}

absl::StatusOr<Handle> DecodeHandle(std::string_view bytes) {
  Reader reader{bytes};
  const bool marked = reader.Take(kMark.size()) == kMark;
  Handle handle;
  handle.identity = std::string(reader.Take(kIdentityBytes));
  handle.number = static_cast<DecisionNumber>(reader.Number());
  handle.policy = static_cast<PolicyId>(reader.Number());
  const std::uint64_t ranks = reader.Number();
  handle.user = reader.Bytes();
  handle.token = reader.Bytes();
  handle.features = reader.Bytes();
  if (!marked || !reader.ok || !reader.rest.empty() || ranks < 1 || ranks > kTopKMax) {
    return InvalidArgument("selection.handle was not made by this SDK, or was changed");
  }
  handle.ranks = static_cast<int>(ranks);
  return handle;
}

}  // namespace bandana::device
