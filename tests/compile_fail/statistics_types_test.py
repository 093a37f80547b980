"""The privacy boundary for vectors: RawInteraction, ClippedStatistics, PerturbedStatistics, and the noise key.

    statistics_types_test.py COMPILER SOURCE_DIR
"""

import sys
import unittest

import reward_types_test

PRELUDE = """
#include <iostream>
#include <string>
#include "absl/strings/str_cat.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/joint_statistic.h"
#include "tools/published/laplace_mechanism.h"
#include "common/mechanisms/privunit.h"
#include "common/random/keyed_stream.h"
"""

UNIT = """
using namespace bandana;
void Use(const RawInteraction& raw, const ClippedStatistics& clipped, const PerturbedStatistics& perturbed,
         const JointStatistic& phi, const GaussianMechanism& gaussian, const LaplaceMechanism& laplace,
         const PrivUnit& privunit, const PerturbedDirection& direction, const NoiseKey& key) {{
  {line}
}}
"""

RIGHT = [
    "std::cout << perturbed.grid()[0];",
    "absl::StrCat(perturbed.log2_step());",
    "(void)gaussian.Perturb(phi.Clip(RawInteraction({0.5}, 1)), SystemBits());",
    "(void)laplace.Perturb(clipped, SystemBits());",
    "(void)privunit.Randomize(clipped, SystemBits());",
    "(void)privunit.Decode(direction.seed());",
    "(void)KeyedStream::ForNode(key, NoiseAddress{.input = NoiseInput::None()});",
]

WRONG = [
    # noise that no data is named for
    "(void)KeyedStream::ForNode(key, NoiseAddress{});",
    # printed or logged
    "std::cout << raw;",
    "std::cout << clipped;",
    "absl::StrCat(clipped);",
    "std::cout << key;",
    # compared
    "(void)(raw == raw);",
    "(void)(clipped == clipped);",
    "(void)(key == key);",
    # converted or read
    "auto g = clipped.grid();",
    "auto g = clipped.grid_;",
    "auto x = raw.features_;",
    "auto r = raw.reward_;",
    "auto k = key.bytes_;",
    "NoiseKey other = key;",
    # made out of order
    "ClippedStatistics other({1, 2}, 1.0, 1.0, 0);",
    "PerturbedStatistics other({1, 2}, 0);",
    "PerturbedStatistics other(clipped);",
    "(void)gaussian.Perturb(raw, SystemBits());",
    "(void)gaussian.Perturb(perturbed, SystemBits());",
    "(void)laplace.Perturb(raw, SystemBits());",
    "(void)privunit.Randomize(raw, SystemBits());",
    "(void)privunit.Randomize(direction, SystemBits());",
    # a report from a seed that someone else chose
    "PerturbedDirection other{PublicSeed{}};",
    "(void)privunit.Randomize(clipped, PublicSeed{});",
    "(void)phi.Clip(clipped);",
]


class StatisticsTypesTest(unittest.TestCase):
    def test_only_the_right_lines_compile(self):
        reward_types_test.expect_only(self, PRELUDE, UNIT, RIGHT, WRONG)


if __name__ == "__main__":
    reward_types_test.COMPILER, reward_types_test.SOURCE_DIR = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
