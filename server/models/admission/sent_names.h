// Names of arms that callers send, for people who read what was learnt of these arms.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/ranking/effect_key.h"

namespace bandana::server {

// In memory alone, since the start: keys of arms are digests, and no log holds these names. Each
// key has one place, and the name that was noted there last is kept, so memory is bounded:
// kPlaces names as callers may send them. Threads: safe.
class SentNames {
 public:
  static constexpr std::size_t kPlaces = 4096;

  // `keeps`: false where names tell of private contexts; then nothing is kept.
  explicit SentNames(bool keeps) : keeps_(keeps) {}

  void Note(EffectKey key, std::string_view name);
  // Empty: nobody has sent it, or another took its place.
  std::string NameOf(EffectKey key) const;

 private:
  struct Place {
    EffectKey key = kAbsent;
    std::string name;
  };

  const bool keeps_;
  mutable std::mutex mutex_;
  std::vector<Place> places_;  // kPlaces, or none before the first name
};

}  // namespace bandana::server
