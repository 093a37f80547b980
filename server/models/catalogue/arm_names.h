// Tags, or the values of one group, of a catalogue's arms: each text is kept once and has a number.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "common/bandits/effects/effect_key.h"

namespace bandana::server {

// Names are added and never go; catalogues that follow one another share them, and a catalogue that
// has too many of them without an arm is made anew (Catalogue::With). Threads: any may read a name
// by a number that it got from a published catalogue, without waiting; Find waits for an Add.
class ArmNames {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // `group`: names are its values and have keys; empty for tags.
  explicit ArmNames(std::string group) : group_(std::move(group)) {}
  ArmNames(const ArmNames&) = delete;
  ArmNames& operator=(const ArmNames&) = delete;

  std::uint32_t Add(std::string_view text);
  // kNone when unknown.
  std::uint32_t Find(std::string_view text) const;
  const std::string& text(std::uint32_t number) const { return At(number).text; }
  EffectKey key(std::uint32_t number) const { return At(number).key; }
  std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Name {
    std::string text;
    EffectKey key = kAbsent;
  };
  // Block b has 2^(b + kFirstBits) names, so none ever moves.
  static constexpr int kFirstBits = 6;
  const Name& At(std::uint32_t number) const {
    const std::uint32_t from_one = number + (1u << kFirstBits);
    const int block = std::bit_width(from_one) - 1 - kFirstBits;
    return blocks_[block][from_one - (1u << (block + kFirstBits))];
  }

  const std::string group_;
  mutable std::shared_mutex mutex_;                               // for numbers_, and for who adds
  absl::flat_hash_map<std::string_view, std::uint32_t> numbers_;  // views of the names
  std::array<std::unique_ptr<Name[]>, 32 - kFirstBits> blocks_;
  std::atomic<std::uint32_t> size_ = 0;
};

}  // namespace bandana::server
