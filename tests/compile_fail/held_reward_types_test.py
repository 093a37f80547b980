"""A reaction or a context that a device holds until its draw cannot be printed, read or sent.

    held_reward_types_test.py COMPILER SOURCE_DIR
"""

import sys
import unittest

import reward_types_test

PRELUDE = """
#include <iostream>
#include <string>
#include "absl/strings/str_cat.h"
#include "client/core/counter_stream.h"
#include "client/core/report_bytes.h"
#include "common/mechanisms/joint_statistic.h"
"""

UNIT = """
using namespace bandana;
using namespace bandana::device;
void Use(const HeldReward& held, SecretBytes& secret, CounterStream& stream, BitSource& bits,
         const std::vector<double>& x,
         const RawInteraction& raw, const ClippedStatistics& clipped,
         const PerturbedDirection& direction, const PerturbedStatistics& perturbed) {{
  std::array<std::byte, 16> id{{}};
  {line}
}}
"""

RIGHT = [
    "(void)stream.Step(x, HeldReward::Clip(0.5, RewardRange{0, 1}, 0), 0.5, bits);",
    "SecretBytes packed = held.Pack();",
    "(void)ContextReportBytes(id, 1, direction);",
    "(void)ContextReportBytes(id, 1, perturbed);",
]

WRONG = [
    # printed or logged
    "std::cout << held;",
    "absl::StrCat(held);",
    "std::to_string(held);",
    "std::cout << secret;",
    # read
    "double r = held;",
    "double r = held.value_;",
    # sent without a mechanism
    "(void)ContextReportBytes(id, 1, raw);",
    "(void)ContextReportBytes(id, 1, clipped);",
    "(void)ContextReportBytes(id, 1, x);",
    "(void)ContextReportBytes(id, 1, held);",
    # made out of order
    "HeldReward other(0.5);",
    "HeldReward other = 0.5;",
    "(void)stream.Step(x, 0.5, 0.5, bits);",
    # copied, so that erasing one leaves another
    "SecretBytes other = secret;",
    "CounterStream other = stream;",
]


class HeldRewardTypesTest(unittest.TestCase):
    def test_only_the_right_lines_compile(self):
        reward_types_test.expect_only(self, PRELUDE, UNIT, RIGHT, WRONG)


if __name__ == "__main__":
    reward_types_test.COMPILER, reward_types_test.SOURCE_DIR = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
