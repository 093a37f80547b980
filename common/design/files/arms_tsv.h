// arms.tsv: the arms of a catalogue (docs/formats.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/files/arm_facts.h"

namespace bandana {

struct TsvArm {
  std::uint32_t id = 0;
  std::vector<std::string> tags;
  std::vector<double> features;                    // d, finite
  std::map<std::string, std::string> groups = {};  // value by name
  std::string name = {};
  ArmFacts facts = {};
};

// One line per arm: id, tab, tags separated by commas or `-` for none, tab, d features separated by
// spaces, and perhaps a tab and groups: `-` for none, or NAME=VALUE separated by commas; and then
// perhaps a tab and the arm's name, `-` for none, a tab and its fields, and a tab and the times of
// its availability (ParseFields, ParseAvailability). Lines that start with # are comments, and
// empty lines are skipped. The first line may be a header that starts with `id` and a tab. Errors:
// those of PlainText (common/base/text.h); INVALID_ARGUMENT with the line: wrong shape, an id that
// is no uint32 or is there twice, more than 16 tags or a tag of more than 64 bytes, features that
// are not `dimension` finite numbers, a group's name or value that is none (group_names.h), or a
// name twice, an arm's name of more than 128 bytes, facts that CheckFacts refuses, more than
// `arms_max` arms.
absl::StatusOr<std::vector<TsvArm>> ParseArmsTsv(std::string_view text, int dimension,
                                                 std::uint64_t arms_max);

}  // namespace bandana
