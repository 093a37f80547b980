"""The sums of a sparse model's open episode cannot be printed, read or answered; only what was released can.

    sparse_types_test.py COMPILER SOURCE_DIR
"""

import sys
import unittest

import reward_types_test

PRELUDE = """
#include <iostream>
#include <string>
#include "absl/strings/str_cat.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/model/state/sparse_stream.h"
"""

UNIT = """
using namespace bandana;
void Use(const SparseSums& sums, const SparseRelease& release, const FliphatState& state,
         SparseStream& stream, const Fliphat& model, const NoiseOrigin& origin,
         const std::vector<double>& x) {{
  {line}
}}
"""

RIGHT = [
    "std::cout << sums.rows();",
    "(void)release.Release(sums, std::vector<int>{}, SystemBits());",
    "std::cout << state.belief.estimate.size();",
    "std::cout << stream.estimate().value().size();",
    "(void)stream.Step(x, 1, model, origin);",
    "std::string bytes; ByteWriter out(bytes); stream.Encode(out);",
]

WRONG = [
    # printed or logged
    "std::cout << sums;",
    "std::cout << state;",
    "std::cout << state.sums;",
    "std::cout << stream;",
    "absl::StrCat(sums);",
    "absl::StrCat(sums.Seal());",
    # compared
    "(void)(sums == sums);",
    # read or converted
    "auto u = sums.sums_;",
    "auto u = sums.unclipped_;",
    "auto u = sums.energy_;",
    "auto u = stream.state_;",
    "std::vector<double> u = sums;",
    "std::string bytes = sums.Seal();",
    "SealedState one = sums.Seal(); SealedState other = one;",
    # made out of order: an estimate that no episode released
    "Released<SparseEstimate> other{SparseEstimate()};",
    "Released<SparseEstimate> other(state.belief.estimate);",
    "Released<SparseSums> other(sums);",
]


class SparseTypesTest(unittest.TestCase):
    def test_only_the_right_lines_compile(self):
        reward_types_test.expect_only(self, PRELUDE, UNIT, RIGHT, WRONG)


if __name__ == "__main__":
    reward_types_test.COMPILER, reward_types_test.SOURCE_DIR = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
