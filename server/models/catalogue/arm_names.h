// Tags, names, or the values of one group, of a catalogue's arms: each text is kept once and has a
// number.
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
#include "common/ranking/effect_key.h"

namespace bandana::server {

// Names are added and never go; catalogues that follow one another share them, and a catalogue that
// has too many of them without an arm is made anew (Catalogue::With). Threads: any may read a name
// by a number that it got from a published catalogue, without waiting; Find waits for an Add.
class ArmNames {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // `group`: names are its values and have keys; empty for tags and for names of arms.
  explicit ArmNames(std::string group) : group_(std::move(group)) {}
  ArmNames(const ArmNames&) = delete;
  ArmNames& operator=(const ArmNames&) = delete;

  std::uint32_t Add(std::string_view text);
  // kNone when unknown.
  std::uint32_t Find(std::string_view text) const;
  const std::string& text(std::uint32_t number) const { return At(number).text; }
  EffectKey key(std::uint32_t number) const { return At(number).key; }
  // kNone when no name has this key.
  std::uint32_t FindKey(EffectKey key) const;
  // Sets the belief about a group (ArmPage::SetBelief).
  void SetBelief(std::uint32_t number, float mean, float variance) const;
  float mean(std::uint32_t number) const { return At(number).mean.load(std::memory_order_relaxed); }
  // At least the variance of each name.
  float variance_max() const { return variance_max_.load(std::memory_order_relaxed); }
  // Names of arms: the arm that was given the name last.
  void SetHolder(std::uint32_t number, std::uint32_t arm) const {
    At(number).holder.store(arm, std::memory_order_relaxed);
  }
  std::uint32_t holder(std::uint32_t number) const {
    return At(number).holder.load(std::memory_order_relaxed);
  }
  std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Name {
    std::string text;
    EffectKey key = kAbsent;
    std::atomic<float> mean = 0;
    std::atomic<std::uint32_t> holder = 0;
  };
  // Block b has 2^(b + kFirstBits) names, so none ever moves.
  static constexpr std::size_t kFirstBits = 6;
  struct Place {
    std::size_t block = 0;
    std::size_t index = 0;
  };
  static Place PlaceOf(std::uint32_t number) {
    const std::size_t from_one = number + (std::size_t{1} << kFirstBits);
    const auto bits = static_cast<std::size_t>(63 - std::countl_zero(from_one));
    return {.block = bits - kFirstBits, .index = from_one - (std::size_t{1} << bits)};
  }
  Name& At(std::uint32_t number) const {
    const Place place = PlaceOf(number);
    return blocks_[place.block][place.index];
  }

  const std::string group_;
  mutable std::shared_mutex mutex_;                               // for numbers_, and for who adds
  absl::flat_hash_map<std::string_view, std::uint32_t> numbers_;  // views of the names
  absl::flat_hash_map<EffectKey, std::uint32_t> keys_;
  std::array<std::unique_ptr<Name[]>, 64> blocks_;
  std::atomic<std::uint32_t> size_ = 0;
  mutable std::atomic<float> variance_max_ = 0;
};

}  // namespace bandana::server
