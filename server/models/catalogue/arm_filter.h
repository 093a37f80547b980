// Which arms of a catalogue are meant: as they are named, and as a catalogue finds them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/models/catalogue/arm_columns.h"

namespace bandana::server {

// Arms that have the field, with a number from `least` to `most`, both included.
struct FieldRange {
  std::string field;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

struct ArmFilter {
  std::vector<std::string> tags_any;   // with at least one of these; empty: all arms
  std::vector<std::string> tags_all;   // and each of these
  std::vector<std::string> tags_none;  // and none of these
  std::vector<std::uint32_t> excluded_ids;
  std::vector<std::string> excluded_names;
  std::vector<FieldRange> where = {};                     // every one holds
  std::optional<absl::Time> available_at = std::nullopt;  // none: whenever they are available
};

// A filter in the numbers of a catalogue's texts.
struct FilterNumbers {
  std::vector<std::uint32_t> any;
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> none;
  std::vector<std::uint32_t> excluded;  // arms, ascending
  std::vector<NumberRange> ranges;      // fields, and times of availability
  std::uint64_t any_bits = 0;           // ArmPage::TagBit
  std::uint64_t all_bits = 0;
  bool everything = false;  // all arms pass
  bool nothing = false;     // no arm does
};

}  // namespace bandana::server
