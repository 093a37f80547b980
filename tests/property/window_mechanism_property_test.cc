// Random small shapes, every draw and every pair of inputs enumerated.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "common/mechanisms/window_mechanism.h"
#include "common/random/samplers.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

struct Case {
  WindowMechanism::Shape shape;
  LikelihoodRatio ratio;
};

std::uint32_t Draw(std::uint32_t from, std::uint32_t to, BitSource& bits) {
  return from + static_cast<std::uint32_t>(*UniformBelow(to - from + 1, bits));
}

Case RandomCase(BitSource& bits) {
  Case c;
  c.shape.positions = Draw(1, 8, bits);
  c.shape.steps = c.shape.positions * Draw(1, 6, bits);
  c.shape.width = Draw(1, 10, bits);
  c.shape.grain = Draw(60, 300, bits);
  c.ratio = LargestRatio({0.3 + Draw(0, 400, bits) * 0.01});
  return c;
}

void CheckLaw(const WindowMechanism& mechanism) {
  const std::uint32_t steps = mechanism.shape().steps;
  std::vector<double> moments = mechanism.SecondMoments();
  for (std::uint32_t step = 0; step <= steps; ++step) {
    std::vector<std::uint64_t> counts(mechanism.cells(), 0);
    for (std::uint64_t draw = 0; draw < mechanism.total(); ++draw) {
      ++counts.at(mechanism.Cell(step, draw));
    }
    double mean = 0, moment = 0;
    for (std::uint32_t cell = 0; cell < mechanism.cells(); ++cell) {
      ASSERT_EQ(counts[cell], mechanism.Mass(step, cell)) << step << " " << cell;
      const double p = static_cast<double>(counts[cell]) / static_cast<double>(mechanism.total());
      mean += p * mechanism.Value(cell);
      moment += p * mechanism.Value(cell) * mechanism.Value(cell);
    }
    ASSERT_NEAR(mean, 2.0 * step / steps - 1, 1e-12);
    const double place = static_cast<double>(step) * mechanism.shape().positions / steps;
    const auto knot = static_cast<std::size_t>(place);
    const double up = place - static_cast<double>(knot);
    const double expected = (1 - up) * moments[knot] + (up > 0 ? up * moments[knot + 1] : 0);
    ASSERT_NEAR(moment / expected, 1, 1e-12);
  }
}

void CheckRatios(const WindowMechanism& mechanism, const LikelihoodRatio& ratio) {
  const std::uint32_t steps = mechanism.shape().steps;
  for (std::uint32_t cell = 0; cell < mechanism.cells(); ++cell) {
    for (std::uint32_t a = 0; a <= steps; ++a) {
      for (std::uint32_t b = 0; b <= steps; ++b) {
        ASSERT_TRUE(WithinRatio(mechanism.Mass(a, cell), mechanism.Mass(b, cell), ratio));
      }
    }
  }
}

TEST(WindowMechanismPropertyTest, LawMeanMomentAndRatioByFullEnumeration) {
  int created = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededBits bits(seed);
    const Case c = RandomCase(bits);
    const absl::StatusOr<WindowMechanism> mechanism = WindowMechanism::Create(c.shape, c.ratio);
    if (!mechanism.ok()) {
      // Only a ratio too close to 1 for so few units may be refused.
      ASSERT_THAT(mechanism, testing::StatusIs(absl::StatusCode::kInvalidArgument, "too small"));
      continue;
    }
    ++created;
    CheckLaw(*mechanism);
    CheckRatios(*mechanism, c.ratio);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(created, 100);
}

// The named mutant RoundUp: one unit more inside the window. The check that Create runs must refuse
// it, at every epsilon, or Create gives away privacy or utility.
TEST(WindowMechanismPropertyTest, OneUnitMoreWouldBreakTheRatio) {
  for (const std::uint32_t width : {1u, 3u, 64u, 286u, 512u}) {
    for (double epsilon = 0.01; epsilon < 20.8; epsilon *= 1.2) {
      const LikelihoodRatio ratio = LargestRatio({epsilon});
      const WindowMechanism::Shape shape = {
          .steps = 1u << 20, .positions = 512, .width = width, .grain = std::uint64_t{1} << 43};
      const absl::StatusOr<WindowMechanism> mechanism = WindowMechanism::Create(shape, ratio);
      ASSERT_THAT(mechanism, testing::IsOk());
      const std::uint32_t divisor = std::gcd(512u, width);
      EXPECT_TRUE(WithinRatio(mechanism->high(), mechanism->low(), ratio));
      EXPECT_FALSE(
          WithinRatio(mechanism->high() + 512 / divisor, mechanism->low() - width / divisor, ratio))
          << epsilon << " " << width;
    }
  }
}

TEST(WindowMechanismPropertyTest, RefusesShapesOutOfRange) {
  const LikelihoodRatio ratio = LargestRatio({1});
  using Shape = WindowMechanism::Shape;
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 0, .grain = 100}, ratio),
              testing::StatusIs(code, "steps"));
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 8, .positions = 3, .grain = 100}, ratio),
              testing::StatusIs(code, "positions"));
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 8, .width = 0, .grain = 100}, ratio),
              testing::StatusIs(code, "width"));
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 8, .grain = 0}, ratio),
              testing::StatusIs(code, "grain"));
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 1u << 20, .grain = (1ull << 43) + 1}, ratio),
              testing::StatusIs(code, "grain"));
  EXPECT_THAT(WindowMechanism::Create(Shape{.steps = 8, .grain = 100}, LargestRatio({0})),
              testing::StatusIs(code, "epsilon is too small"));
}

}  // namespace
}  // namespace bandana::testing
