#include "common/mechanisms/counters/sealed_state.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/mechanisms/counters/erase.h"

namespace bandana {
namespace {

constexpr std::string_view kMagic = "BNDCTR01";
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kSumBytes = 16;

void Append(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void AppendNumber(unsigned __int128 number, std::size_t size, std::vector<std::byte>& out) {
  for (std::size_t i = 0; i < size; ++i) {
    out.push_back(static_cast<std::byte>((number >> (8 * i)) & 0xff));
  }
}

unsigned __int128 ReadNumber(std::span<const std::byte> bytes) {
  unsigned __int128 number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    number = (number << 8) | static_cast<unsigned>(bytes[i - 1]);
  }
  return number;
}

Sha256Digest DigestOf(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

SealedState::~SealedState() { Erase(bytes_); }

EncoderState::~EncoderState() { Erase(sums); }

SealedState SealState(const Sha256Digest& design, const EncoderState& state) {
  std::vector<std::byte> out;
  // All at once: growing would leave copies behind.
  out.reserve(kMagic.size() + 2 * design.size() + kWordBytes + kSumBytes * state.sums.size());
  Append(AsBytes(kMagic), out);
  Append(design, out);
  AppendNumber(state.step, kWordBytes, out);
  for (const __int128 sum : state.sums) {
    AppendNumber(static_cast<unsigned __int128>(sum), kSumBytes, out);
  }
  Append(DigestOf(out), out);
  return SealedState(std::move(out));
}

absl::StatusOr<EncoderState> OpenState(std::span<const std::byte> bytes, const Sha256Digest& design,
                                       std::size_t sums) {
  const std::size_t head = kMagic.size() + design.size();
  if (bytes.size() < head + kWordBytes + design.size() ||
      !Same(bytes.first(kMagic.size()), AsBytes(kMagic)) ||
      !Same(DigestOf(bytes.first(bytes.size() - design.size())), bytes.last(design.size()))) {
    return DataLoss("counter state: torn or changed");
  }
  if (!Same(bytes.subspan(kMagic.size(), design.size()), design)) {
    return FailedPrecondition("counter state: belongs to a counter of another design");
  }
  if (bytes.size() != head + kWordBytes + kSumBytes * sums + design.size()) {
    return DataLoss("counter state: must hold ", sums, " sums");
  }
  EncoderState state;
  state.step = static_cast<std::uint64_t>(ReadNumber(bytes.subspan(head, kWordBytes)));
  state.sums.reserve(sums);
  for (std::size_t i = 0; i < sums; ++i) {
    state.sums.push_back(static_cast<__int128>(
        ReadNumber(bytes.subspan(head + kWordBytes + i * kSumBytes, kSumBytes))));
  }
  return state;
}

}  // namespace bandana
