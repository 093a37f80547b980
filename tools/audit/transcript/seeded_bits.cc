#include "tools/audit/transcript/seeded_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace bandana::audit {
namespace {

thread_local BitSource* current = nullptr;

}  // namespace

std::uint64_t WorldRandom::Word() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double WorldRandom::Unit() { return std::ldexp(static_cast<double>(Word() >> 11), -53); }

absl::Status SeededBits::Fill(std::span<std::byte> out) {
  if (failing_) return Unavailable("entropy: the audit's source fails now");
  // The stream's seed is mixed: neighbouring sizes must not give neighbouring streams.
  const std::uint64_t mixed = WorldRandom(seed_ ^ (out.size() * 0x9e3779b97f4a7c15)).Word();
  WorldRandom& stream = streams_.try_emplace(out.size(), mixed).first->second;
  for (std::span<std::byte> rest = out; !rest.empty();) {
    const std::uint64_t word = stream.Word();
    const std::size_t bytes = std::min(rest.size(), sizeof(word));
    std::memcpy(rest.data(), &word, bytes);
    rest = rest.subspan(bytes);
  }
  return absl::OkStatus();
}

ThreadBits::ThreadBits(BitSource* bits) : before_(std::exchange(current, bits)) {}
ThreadBits::~ThreadBits() { current = before_; }
BitSource* ThreadBits::Current() { return current; }

}  // namespace bandana::audit
