// The test kit is code that judges: it has tests too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/alpha_registry.h"
#include "tests/support/enumerate.h"
#include "tests/support/failing_bits.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using ::testing::Gt;

// Row n of the binomial law by Pascal's recursion: another way to the same numbers.
std::vector<long double> BinomialRow(int n, long double p) {
  std::vector<long double> row = {1};
  for (int i = 0; i < n; ++i) {
    row.push_back(0);
    for (int k = i + 1; k > 0; --k) row[k] = row[k] * (1 - p) + row[k - 1] * p;
    row[0] *= 1 - p;
  }
  return row;
}

TEST(BinomialTailTest, EqualsPascalsRecursion) {
  for (const double p : {0.003, 0.37, 0.5, 0.98}) {
    constexpr int kN = 300;
    const std::vector<long double> row = BinomialRow(kN, p);
    long double below = 0;
    for (int k = 0; k <= kN; ++k) {
      long double above = 0;
      for (int i = kN; i >= k; --i) above += row[i];
      below += row[k];
      // A double holds no tail below 1e-308.
      EXPECT_NEAR(BinomialUpperTail(k, kN, p), above, 1e-9 * above + 1e-300) << k << " " << p;
      EXPECT_NEAR(BinomialLowerTail(k, kN, p), below, 1e-9 * below + 1e-300) << k << " " << p;
    }
  }
}

TEST(BinomialTailTest, KnowsSmallCasesAndEdges) {
  EXPECT_DOUBLE_EQ(BinomialUpperTail(8, 10, 0.5), 56.0 / 1024);
  EXPECT_DOUBLE_EQ(BinomialLowerTail(1, 10, 0.5), 11.0 / 1024);
  EXPECT_EQ(BinomialUpperTail(0, 10, 0.5), 1);
  EXPECT_EQ(BinomialUpperTail(11, 10, 0.5), 0);
  EXPECT_EQ(BinomialUpperTail(1, 10, 0), 0);
  EXPECT_EQ(BinomialUpperTail(10, 10, 1), 1);
  EXPECT_EQ(BinomialLowerTail(9, 10, 1), 0);
  EXPECT_EQ(BinomialLowerTail(0, 10, 0), 1);
  // Far out, where a sum of probabilities near 1 would have lost everything: (1/2)^200.
  EXPECT_NEAR(BinomialUpperTail(200, 200, 0.5) / std::ldexp(1.0, -200), 1, 1e-9);
}

TEST(BinomialTestTest, RejectsNoMoreThanAlphaAndIsNotTimid) {
  for (const double p : {0.001, 0.2, 0.5, 0.9999}) {
    for (const double alpha : {1e-2, 1e-6, 1e-9}) {
      const BinomialTest test = *BinomialTest::Create(100'000, p, alpha);
      EXPECT_LE(test.RejectionProbability(p), alpha);
      // One count further in, the tail would be above alpha / 2.
      EXPECT_GT(BinomialUpperTail(test.high(), 100'000, p), alpha / 2);
      if (test.low() > 0) {
        EXPECT_GT(BinomialLowerTail(test.low(), 100'000, p), alpha / 2);
      }
      EXPECT_TRUE(test.Accepts(static_cast<std::uint64_t>(p * 100'000)));
      EXPECT_FALSE(test.Accepts(test.high() + 1));
    }
  }
}

TEST(BinomialTestTest, RefusesSamplesThatCannotReject) {
  EXPECT_THAT(BinomialTest::Create(0, 0.5, 1e-6),
              StatusIs(absl::StatusCode::kInvalidArgument, "n must be positive"));
  EXPECT_THAT(BinomialTest::Create(10, 0.5, 1e-6),
              StatusIs(absl::StatusCode::kInvalidArgument, "too small"));
  EXPECT_THAT(BinomialTest::Create(10, std::nan(""), 1e-6),
              StatusIs(absl::StatusCode::kInvalidArgument, "p must be"));
  EXPECT_THAT(BinomialTest::Create(10, 0.5, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "alpha must be"));
}

// The rejections of many simulated tests are themselves binomial with a known probability.
TEST(BinomialTestTest, SimulatedFalseAlarmsHaveTheStatedRate) {
  constexpr int kTests = 50'000, kFlips = 128;
  const BinomialTest test = *BinomialTest::Create(kFlips, 0.5, 0.05);
  SeededBits bits(11);
  std::uint64_t alarms = 0;
  for (int i = 0; i < kTests; ++i) {
    const int heads = std::popcount(*bits.NextWord()) + std::popcount(*bits.NextWord());
    alarms += !test.Accepts(heads);
  }
  const double rate = test.RejectionProbability(0.5);
  EXPECT_LE(rate, 0.05);
  EXPECT_TRUE(BinomialTest::Create(kTests, rate, AlphaOf("kit_false_alarm"))->Accepts(alarms))
      << alarms;
}

TEST(FitTestTest, SeesAShiftItHasPowerFor) {
  const std::vector<double> law = {0.25, 0.25, 0.25, 0.25};
  const std::vector<double> mutant = {0.26, 0.24, 0.25, 0.25};
  const FitTest fit = *FitTest::Create(1'000'000, law, 1e-6);
  EXPECT_GE(fit.PowerAtLeast(mutant), 0.99);
  EXPECT_LE(fit.PowerAtLeast(law), 1e-6);
  EXPECT_TRUE(fit.Accepts(std::vector<std::uint64_t>{250'100, 249'900, 250'050, 249'950}));
  EXPECT_FALSE(fit.Accepts(std::vector<std::uint64_t>{260'000, 240'000, 250'000, 250'000}));
}

TEST(FitTestTest, RejectsAnImpossibleCellAtOnce) {
  const FitTest fit = *FitTest::Create(1000, std::vector<double>{0.5, 0.5, 0}, 1e-6);
  EXPECT_TRUE(fit.Accepts(std::vector<std::uint64_t>{500, 500, 0}));
  EXPECT_FALSE(fit.Accepts(std::vector<std::uint64_t>{500, 499, 1}));
}

TEST(FitTestTest, RefusesTinySamplesAndWrongLaws) {
  const std::vector<double> law = {0.5, 0.5};
  EXPECT_THAT(FitTest::Create(5, law, 1e-6),
              StatusIs(absl::StatusCode::kInvalidArgument, "too small"));
  EXPECT_THAT(FitTest::Create(1000, std::vector<double>{0.5, 0.6}, 1e-6),
              StatusIs(absl::StatusCode::kInvalidArgument, "sum to 1"));
}

TEST(SeededBitsTest, TheSeedDecidesTheStream) {
  SeededBits a(1), same(1), other(2);
  const std::uint64_t first = *a.NextWord();
  EXPECT_EQ(first, *same.NextWord());
  EXPECT_NE(first, *other.NextWord());
  EXPECT_NE(first, *a.NextWord());
}

TEST(SeededBitsTest, TheStreamDoesNotDependOnHowItIsCut) {
  SeededBits whole(3), pieces(3);
  std::vector<std::byte> a(100), b(100);
  ASSERT_THAT(whole.Fill(a), IsOk());
  for (std::size_t i = 0; i < 100; i += 25) {
    ASSERT_THAT(pieces.Fill(std::span(b).subspan(i, 25)), IsOk());
  }
  EXPECT_EQ(a, b);
}

TEST(SeededBitsTest, BitsAreBalanced) {
  SeededBits bits(4);
  constexpr int kWords = 100'000;
  std::uint64_t ones = 0;
  for (int i = 0; i < kWords; ++i) ones += std::popcount(*bits.NextWord());
  EXPECT_TRUE(
      BinomialTest::Create(64 * kWords, 0.5, AlphaOf("seeded_bits_balance"))->Accepts(ones));
}

TEST(FailingBitsTest, GivesItsBytesAndThenFailsForGood) {
  FailingBits bits(16);
  EXPECT_THAT(bits.NextWord(), IsOk());
  EXPECT_THAT(bits.NextWord(), IsOk());
  EXPECT_THAT(bits.NextWord(), StatusIs(absl::StatusCode::kUnavailable));
  std::byte one;
  EXPECT_THAT(bits.Fill(std::span(&one, 1)), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(EnumerateTest, FindsTheLawOfASamplerThatMayNeverStop) {
  // Counts the tails before the first head: 2^-(k+1).
  const Enumeration law = Enumerate(1, 10, [](BitSource& bits) -> absl::StatusOr<std::int64_t> {
    for (std::int64_t tails = 0;; ++tails) {
      const absl::StatusOr<std::uint64_t> word = bits.NextWord();
      if (!word.ok()) return word.status();
      if (*word == 1) return tails;
    }
  });
  ASSERT_EQ(law.masses.size(), 10);
  for (const auto& [tails, mass] : law.masses) EXPECT_EQ(mass, 1u << (9 - tails));
  EXPECT_EQ(law.undecided, 1);
}

TEST(StatusMatchersTest, MatchCodesMessagesAndValues) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::NotFoundError("no model x"), Not(IsOk()));
  EXPECT_THAT(absl::NotFoundError("no model x"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(absl::NotFoundError("no model x"), StatusIs(absl::StatusCode::kNotFound, "model"));
  EXPECT_THAT(absl::NotFoundError("no model x"), Not(StatusIs(absl::StatusCode::kNotFound, "arm")));
  EXPECT_THAT(absl::NotFoundError("no model x"), Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(absl::StatusOr<int>(4), IsOkAndHolds(Gt(3)));
  EXPECT_THAT(absl::StatusOr<int>(2), Not(IsOkAndHolds(Gt(3))));
  EXPECT_THAT(absl::StatusOr<int>(absl::InternalError("")), Not(IsOkAndHolds(Gt(3))));
}

TEST(FakeClockTest, MovesOnlyWhenTold) {
  FakeClock clock;
  const absl::Time start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now() - start, absl::Seconds(3));
  clock.Set(start - absl::Hours(1));
  EXPECT_EQ(clock.Now(), start - absl::Hours(1));
}

TEST(TempDirTest, GoesAwayWithItsContent) {
  std::string path;
  {
    const TempDir folder;
    path = folder.path();
    std::ofstream(folder.File("x")) << "y";
    EXPECT_TRUE(std::filesystem::exists(folder.File("x")));
    EXPECT_NE(TempDir().path(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace bandana::testing
