#include "server/service/tokens/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/service/tokens/token_payload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

Decision WithWindows(Decision decision) {
  for (SealedArm& arm : decision.arms) arm.window = {-0.25, 0.5};
  return decision;
}

Decision MakeDecision(int arms, int dimension) {
  Decision decision;
  for (int i = 0; i < 16; ++i) {
    decision.instance[i] = std::byte(i);
    decision.id[i] = std::byte(0xf0 + i);
  }
  decision.epoch = 7;
  decision.time = absl::FromUnixMicros(1'700'000'000'123'456);
  decision.node = 42;
  decision.user = "";
  for (int a = 0; a < arms; ++a) {
    SealedArm arm{.propensity = a == 0 ? 1.0 : 0.0};
    for (int i = 0; i < dimension; ++i) arm.features.push_back(0.25 * (a + 1) - 0.125 * i);
    decision.arms.push_back(arm);
  }
  return decision;
}

void ExpectEqual(const Decision& a, const Decision& b) {
  EXPECT_EQ(a.instance, b.instance);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.user, b.user);
  ASSERT_EQ(a.arms.size(), b.arms.size());
  for (std::size_t i = 0; i < a.arms.size(); ++i) {
    EXPECT_EQ(a.arms[i].propensity, b.arms[i].propensity);
    EXPECT_EQ(a.arms[i].features, b.arms[i].features);
    ASSERT_EQ(a.arms[i].window.has_value(), b.arms[i].window.has_value());
    if (!a.arms[i].window) continue;
    EXPECT_EQ(a.arms[i].window->min, b.arms[i].window->min);
    EXPECT_EQ(a.arms[i].window->max, b.arms[i].window->max);
  }
}

class TokenTest : public ::testing::Test {
 protected:
  std::unique_ptr<TokenKeys> OpenKeys(std::string_view file) {
    auto keys = TokenKeys::Open({.file = folder_.File(file), .poll_interval = absl::ZeroDuration()},
                                clock_);
    EXPECT_THAT(keys, IsOk());
    return *std::move(keys);
  }
  std::string Sealed(const Decision& decision) {
    std::string token;
    EXPECT_THAT(codec_.Seal(decision, token), IsOk());
    return token;
  }

  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<TokenKeys> keys_ = OpenKeys("keys");
  TokenCodec codec_{*keys_};
};

TEST_F(TokenTest, OpensWhatItSealed) {
  for (const auto& [arms, dimension] : std::vector<std::pair<int, int>>{
           {1, 1}, {1, 25}, {3, 25}, {16, 256}, {10, 400}, {1, 4096}}) {
    const Decision decision = MakeDecision(arms, dimension);
    auto opened = codec_.Open(Sealed(decision));
    ASSERT_THAT(opened, IsOk());
    ExpectEqual(*opened, decision);
  }
}

TEST_F(TokenTest, KeepsUserIdsOfAnyBytes) {
  Decision decision = MakeDecision(1, 2);
  decision.node = -1;
  decision.user = std::string("\0\xff user", 7);
  auto opened = codec_.Open(Sealed(decision));
  ASSERT_THAT(opened, IsOk());
  ExpectEqual(*opened, decision);
}

TEST_F(TokenTest, KeepsTheWindowsOfACentredModel) {
  const Decision decision = WithWindows(MakeDecision(3, 2));
  auto opened = codec_.Open(Sealed(decision));
  ASSERT_THAT(opened, IsOk());
  ExpectEqual(*opened, decision);
}

TEST_F(TokenTest, KeepsTheAliasThatWasAsked) {
  Decision decision = WithWindows(MakeDecision(16, 2));
  decision.shown = 3;
  const AskedAlias asked = {std::string(63, 'a'), "m"};
  std::string token;
  ASSERT_THAT(codec_.Seal(decision, &asked, 0, token), IsOk());
  const auto opened = codec_.Open(token);
  ASSERT_THAT(opened, IsOk());
  ExpectEqual(*opened, decision);
  EXPECT_EQ(opened->shown, 3);
  EXPECT_EQ(opened->asked, asked);
  EXPECT_EQ(codec_.Open(Sealed(decision))->asked, std::nullopt);
  std::string payload;
  EncodeDecision(decision, &asked, 0, payload);
  for (std::size_t n = 0; n < payload.size(); ++n) {
    EXPECT_FALSE(DecodeDecision(payload.substr(0, n)).has_value()) << n;
  }
  EXPECT_FALSE(DecodeDecision(payload + "x").has_value());
}

TEST_F(TokenTest, LongestTokenIsWithinTheStatedBound) {
  Decision decision = WithWindows(MakeDecision(16, 256));
  decision.user.assign(128, 'u');
  const AskedAlias asked = {std::string(63, 'a'), std::string(63, 'm')};
  std::string token;
  ASSERT_THAT(codec_.Seal(decision, &asked, 0, token), IsOk());
  EXPECT_LE(token.size(), kTokenBytesMax);
  EXPECT_THAT(codec_.Open(token), IsOk());
}

// A size must not tell how many arms were ranked, nor what is said of them.
TEST_F(TokenTest, ATokenWithRoomForRanksHasOneSize) {
  constexpr std::size_t kRanks = 16;
  std::set<std::size_t> sizes;
  for (const bool windows : {false, true}) {
    sizes.clear();
    for (int arms = 1; arms <= 16; ++arms) {
      Decision decision = MakeDecision(arms, 25);
      if (windows) decision = WithWindows(decision);
      for (const std::uint32_t shown : {0, arms - 1}) {
        decision.shown = shown;
        for (const bool deferred : {false, true}) {
          decision.deferred = deferred;
          std::string token;
          ASSERT_THAT(codec_.Seal(decision, nullptr, kRanks, token), IsOk());
          sizes.insert(token.size());
          const auto opened = codec_.Open(token);
          ASSERT_THAT(opened, IsOk());
          ExpectEqual(*opened, decision);
          EXPECT_EQ(opened->shown, shown);
          EXPECT_EQ(opened->deferred, deferred);
        }
      }
    }
    EXPECT_EQ(sizes.size(), 1);
  }
}

TEST_F(TokenTest, RoomIsZerosBehindTheAlias) {
  const AskedAlias asked = {"a", "m"};
  std::string plain;
  EncodeDecision(MakeDecision(2, 3), &asked, 0, plain);
  std::string roomy;
  EncodeDecision(MakeDecision(2, 3), &asked, 4, roomy);
  EXPECT_EQ(roomy, plain + std::string(2 * 8 * 4 + 2, '\0'));
  EXPECT_EQ(DecodeDecision(roomy)->asked, asked);
  for (std::size_t n = 0; n < plain.size(); ++n) {
    EXPECT_FALSE(DecodeDecision(roomy.substr(0, n)).has_value()) << n;
  }
  for (std::size_t i = plain.size(); i < roomy.size(); ++i) {
    std::string changed = roomy;
    changed[i] = 'x';
    EXPECT_FALSE(DecodeDecision(changed).has_value()) << i;
  }
}

TEST_F(TokenTest, ATokenWithRoomIsWithinTheStatedBound) {
  Decision decision = WithWindows(MakeDecision(1, 256));
  decision.arms.front().keys.assign(kKeyPartsMax, 7);
  decision.user.assign(kUserIdBytesMax, 'u');
  const AskedAlias asked = {std::string(63, 'a'), std::string(63, 'm')};
  std::string token;
  ASSERT_THAT(codec_.Seal(decision, &asked, kSealedRanksMax, token), IsOk());
  EXPECT_LE(token.size(), kTokenBytesMax);
  EXPECT_THAT(codec_.Open(token), IsOk());
}

// As many features as 16 arms of 256 have.
TEST_F(TokenTest, TokensOfManyFeaturesHaveFewArms) {
  EXPECT_LE(Sealed(WithWindows(MakeDecision(1, 4096))).size(), kTokenBytesMax);
  std::string payload;
  EncodeDecision(MakeDecision(2, 2048), payload);
  ASSERT_TRUE(DecodeDecision(payload).has_value());
  const std::size_t shape = payload.size() - 2 * 8 * 2049 - 3;  // arms 1, dimension 2
  payload[shape] = 3;
  payload.append(8 * 2049, '\0');
  EXPECT_FALSE(DecodeDecision(payload).has_value());
  std::string wide;
  EncodeDecision(MakeDecision(1, 4096), wide);
  const std::uint16_t dimension = 4097;
  std::memcpy(wide.data() + wide.size() - 8 * 4097 - 2, &dimension, sizeof dimension);
  wide.append(8, '\0');
  EXPECT_FALSE(DecodeDecision(wide).has_value());
}

TEST_F(TokenTest, RefusesEveryChangeOfAByte) {
  const std::string token = Sealed(MakeDecision(1, 4));
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = token;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      EXPECT_THAT(codec_.Open(changed), StatusIs(absl::StatusCode::kInvalidArgument, "token:"))
          << "byte " << i;
    }
  }
}

TEST_F(TokenTest, RefusesEveryTruncationAndExtension) {
  const std::string token = Sealed(MakeDecision(1, 4));
  for (std::size_t n = 0; n < token.size(); ++n) {
    EXPECT_THAT(codec_.Open(token.substr(0, n)), StatusIs(absl::StatusCode::kInvalidArgument)) << n;
  }
  EXPECT_THAT(codec_.Open(token + '\0'), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(codec_.Open(std::string(kTokenBytesMax + 1, '\1')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TokenTest, RefusesTokensOfAnotherRing) {
  const auto other = OpenKeys("other_keys");
  EXPECT_THAT(TokenCodec(*other).Open(Sealed(MakeDecision(1, 4))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TokenTest, SealsTheSameDecisionDifferentlyEachTime) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(Sealed(MakeDecision(1, 4)).substr(5, 12));
  EXPECT_EQ(tokens.size(), 1000);  // nonces
}

TEST_F(TokenTest, HidesThePlaintext) {
  Decision decision = MakeDecision(1, 4);
  decision.node = -1;
  decision.user = "a-user-id-to-look-for";
  EXPECT_EQ(Sealed(decision).find(decision.user), std::string::npos);
}

TEST_F(TokenTest, WorksOnManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Decision decision = MakeDecision(1 + i % 3, 5);
        auto opened = codec_.Open(Sealed(decision));
        ASSERT_THAT(opened, IsOk());
        ExpectEqual(*opened, decision);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

std::string Encoded(const Decision& decision) {
  std::string bytes;
  EncodeDecision(decision, bytes);
  return bytes;
}

TEST(TokenPayloadTest, EveryTruncationIsRefused) {
  for (const Decision& decision : {MakeDecision(2, 3), WithWindows(MakeDecision(2, 3))}) {
    const std::string bytes = Encoded(decision);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_FALSE(DecodeDecision(bytes.substr(0, n)).has_value()) << n;
    EXPECT_FALSE(DecodeDecision(bytes + "x").has_value());
    EXPECT_TRUE(DecodeDecision(bytes).has_value());
  }
}

// An authentic token may still come from a later version with other rules.
TEST(TokenPayloadTest, RefusesValuesOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const double propensity : {-0.1, 1.1, nan, inf}) {
    Decision decision = MakeDecision(2, 3);
    decision.arms[1].propensity = propensity;
    EXPECT_FALSE(DecodeDecision(Encoded(decision)).has_value()) << propensity;
  }
  for (const double feature : {nan, inf, -inf}) {
    Decision decision = MakeDecision(2, 3);
    decision.arms[1].features[2] = feature;
    EXPECT_FALSE(DecodeDecision(Encoded(decision)).has_value()) << feature;
  }
  for (const RewardRange window : {RewardRange{0.5, 0.5}, {0.5, -0.5}, {nan, 1}, {0, inf}}) {
    Decision decision = WithWindows(MakeDecision(2, 3));
    decision.arms[1].window = window;
    EXPECT_FALSE(DecodeDecision(Encoded(decision)).has_value()) << window.min;
  }
  Decision decision = MakeDecision(2, 3);
  decision.node = -2;
  EXPECT_FALSE(DecodeDecision(Encoded(decision)).has_value());
}

class EveryChangedByte : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Windows, EveryChangedByte, ::testing::Bool());

TEST_P(EveryChangedByte, DecodesToAValidDecisionOrNothing) {
  const Decision plain = MakeDecision(2, 3);
  const std::string bytes = Encoded(GetParam() ? WithWindows(plain) : plain);
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const auto decision = DecodeDecision(changed);
      if (!decision.has_value()) {
        ++refused;
        continue;
      }
      EXPECT_EQ(Encoded(*decision), changed);  // one encoding per decision
    }
  }
  EXPECT_GT(refused,
            700);  // the three length bytes alone have 256 values each, one of which is right
}

}  // namespace
}  // namespace bandana::server
