// Rules of a decision: which arms of the model's catalogue the server offers, and what beside their
// scores decides (docs/design/rules.md). They are public: never compute one from a reaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace bandana {

// Arms that have the field, with a number within the bounds that are set.
struct FieldRange {
  std::string field;                           // one that an arm of the catalogue has
  std::optional<double> min = std::nullopt;    // at least
  std::optional<double> max = std::nullopt;    // at most
  std::optional<double> above = std::nullopt;  // more than
  std::optional<double> below = std::nullopt;  // less than
};

// Adds to the scores of the arms with the tag, of one arm by id or name, or of the arms with this
// value of an arm group. Exactly one of the four is set.
struct Boost {
  std::string tag = {};
  std::optional<std::uint32_t> id = std::nullopt;
  std::string name = {};
  std::string group = {};
  std::string value = {};  // of the group
  double add = 0;          // reward units, [-1e6, 1e6]
};

// This arm, by id or name, has this rank, or slot, whatever its score, as long as it is on offer.
struct Pin {
  std::optional<std::uint32_t> id = std::nullopt;
  std::string name = {};
  int rank = 0;  // 0 = first
};

// At most `count` arms of the answer have one value of the arm group, or have the tag.
struct GroupLimit {
  std::string group = {};
  std::string tag = {};
  int count = 1;  // [1, 100]
};

// Arms that this user was shown, or was rewarded for, within a time are not on offer. Models that
// keep them; REWARDED in models without privacy alone.
struct SeenRule {
  enum class Seen { kShown, kRewarded };
  Seen seen = Seen::kShown;
  std::optional<absl::Duration> within = std::nullopt;  // none: as long as the model keeps them
};

struct SelectionRules {
  std::vector<FieldRange> where = {};    // every one holds; at most 16
  std::vector<Boost> boosts = {};        // at most 64
  std::vector<Pin> pins = {};            // at most 16; ranks differ, and arms
  std::vector<GroupLimit> at_most = {};  // at most 8
  std::optional<SeenRule> exclude_seen = std::nullopt;
};

}  // namespace bandana
