// The arms of a log of another program, as a catalogue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// Arms by name, in the order in which they were found, or, after Sort, by id. Not thread-safe.
class ArmList {
 public:
  // Most that a catalogue takes.
  static constexpr std::size_t kArmsMax = 1'000'000;

  // Errors: RESOURCE_EXHAUSTED more than kArmsMax; INVALID_ARGUMENT a name that is empty, longer
  // than 128 bytes or has a control character.
  absl::Status Add(std::string_view name);
  // Those of a decision that is there as a whole; positions alone count by number.
  absl::Status AddAll(const LoggedSlot& slot);

  // Where every name is a whole number below 2^32, arms are these ids, in ascending order; else an
  // arm's id is its position. Call it once, after the last one.
  void Sort();

  std::size_t size() const { return names_.size(); }
  bool numbered() const { return numbered_; }  // names are ids
  // The position of an arm; nothing: not one of them.
  const std::uint32_t* Find(std::string_view name) const;
  std::uint32_t id(std::size_t position) const;
  const std::string& name(std::size_t position) const { return names_[position]; }

  // arms.tsv with the feature 1 per arm; arms that are not numbered have their names.
  std::string ToTsv() const;

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, std::uint32_t> positions_;
  bool numbered_ = false;
};

}  // namespace bandana
