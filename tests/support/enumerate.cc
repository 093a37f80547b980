#include "tests/support/enumerate.h"

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

}  // namespace

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
