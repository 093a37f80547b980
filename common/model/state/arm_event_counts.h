// How many events each arm has had, as far as it matters whether they are few. A function of the
// log's entries and of the bound.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// Arms with fewer events than `enough` are cold. Memory: some 12 bytes per arm with events.
// Threads: safe.
class ArmEventCounts {
 public:
  // `enough` in [1, 65535].
  explicit ArmEventCounts(std::uint32_t enough) : enough_(enough) {}

  void Add(std::uint32_t arm);
  // Forgets what it has of these arms; other keys do nothing.
  void Forget(std::span<const EffectKey> keys);
  // cold[i]: whether keys[i stride] is the key of an arm that is cold. Other keys are of none.
  void FindCold(std::span<const EffectKey> keys, std::size_t stride,
                std::vector<std::uint8_t>& cold) const;

  // Number of arms u64, and of each, ascending: id u32 and events u32, at most `enough`. False: the
  // bytes are not that.
  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);

 private:
  const std::uint32_t enough_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> events_;
};

}  // namespace bandana
