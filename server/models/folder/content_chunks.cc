#include "server/models/folder/content_chunks.h"

#include <algorithm>
#include <array>

#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr int kCutShift = 64 - 12;

// A fixed random number per byte value. Other numbers would cut elsewhere, and nothing else would
// change: what was cut by them is compared by its digests.
constexpr std::array<std::uint64_t, 256> MakeGear() {
  std::array<std::uint64_t, 256> gear{};
  std::uint64_t state = 0x62616e64616e61;  // SplitMix64 from here on
  for (std::uint64_t& number : gear) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    number = z ^ (z >> 31);
  }
  return gear;
}
constexpr std::array<std::uint64_t, 256> kGear = MakeGear();

}  // namespace

std::size_t ContentChunks::Cut(std::string_view bytes) {
  const std::size_t end = std::min(bytes.size(), kChunkBytesMax);
  while (scanned_ < end) {
    hash_ = (hash_ << 1) + kGear[static_cast<unsigned char>(bytes[scanned_++])];
    const bool here = scanned_ >= kChunkBytesMin && (hash_ >> kCutShift) == 0;
    if (here || scanned_ == kChunkBytesMax) return scanned_;
  }
  return 0;
}

absl::Status ContentChunks::Add(std::string_view bytes) {
  rest_ += bytes;
  std::string_view left = rest_;
  while (const std::size_t length = Cut(left)) {
    BANDANA_RETURN_IF_ERROR(take_(left.substr(0, length)));
    left.remove_prefix(length);
    scanned_ = 0;
    hash_ = 0;
  }
  rest_.erase(0, rest_.size() - left.size());
  return absl::OkStatus();
}

absl::Status ContentChunks::Finish() {
  if (rest_.empty()) return absl::OkStatus();
  const std::string last = std::move(rest_);
  rest_.clear();
  scanned_ = 0;
  hash_ = 0;
  return take_(last);
}

}  // namespace bandana::server
