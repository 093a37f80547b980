// Freeing the blocks of a model of effects: alone and in pairs, in its turn among the events, over
// a checkpoint and while one is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/bandits/effects/frozen_effects.h"
#include "common/bandits/effects/pair_parts.h"
#include "common/ranking/scoring.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

// Everybody, a group of users, users, arms, pairs of group and arm, pairs of user and arm.
EffectsPosterior::Options Options() {
  EffectsPosterior::Options options{.dimension = 2, .user_parts = 2, .arm_parts = 2};
  const auto add = [&](const char* name, bool vector, EffectScope scope, bool bounded = false) {
    options.effects.push_back(
        {.name = name, .vector = vector, .prior_variance = 0.5, .bounded = bounded});
    options.scopes.push_back(scope);
  };
  add("all", true, {});
  add("country", true, {.user = 1});
  add("user", true, {.user = 0});
  add("arm", false, {.arm = 0});
  add("genre", false, {.arm = 1});
  add("country_arm", false, {.user = 1, .arm = 0}, true);
  add("user_arm", true, {.user = 0, .arm = 0}, true);
  return options;
}

struct Who {
  std::string user = "ann";
  std::string country = "fr";
  std::uint32_t arm = 7;
  std::string genre = "jazz";

  std::vector<EffectKey> User() const {
    return {UserKey(user), country.empty() ? kAbsent : GroupKey("country", country)};
  }
  std::vector<EffectKey> Arm() const {
    return {ArmKey(arm), genre.empty() ? kAbsent : GroupKey("genre", genre)};
  }
  std::vector<EffectKey> Parts() const {
    std::vector<EffectKey> parts = User();
    for (const EffectKey key : Arm()) parts.push_back(key);
    return parts;
  }
};

class EffectsFreeingTest : public ::testing::Test {
 protected:
  void Learn(const Who& who, double reward = 1) { Learn(*posterior_, who, reward); }
  static void Learn(EffectsPosterior& to, const Who& who, double reward = 1) {
    to.Add({.parts = who.Parts(), .features = {0.6, 0.8}, .reward = reward});
  }
  static std::vector<std::uint64_t> Blocks(const EffectsPosterior& of) {
    return of.figures().blocks;
  }
  static std::string Bytes(const EffectsPosterior& of) {
    std::string bytes;
    ByteWriter out(bytes);
    of.Encode(out);
    return bytes;
  }
  static absl::Status Decode(const std::string& bytes, EffectsPosterior& to) {
    ByteReader in(bytes);
    const absl::Status decoded = to.Decode(in);
    return !decoded.ok() || in.Done() ? decoded : absl::DataLossError("too long");
  }
  static std::shared_ptr<EffectsPosterior> New(const EffectsPosterior::Options& options) {
    return *EffectsPosterior::Create(options);
  }

  std::shared_ptr<EffectsPosterior> posterior_ = New(Options());
};

// Encoded by another thread while events and freed keys come: new keys, keys that go, blocks that
// grow from vectors to a triangle, scales that move.
TEST_F(EffectsFreeingTest, AFrozenStateIsThatOfItsMoment) {
  for (const EffectsAdapt adapt :
       {EffectsAdapt{}, EffectsAdapt{.scales = true}, EffectsAdapt{.weights = true}}) {
    EffectsPosterior::Options options = Options();
    options.learn_scales = adapt.scales;
    options.weights = adapt.weights;
    for (Effect& effect : options.effects) effect.half_life = adapt.weights ? 40 : 0;
    posterior_ = New(options);
    int user = 0;
    const auto some = [&](int events) {
      for (int i = 0; i < events; ++i, ++user) {
        Learn({.user = absl::StrCat(user * 7 % 150), .arm = static_cast<std::uint32_t>(user % 11)},
              0.1 * (user % 9));
        if (user % 50 == 0) posterior_->Free({.keys = {UserKey(absl::StrCat(user % 13))}});
        posterior_->Show();
      }
    };
    some(900);
    for (int round = 0; round < 3; ++round) {
      const std::string bytes = Bytes(*posterior_);
      auto frozen = FrozenEffects::Take(posterior_);
      ASSERT_NE(frozen, nullptr);
      EXPECT_EQ(FrozenEffects::Take(posterior_), nullptr);
      std::atomic<bool> learning{true};
      std::thread encoder([&] {
        for (bool more = true; more;) {
          more = learning;
          std::string encoded;
          EXPECT_THAT(frozen->EncodeBlock([&](std::string_view piece) {
            encoded += piece;
            return absl::OkStatus();
          }),
                      IsOk());
          ByteReader in(encoded);
          EXPECT_TRUE(in.Block() == bytes);
          EXPECT_TRUE(in.Done());
        }
      });
      some(700);
      learning = false;
      encoder.join();
      EXPECT_NE(Bytes(*posterior_), bytes);
      frozen.reset();
    }
    const auto again = New(options);
    ASSERT_THAT(Decode(Bytes(*posterior_), *again), IsOk());
    EXPECT_TRUE(Bytes(*again) == Bytes(*posterior_));
  }
}

TEST_F(EffectsFreeingTest, AKeyGoesAloneAndWithItsPairs) {
  Learn({.user = "ann", .arm = 7});
  Learn({.user = "ann", .arm = 8});
  Learn({.user = "bob", .country = "de", .arm = 7});
  posterior_->Show();
  ASSERT_THAT(Blocks(*posterior_), ElementsAre(1, 2, 2, 2, 1, 3, 3));
  posterior_->Free({.keys = {UserKey("ann")}});
  posterior_->Show();
  EXPECT_THAT(Blocks(*posterior_), ElementsAre(1, 2, 1, 2, 1, 3, 1));
  posterior_->Free({.keys = {ArmKey(7), GroupKey("country", "de")}});
  posterior_->Show();
  EXPECT_THAT(Blocks(*posterior_), ElementsAre(1, 1, 1, 1, 1, 1, 0));
  EXPECT_EQ(posterior_->figures().freed, 3);
  EXPECT_EQ(posterior_->pairs(), 1);
}

TEST_F(EffectsFreeingTest, OneThatReturnsStartsAtThePrior) {
  const Who ann{.user = "ann", .country = "", .arm = 7, .genre = ""};
  const Who eve{.user = "eve", .country = "", .arm = 9, .genre = ""};  // never seen
  const double features[2] = {0.6, 0.8};
  const double* const row = features;
  const auto score = [&](const Who& who) {
    NodePosterior scratch;
    ArmScores scores;
    const std::vector<EffectKey> user = who.User(), arm = who.Arm();
    posterior_->Score(user, {.features = {&row, 1}, .keys = arm}, scratch, scores);
    return std::pair(scores.means[0], scores.widths[0]);
  };
  for (int i = 0; i < 50; ++i) Learn(ann);
  posterior_->Show();
  EXPECT_NE(score(ann), score(eve));
  posterior_->Free({.keys = {UserKey("ann"), ArmKey(7)}});
  posterior_->Show();
  EXPECT_EQ(score(ann), score(eve));
}

TEST_F(EffectsFreeingTest, FreeingTakesItsTurn) {
  const auto other = New(Options());
  Learn({}, 1);
  posterior_->Free({.keys = {UserKey("ann")}});
  Learn({}, 0);
  EXPECT_TRUE(posterior_->waiting());
  posterior_->Show();
  Learn(*other, {}, 1);
  other->Show();
  other->Free({.keys = {UserKey("ann")}});
  other->Show();
  Learn(*other, {}, 0);
  other->Show();
  EXPECT_EQ(Bytes(*posterior_), Bytes(*other));
  EXPECT_THAT(Blocks(*posterior_), ElementsAre(1, 1, 1, 1, 1, 1, 1));
}

TEST_F(EffectsFreeingTest, NothingIsLeftOfWhatWasFreed) {
  Learn({.country = "", .genre = ""}, 1);
  posterior_->Show();
  posterior_->Free({.keys = {UserKey("ann"), ArmKey(7)}});
  posterior_->Show();
  EXPECT_THAT(Blocks(*posterior_), ElementsAre(1, 0, 0, 0, 0, 0, 0));
  // Room for pairs is there again.
  auto options = Options();
  options.pairs_max = 2;
  posterior_ = New(options);
  Learn({.user = "ann"});
  Learn({.user = "bob", .country = "de", .arm = 8});
  posterior_->Show();
  EXPECT_EQ(posterior_->pairs(), 2);
  EXPECT_EQ(Blocks(*posterior_)[5], 1);
  posterior_->Free({.keys = {ArmKey(7)}});
  Learn({.user = "bob", .country = "de", .arm = 8});
  posterior_->Show();
  EXPECT_EQ(posterior_->pairs(), 2);  // of bob alone
  EXPECT_TRUE(posterior_->Known(std::vector{ArmKey(7)}).empty());
}

TEST_F(EffectsFreeingTest, SaysOfWhomSomethingIsKnown) {
  Learn({});
  posterior_->Show();
  const std::vector<EffectKey> asked = {
      UserKey("ann"), UserKey("bob"), GroupKey("country", "fr"), GroupKey("country", "de"),
      ArmKey(7),      ArmKey(8)};
  EXPECT_THAT(posterior_->Known(asked),
              UnorderedElementsAre(UserKey("ann"), GroupKey("country", "fr"), ArmKey(7)));
  // In a pair alone.
  auto options = Options();
  options.effects = {options.effects[6]};
  options.scopes = {options.scopes[6]};
  const auto pairs = New(options);
  Learn(*pairs, {});
  pairs->Show();
  EXPECT_THAT(pairs->Known(asked), UnorderedElementsAre(UserKey("ann"), ArmKey(7)));
}

TEST_F(EffectsFreeingTest, TheCatalogueIsTold) {
  std::vector<std::vector<EffectKey>> told;
  posterior_->Watch(
      [&](std::span<const EffectKey> arm) { told.emplace_back(arm.begin(), arm.end()); });
  Learn({});
  posterior_->Free({.keys = {ArmKey(7), UserKey("ann")}});
  posterior_->Show();
  EXPECT_THAT(told, ElementsAre(Who().Arm(), ElementsAre(ArmKey(7), ArmKey(7)),
                                ElementsAre(UserKey("ann"), UserKey("ann"))));
}

TEST_F(EffectsFreeingTest, ADecodedModelFreesTheSamePairs) {
  for (std::uint32_t i = 0; i < 40; ++i) {
    Learn({.user = absl::StrCat("u", i % 5), .country = i % 2 == 0 ? "fr" : "de", .arm = i % 7},
          0.1 * (i % 11));
  }
  posterior_->Show();
  const auto decoded = New(Options());
  ASSERT_THAT(Decode(Bytes(*posterior_), *decoded), IsOk());
  EXPECT_EQ(Bytes(*decoded), Bytes(*posterior_));
  for (EffectsPosterior* one : {posterior_.get(), decoded.get()}) {
    one->Free({.keys = {UserKey("u3"), ArmKey(2), GroupKey("country", "de")}});
    Learn(*one, {.user = "u3", .arm = 2});
    one->Show();
  }
  EXPECT_EQ(Bytes(*decoded), Bytes(*posterior_));
  EXPECT_EQ(Blocks(*decoded), Blocks(*posterior_));
}

TEST_F(EffectsFreeingTest, AStateOfAFormerVersionLearnsItsPairsAgain) {
  Learn({});
  posterior_->Show();
  std::string bytes = Bytes(*posterior_);
  bytes.resize(bytes.size() - 2 * (8 + 16));  // two lists of one pair
  const auto decoded = New(Options());
  ASSERT_THAT(Decode(bytes, *decoded), IsOk());
  EXPECT_EQ(decoded->pairs(), 2);
  Learn(*decoded, {}, 0);
  decoded->Free({.keys = {ArmKey(7)}});
  decoded->Show();
  EXPECT_EQ(decoded->pairs(), 0);
}

TEST_F(EffectsFreeingTest, PairsThatAreNotOfTheBlocksAreDataLoss) {
  Learn({});
  posterior_->Show();
  const std::string bytes = Bytes(*posterior_);
  for (std::size_t size = bytes.size() - 47; size < bytes.size(); ++size) {
    EXPECT_THAT(Decode(bytes.substr(0, size), *New(Options())),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
  for (std::size_t i = bytes.size() - 48; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_FALSE(Decode(flipped, *New(Options())).ok()) << i;
  }
}

// Events and frees in random order: a checkpoint anywhere and the rest of the log give the bytes
// that the whole log gives, and no block is left of what nobody has learnt since.
TEST_F(EffectsFreeingTest, ACheckpointAndTheRestGiveTheWholesBytes) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    TestRng rng(seed);
    const auto below = [&](int n) { return static_cast<std::uint32_t>(rng.Index(n)); };
    auto options = Options();
    options.pairs_max = 5 + below(40);
    options.learn_scales = seed % 3 == 0;
    options.weights = seed % 3 == 1;
    for (Effect& effect : options.effects) effect.half_life = seed % 2 * (5 + below(20));
    const auto whole = New(options);
    auto resumed = New(options);
    const std::uint32_t steps = options.learn_scales ? 2200 : (options.weights ? 900 : 300);
    for (std::uint32_t step = 0; step < steps; ++step) {
      const Who who{.user = absl::StrCat(below(8)),
                    .country = std::vector<std::string>{"", "fr", "de"}[below(3)],
                    .arm = below(6),
                    .genre = std::vector<std::string>{"", "jazz"}[below(2)]};
      const double reward = 0.1 * below(11);
      std::vector<EffectKey> gone;
      if (below(5) == 0) {
        gone = {UserKey(absl::StrCat(below(8))), ArmKey(below(6))};
        if (below(2) == 0) gone.push_back(GroupKey("country", "fr"));
      }
      for (EffectsPosterior* one : {whole.get(), resumed.get()}) {
        gone.empty() ? Learn(*one, who, reward) : one->Free({.keys = gone});
      }
      if (below(4) == 0) whole->Show();
      if (below(20) == 0) {
        resumed->Show();
        const auto next = New(options);
        ASSERT_THAT(Decode(Bytes(*resumed), *next), IsOk());
        resumed = next;
      }
      if (gone.empty() || below(2) == 0) continue;
      resumed->Show();
      ASSERT_TRUE(resumed->Known(gone).empty());
    }
    whole->Show();
    resumed->Show();
    ASSERT_EQ(Bytes(*resumed), Bytes(*whole));
  }
}

}  // namespace
}  // namespace bandana::testing
