#include "research/lab/noise.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::lab {

absl::StatusOr<std::unique_ptr<LabNoise>> LabNoise::Create(std::uint64_t seed,
                                                           std::uint64_t stream) {
  const Sha256Digest digest = Sha256Of(absl::StrCat("bandana lab 1 ", seed));
  BANDANA_ASSIGN_OR_RETURN(const NoiseKey key, NoiseKey::FromBytes(digest));
  const NoiseAddress address{.stream = stream, .input = NoiseInput::None()};
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, KeyedStream::ForNode(key, address));
  return std::unique_ptr<LabNoise>(new LabNoise(std::move(bits)));
}

absl::Status LabNoise::Fill(std::span<std::byte> out) {
  while (!out.empty()) {
    if (next_ == block_.size()) {
      BANDANA_RETURN_IF_ERROR(stream_.Fill(block_));
      next_ = 0;
    }
    const std::size_t part = std::min(out.size(), block_.size() - next_);
    std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(next_), part, out.begin());
    next_ += part;
    out = out.subspan(part);
  }
  return absl::OkStatus();
}

}  // namespace bandana::lab
