// Selection.handle: what the SDK needs to report a decision, as opaque bytes kept by the
// application.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/core/tables.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// The data of a decision that counts from its activation on. Until then its handle is all there is.
struct Deferral {
  absl::Time decided;
  std::uint64_t epoch = 0;  // of the model
};

inline constexpr std::size_t kIdentityBytes = 16;

struct Handle {
  std::string identity;  // of the store, kIdentityBytes
  DecisionNumber number = 0;
  PolicyId policy = 0;
  int ranks = 0;  // arms in the selection, [1, kTopKMax]
  int shown = 0;  // rank of the arm that the application shows, as it said in Select
  std::string user;
  // The server's token, or the packed arms of every rank (features.h) of a decision made on the
  // device; both for a counter. None when the store holds the open decision: with a reward window,
  // unless it is deferred.
  std::string token;
  std::string features;
  // CENTRED_RANDOMIZER: low and high end of the window of every rank, ranks x 2 packed doubles, of
  // a decision made by the server.
  std::string windows;
  std::optional<Deferral> deferral;
};

std::string Encode(const Handle& handle);
// Errors: INVALID_ARGUMENT not the bytes of a handle. The fields' meaning is the caller's to check.
absl::StatusOr<Handle> DecodeHandle(std::string_view bytes);

// The window of a rank, whole windows.size() / 16 of them; nothing when there are none.
std::optional<RewardRange> WindowOf(std::string_view windows, int rank);
void AppendWindow(const RewardRange& window, std::string& windows);

}  // namespace bandana::device
