#include "tests/support/enumerate.h"

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::testing {
namespace {

// Plays the words of a script; remembers when it was asked for more.
class ScriptedBits final : public BitSource {
 public:
  explicit ScriptedBits(std::span<const std::uint64_t> script) : script_(script) {}

  absl::Status Fill(std::span<std::byte> out) override {
    BANDANA_CHECK(out.size() == sizeof(std::uint64_t));
    if (next_ == script_.size()) {
      dry_ = true;
      return Unavailable("entropy: script is over");
    }
    std::memcpy(out.data(), &script_[next_++], sizeof(std::uint64_t));
    return absl::OkStatus();
  }
  bool dry() const { return dry_; }
  bool used_up() const { return next_ == script_.size(); }

 private:
  std::span<const std::uint64_t> script_;
  std::size_t next_ = 0;
  bool dry_ = false;
};

// Plays the bits of a string from its first to its last; remembers how many more were wanted.
class ScriptedBitString final : public BitSource {
 public:
  ScriptedBitString(std::uint64_t string, int length) : string_(string), left_(length) {}

  absl::Status Fill(std::span<std::byte>) override {
    return Internal("the sampler drew bytes: it is not enumerable by bits");
  }
  absl::StatusOr<std::uint64_t> NextBits(int count) override {
    if (count > left_) {
      wanted_ = count - left_;
      return Unavailable("entropy: script is over");
    }
    left_ -= count;
    return (string_ >> left_) & ((std::uint64_t{1} << count) - 1);
  }
  int wanted() const { return wanted_; }
  bool used_up() const { return left_ == 0; }

 private:
  std::uint64_t string_;
  int left_;
  int wanted_ = 0;
};

}  // namespace

Enumeration EnumerateBits(int depth,
                          const std::function<absl::StatusOr<std::int64_t>(BitSource&)>& sampler) {
  BANDANA_CHECK(1 <= depth && depth <= 30);
  Enumeration result;
  result.depth_bits = depth;
  const std::function<void(std::uint64_t, int)> visit = [&](std::uint64_t string, int length) {
    const std::uint64_t mass = std::uint64_t{1} << (depth - length);
    ScriptedBitString bits(string, length);
    const absl::StatusOr<std::int64_t> outcome = sampler(bits);
    if (outcome.ok()) {
      BANDANA_CHECK(bits.used_up());
      result.masses[*outcome] += mass;
      return;
    }
    BANDANA_CHECK(bits.wanted() > 0);
    if (length + bits.wanted() > depth) {
      result.undecided += mass;
      return;
    }
    for (std::uint64_t next = 0; next < (std::uint64_t{1} << bits.wanted()); ++next) {
      visit(string << bits.wanted() | next, length + bits.wanted());
    }
  };
  visit(0, 0);
  return result;
}

bool Allows(const Enumeration& law, std::int64_t outcome, double probability) {
  const auto found = law.masses.find(outcome);
  const std::uint64_t mass = found == law.masses.end() ? 0 : found->second;
  // 1e-12 covers the rounding of the double that is compared.
  const double strings = std::ldexp(1.0, law.depth_bits);
  return static_cast<double>(mass) <= strings * (probability + 1e-12) &&
         strings * (probability - 1e-12) <= static_cast<double>(mass + law.undecided);
}

Enumeration Enumerate(int bits_per_word, int words,
                      const std::function<absl::StatusOr<std::int64_t>(BitSource&)>& sampler) {
  BANDANA_CHECK(bits_per_word >= 1 && words >= 1 && bits_per_word * words <= 30);
  Enumeration result;
  result.depth_bits = bits_per_word * words;
  std::vector<std::uint64_t> script;
  // Depth-first over the prefixes that the sampler really asks for.
  const std::function<void()> visit = [&] {
    const std::uint64_t mass =
        std::uint64_t{1} << (result.depth_bits - bits_per_word * static_cast<int>(script.size()));
    ScriptedBits bits(script);
    const absl::StatusOr<std::int64_t> outcome = sampler(bits);
    if (outcome.ok()) {
      BANDANA_CHECK(bits.used_up() && !bits.dry());
      result.masses[*outcome] += mass;
      return;
    }
    BANDANA_CHECK(bits.dry());
    if (static_cast<int>(script.size()) == words) {
      result.undecided += mass;
      return;
    }
    for (std::uint64_t word = 0; word < (std::uint64_t{1} << bits_per_word); ++word) {
      script.push_back(word);
      visit();
      script.pop_back();
    }
  };
  visit();
  return result;
}

}  // namespace bandana::testing
