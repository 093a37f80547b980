// Stored decisions for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/decisions/segment.h"
#include "common/decisions/stored_decision.h"

namespace bandana::testing {

inline StoredId IdOf(std::uint64_t number) {
  StoredId id{};
  for (int i = 0; i < 8; ++i) id[8 + i] = static_cast<std::byte>(number >> (8 * i));
  id[0] = std::byte{0xd1};
  return id;
}

inline UserPseudonym UserOf(std::uint64_t number) {
  UserPseudonym user = IdOf(number);
  user[0] = std::byte{0xaa};
  return user;
}

// `arms` catalogue arms, the one at position `number` % arms chosen with probability 1 / arms.
inline StoredDecision DecisionOf(std::uint64_t number, std::size_t arms = 25) {
  StoredDecision decision{
      .time = absl::FromUnixSeconds(1'700'000'000) + absl::Milliseconds(number),
      .epoch = 1,
      .version = 1000 + number,
      .offered = static_cast<std::uint32_t>(arms),
      .slots = {{.id = IdOf(number), .chosen = static_cast<std::uint32_t>(number % arms)}}};
  for (std::size_t i = 0; i < arms; ++i) {
    decision.ids.push_back(static_cast<std::uint32_t>(100 * i + 7));
    decision.q.push_back(0.01f * static_cast<float>(i));
    decision.slots[0].law.push_back(1.0 / static_cast<double>(arms));
  }
  return decision;
}

inline std::string BytesOf(const StoredDecision& decision) {
  std::string bytes;
  EncodeDecision(decision, bytes);
  return bytes;
}

inline RewardRow RewardOf(std::uint64_t number, std::uint64_t sequence, double value) {
  return {.decision = IdOf(number), .value = value, .sequence = sequence};
}

}  // namespace bandana::testing
