#include "common/ranking/effect_key.h"

#include <bit>
#include <cstring>

#include "common/base/sha256.h"

namespace bandana {
namespace {

// The digest's first 8 bytes, never one of the two keys with a meaning of their own.
EffectKey FirstBytes(const Sha256Digest& digest) {
  static_assert(std::endian::native == std::endian::little);
  EffectKey key = 0;
  std::memcpy(&key, digest.data(), sizeof key);
  return key > kEverybody ? key : kEverybody + 1;
}

EffectKey KeyOfName(std::string_view kind, std::string_view name, std::string_view value) {
  const std::string_view end("\0", 1);
  return FirstBytes(
      Sha256().Update(kind).Update(end).Update(name).Update(end).Update(value).Finish());
}

// A bijection in which every bit of the input moves every bit of the output (the finalizer of
// SplitMix64, Steele et al. 2014).
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The inverse of Mix.
std::uint64_t Unmix(std::uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089;
  return x ^ (x >> 30) ^ (x >> 60);
}

// Keys of arms are mixed from 2^32 + id.
constexpr std::uint64_t kArmBit = std::uint64_t{1} << 32;

EffectKey PartOf(std::span<const EffectKey> parts, int position) {
  return static_cast<std::size_t>(position) < parts.size() ? parts[position] : kAbsent;
}

}  // namespace

EffectKey UserKey(std::string_view id) { return KeyOfName("user", "", id); }

// Arms are numbers already: a bijection, so that no two arms share a key.
EffectKey ArmKey(std::uint32_t id) { return Mix(id + kArmBit); }

EffectKey NamedArmKey(std::string_view id) { return KeyOfName("arm", "", id); }

std::optional<std::uint32_t> ArmIdOf(EffectKey key) {
  const std::uint64_t id = Unmix(key) - kArmBit;
  if (id >= kArmBit) return std::nullopt;
  return static_cast<std::uint32_t>(id);
}

EffectKey GroupKey(std::string_view name, std::string_view value) {
  return KeyOfName("group", name, value);
}

EffectKey PairKey(EffectKey first, EffectKey second) {
  if (first == kAbsent || second == kAbsent) return kAbsent;
  const EffectKey key = Mix(first + Mix(second ^ 0x9e3779b97f4a7c15));
  return key > kEverybody ? key : kEverybody + 1;
}

EffectKey KeyOf(const EffectScope& scope, std::span<const EffectKey> user,
                std::span<const EffectKey> arm) {
  const bool of_user = scope.user != EffectScope::kNone;
  const bool of_arm = scope.arm != EffectScope::kNone;
  if (of_user && of_arm) return PairKey(PartOf(user, scope.user), PartOf(arm, scope.arm));
  if (of_user) return PartOf(user, scope.user);
  return of_arm ? PartOf(arm, scope.arm) : kEverybody;
}

}  // namespace bandana
