// Keys of effects: numbers that stand for users, arms and the values of their groups. They are
// digests, so nobody keeps a table of names, and a log or a checkpoint holds no user id.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bandana {

// Two names have one key with probability 2^-64, and nobody can look for such a pair with less than
// 2^32 work, or for a name with the key of a given one with less than 2^64.
using EffectKey = std::uint64_t;
// An effect, user, arm or group that a decision does not have.
inline constexpr EffectKey kAbsent = 0;
// The key of an effect that is of everybody.
inline constexpr EffectKey kEverybody = 1;

EffectKey UserKey(std::string_view id);
EffectKey ArmKey(std::uint32_t id);
// An arm that is known by a text alone: SHA-256, as for users. It is the key of no number but with
// probability 2^-32.
EffectKey NamedArmKey(std::string_view id);
// The arm with this key; none where it is no arm's.
std::optional<std::uint32_t> ArmIdOf(EffectKey key);
// A value of the group `name`: of users or of arms.
EffectKey GroupKey(std::string_view name, std::string_view value);
// kAbsent where one of the two is.
EffectKey PairKey(EffectKey first, EffectKey second);

// Whose an effect is: positions in the parts of user and arm, kNone for neither.
struct EffectScope {
  static constexpr int kNone = -1;
  int user = kNone;
  int arm = kNone;
  friend bool operator==(const EffectScope&, const EffectScope&) = default;
};

// `user`: the key of the user, then of the value of each declared group, kAbsent where there is
// none. `arm`: the same of the arm. A part that is not there is absent.
EffectKey KeyOf(const EffectScope& scope, std::span<const EffectKey> user,
                std::span<const EffectKey> arm);

}  // namespace bandana
