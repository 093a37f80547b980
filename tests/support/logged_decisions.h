// Logged decisions, for tests.
#pragma once

#include <gtest/gtest.h>

#include "common/decisions/logged_decision.h"

namespace bandana::testing {

inline void ExpectEqual(const LoggedDecision& read, const LoggedDecision& wrote) {
  EXPECT_EQ(read.id, wrote.id);
  EXPECT_EQ(read.time, wrote.time);
  EXPECT_EQ(read.instance, wrote.instance);
  EXPECT_EQ(read.epoch, wrote.epoch);
  EXPECT_EQ(read.version, wrote.version);
  EXPECT_EQ(read.user, wrote.user);
  EXPECT_EQ(read.context, wrote.context);
  EXPECT_EQ(read.range.min, wrote.range.min);
  EXPECT_EQ(read.range.max, wrote.range.max);
  EXPECT_EQ(read.slots, wrote.slots);
  EXPECT_EQ(read.named_rank, wrote.named_rank);
}

// A choice among catalogue arms 4 and 9, with a reward of 0.5.
inline LoggedDecision PlainDecision() {
  LoggedDecision decision;
  decision.id = "d1";
  decision.time = absl::FromUnixMillis(1'795'748'645'250);
  decision.epoch = 2;
  decision.version = 7;
  LoggedSlot slot;
  slot.offered = 2;
  slot.ids = {4, 9};
  slot.p = {0.25, 0.75};
  slot.chosen_p = 0.75;
  slot.chosen = 1;
  slot.state = RewardState::kKnown;
  slot.reward = 0.5;
  decision.slots = {slot};
  return decision;
}

// A list of two slots with all that a line can have, texts that need quotes among it.
inline LoggedDecision FullDecision() {
  LoggedDecision decision;
  decision.id = "00ff";
  decision.time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  decision.instance = "ab";
  decision.epoch = 3;
  decision.version = 1ull << 63;
  decision.user = "u\"1\n\xC3\xA9";
  decision.context = R"({"hour":[1,{"a":null}],"city":"Paris, Texas","age":3})";
  decision.range = {-1, 2.5};
  LoggedSlot slot;
  slot.offered = 5;
  slot.names = {"news", "a\\b"};
  slot.x = {0.1, -2e-300, 3, 4};
  slot.p = {1.0 / 3, 0.1};
  slot.chosen_p = slot.p[1];
  slot.q = {0.1234567, -1};
  slot.chosen = 1;
  slot.state = RewardState::kKnown;
  slot.reward = 0.1 + 0.2;
  slot.released = ReleaseLaw{2, -1.5, 3.5, true};
  decision.slots = {slot, slot};
  decision.slots[1].names.clear();
  decision.slots[1].ids = {7, 4294967295u};
  decision.slots[1].released.reset();
  decision.slots[1].state = RewardState::kUnreported;
  decision.slots[1].reward = 0;
  decision.slots[1].baseline = true;
  decision.slots[1].chosen_p = 0.1;
  decision.slots[1].own_law = {0.25, 0.75};
  return decision;
}

}  // namespace bandana::testing
