#include "server/models/admission/sent_names.h"

namespace bandana::server {

void SentNames::Note(EffectKey key, std::string_view name) {
  if (!keeps_ || key == kAbsent) return;
  const std::lock_guard lock(mutex_);
  if (places_.empty()) places_.resize(kPlaces);
  Place& place = places_[key % kPlaces];
  if (place.key == key) return;
  place.key = key;
  place.name = name;
}

std::string SentNames::NameOf(EffectKey key) const {
  const std::lock_guard lock(mutex_);
  if (places_.empty()) return "";
  const Place& place = places_[key % kPlaces];
  return place.key == key ? place.name : "";
}

}  // namespace bandana::server
