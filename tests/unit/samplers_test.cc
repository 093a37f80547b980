// Exact samplers by enumeration, and the system's source of bits.
#include "common/random/samplers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <set>
#include <thread>
#include <vector>

#include "common/random/bit_source.h"
#include "common/random/buffered_bits.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/enumerate.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

absl::StatusOr<std::int64_t> AsOutcome(const absl::StatusOr<std::uint64_t>& draw) {
  if (!draw.ok()) return draw.status();
  return static_cast<std::int64_t>(*draw);
}

// Whatever the true law is, it lies within [mass, mass + undecided]; equal masses make it uniform.
TEST(UniformBelowTest, EveryOutcomeHasTheSameExactMass) {
  for (const std::uint64_t n : {2, 3, 5, 6, 7, 8}) {
    const Enumeration law =
        Enumerate(3, 6, [n](BitSource& bits) { return AsOutcome(UniformBelow(n, bits)); });
    ASSERT_EQ(law.masses.size(), n);
    std::uint64_t sum = law.undecided;
    for (const auto& [outcome, mass] : law.masses) {
      EXPECT_GE(outcome, 0);
      EXPECT_LT(outcome, n);
      EXPECT_EQ(mass, law.masses.at(0));
      sum += mass;
    }
    EXPECT_EQ(sum, std::uint64_t{1} << law.depth_bits);
    // A word is rejected with probability at most 3/8 here: (3/8)^6 of the strings stay open.
    EXPECT_LE(law.undecided, 729);
  }
}

TEST(UniformBelowTest, OneOutcomeNeedsNoBits) {
  FailingBits dry(0);
  EXPECT_THAT(UniformBelow(1, dry), IsOkAndHolds(0));
}

TEST(UniformBelowTest, ReachesTheWholeRangeOf64Bits) {
  SeededBits bits(1);
  const std::uint64_t n = ~std::uint64_t{0};
  std::uint64_t seen = 0;
  for (int i = 0; i < 200; ++i) seen |= *UniformBelow(n, bits);
  EXPECT_EQ(std::popcount(seen), 64);
}

TEST(UniformBelowTest, FailsClosedOnDryAndStuckSources) {
  FailingBits dry(7);
  EXPECT_THAT(UniformBelow(10, dry), StatusIs(absl::StatusCode::kUnavailable, "entropy"));

  class StuckBits final : public BitSource {
    absl::Status Fill(std::span<std::byte> out) override {
      for (std::byte& byte : out) byte = std::byte{0xff};
      return absl::OkStatus();
    }
  } stuck;
  EXPECT_THAT(UniformBelow(10, stuck), StatusIs(absl::StatusCode::kUnavailable, "stuck"));
}

TEST(BernoulliTest, HasExactlyTheRationalProbability) {
  for (const std::uint64_t numerator : {0, 1, 3, 6, 7}) {
    const Enumeration law = Enumerate(3, 6, [numerator](BitSource& bits) {
      const absl::StatusOr<bool> draw = Bernoulli(numerator, 7, bits);
      return draw.ok() ? absl::StatusOr<std::int64_t>(*draw) : draw.status();
    });
    const auto mass = [&law](std::int64_t outcome) {
      const auto it = law.masses.find(outcome);
      return it == law.masses.end() ? 0 : it->second;
    };
    EXPECT_EQ(mass(1) * (7 - numerator), mass(0) * numerator);
    EXPECT_EQ(mass(0) + mass(1) + law.undecided, std::uint64_t{1} << law.depth_bits);
  }
}

TEST(SystemBitsTest, FillsEverySizeWithFreshBytes) {
  for (const std::size_t size : {0, 1, 7, 8, 1000, 100'000}) {
    std::vector<std::byte> first(size), second(size);
    EXPECT_THAT(SystemBits().Fill(first), IsOk());
    EXPECT_THAT(SystemBits().Fill(second), IsOk());
    if (size >= 16) {
      EXPECT_NE(first, second);  // equal with probability 2^-128
    }
  }
}

TEST(SystemBitsTest, BitsAreBalanced) {
  constexpr int kWords = 100'000;
  std::uint64_t ones = 0;
  for (int i = 0; i < kWords; ++i) ones += std::popcount(*SystemBits().NextWord());
  EXPECT_TRUE(BinomialTest::Create(64 * kWords, 0.5, AlphaOf("system_bits_balance"))->Accepts(ones))
      << ones << " ones";
}

TEST(SystemBitsTest, ThreadsNeverShareAWord) {
  constexpr int kThreads = 8, kWords = 2000;
  std::array<std::vector<std::uint64_t>, kThreads> words;
  std::vector<std::thread> threads;
  for (std::vector<std::uint64_t>& own : words) {
    threads.emplace_back([&own] {
      for (int i = 0; i < kWords; ++i) own.push_back(*SystemBits().NextWord());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> distinct;
  for (const std::vector<std::uint64_t>& own : words) distinct.insert(own.begin(), own.end());
  EXPECT_EQ(distinct.size(), kThreads * kWords);  // a collision: 7e-12
}

TEST(BufferedBitsTest, GivesEveryWordOutOnceInBothSizes) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 2000; ++i) {  // over several blocks
    EXPECT_TRUE(seen.insert(*BufferedBits().NextWord()).second);
    EXPECT_TRUE(seen.insert(*BufferedBits().NextBits(64)).second);
  }
  EXPECT_LT(*BufferedBits().NextBits(1), 2);
  std::vector<std::byte> first(5000), second(5000);  // larger than a block
  EXPECT_THAT(BufferedBits().Fill(first), IsOk());
  EXPECT_THAT(BufferedBits().Fill(second), IsOk());
  EXPECT_NE(first, second);
}

void ExpectOtherWordsAfterAFork(BitSource& bits) {
  ASSERT_THAT(bits.NextWord(), IsOk());  // seeded, and a block half used, before the fork
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t word = bits.NextWord().value_or(0);
    _exit(write(ends[1], &word, sizeof(word)) == sizeof(word) ? 0 : 1);
  }
  const std::uint64_t own = *bits.NextWord();
  std::uint64_t childs = 0;
  ASSERT_EQ(read(ends[0], &childs, sizeof(childs)), sizeof(childs));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(own, childs);
  EXPECT_NE(childs, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(SystemBitsTest, AForkedChildDrawsOtherBits) { ExpectOtherWordsAfterAFork(SystemBits()); }
TEST(BufferedBitsTest, AForkedChildDrawsOtherBits) { ExpectOtherWordsAfterAFork(BufferedBits()); }

}  // namespace
}  // namespace bandana::testing
