// Differences between two checkpoints: any body with a fitting checksum is a sequence or an error,
// and any sequence comes back from its difference.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/models/folder/checkpoint_delta.h"

namespace {

using bandana::server::CheckpointIndex;

const std::string& Base() {
  static const std::string base = [] {
    std::string bytes(1 << 16, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
    return bytes;
  }();
  return base;
}

absl::Status Read(std::uint64_t offset, std::span<char> out) {
  if (offset > Base().size() || Base().size() - offset < out.size()) {
    return absl::DataLossError("too short");
  }
  std::copy_n(Base().data() + offset, out.size(), out.data());
  return absl::OkStatus();
}

const CheckpointIndex& Index() {
  static const CheckpointIndex index = *CheckpointIndex::Of(
      1, bandana::SourceOf(Base()), [](std::string_view) { return absl::OkStatus(); });
  return index;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  const auto taken = bandana::server::ApplyDelta(bytes, Read);
  BANDANA_CHECK(taken.ok() || absl::IsDataLoss(taken.status()));

  // A stretch of the base before it and behind it.
  const std::string next = Base().substr(0, 20'000) + bytes + Base().substr(30'000);
  std::string delta;
  const absl::Status written =
      bandana::server::DeltaTo(Index(), bandana::SourceOf(next))([&](std::string_view piece) {
        delta += piece;
        return absl::OkStatus();
      });
  BANDANA_CHECK(written.ok());
  const auto again = bandana::server::ApplyDelta(delta, Read);
  BANDANA_CHECK(again.ok() && *again == next);
  return 0;
}
