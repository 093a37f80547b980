#include "server/log/wal_check.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagicLittle = 0x377f0682;  // checksums over little-endian words
constexpr std::uint32_t kMagicBig = 0x377f0683;

std::uint32_t BigEndian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}
std::uint32_t LittleEndian(const unsigned char* p) {
  return std::uint32_t{p[3]} << 24 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[1]} << 8 | p[0];
}

// SQLite's Fibonacci-weighted sums over pairs of words, continued from frame to frame.
struct Checksum {
  bool big_endian = false;
  std::uint32_t s0 = 0;
  std::uint32_t s1 = 0;

  void Add(std::span<const unsigned char> bytes) {
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      const auto* p = bytes.data() + i;
      s0 += (big_endian ? BigEndian(p) : LittleEndian(p)) + s1;
      s1 += (big_endian ? BigEndian(p + 4) : LittleEndian(p + 4)) + s0;
    }
  }
  bool Matches(const unsigned char* stored) const {
    return BigEndian(stored) == s0 && BigEndian(stored + 4) == s1;
  }
};

bool IsZero(std::span<const unsigned char> bytes) {
  for (const unsigned char b : bytes) {
    if (b != 0) return false;
  }
  return true;
}

bool ReadExactly(std::ifstream& in, std::span<unsigned char> out) {
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return in.gcount() == static_cast<std::streamsize>(out.size());
}

// Counts commits after the first bad frame.
absl::Status CheckFrames(std::ifstream& in, const std::string& path, std::uint32_t page_bytes,
                         const unsigned char* salts, Checksum sum) {
  std::vector<unsigned char> frame(kFrameHeaderBytes + page_bytes);
  std::uint64_t bad_frame = 0;
  int commits_after = 0;
  for (std::uint64_t number = 1; ReadExactly(in, frame); ++number) {
    const bool same_generation = std::memcmp(frame.data() + 8, salts, 8) == 0;
    if (bad_frame == 0) {
      Checksum next = sum;
      next.Add(std::span(frame).first(8));
      next.Add(std::span(frame).subspan(kFrameHeaderBytes));
      if (same_generation && next.Matches(frame.data() + 16)) {
        sum = next;
        continue;
      }
      bad_frame = number;
    }
    const bool commit = BigEndian(frame.data() + 4) != 0;
    if (same_generation && commit && number != bad_frame) ++commits_after;
  }
  if (commits_after >= 2) {
    return DataLoss(path, " is damaged at frame ", bad_frame, ": ", commits_after,
                    " later transactions follow it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWal(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::OkStatus();
  std::array<unsigned char, kHeaderBytes> header{};
  if (!ReadExactly(in, header) || IsZero(header)) {
    return in.bad() ? Unavailable("cannot read ", path) : absl::OkStatus();
  }
  const std::uint32_t magic = BigEndian(header.data());
  Checksum sum{.big_endian = magic == kMagicBig};
  sum.Add(std::span(header).first(24));
  const std::uint32_t page_bytes = BigEndian(header.data() + 8);
  const bool known = magic == kMagicLittle || magic == kMagicBig;
  if (!known || !sum.Matches(header.data() + 24) || page_bytes < 512 || page_bytes > 65536) {
    return DataLoss(path, " is damaged in its header");
  }
  return CheckFrames(in, path, page_bytes, header.data() + 16, sum);
}

}  // namespace bandana::server
