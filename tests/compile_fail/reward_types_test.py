"""The privacy boundary is a chain of types: what must not compile does not. Each snippet changes one line of a unit that compiles.

    reward_types_test.py COMPILER SOURCE_DIR
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
import unittest

PRELUDE = """
#include <iostream>
#include <string>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/mechanisms/reward_randomizer.h"
"""

UNIT = """
using namespace bandana;
void Use(const RawReward& raw, const ClippedReward& clipped, const PerturbedReward& perturbed,
         const RewardRandomizer& randomizer) {{
  {line}
}}
"""

RIGHT = [
    "std::cout << perturbed.output();",
    "absl::StrCat(perturbed.output());",
    "(void)randomizer.Randomize(randomizer.Clip(RawReward(0.5), 0), SystemBits());",
    "(void)randomizer.Randomize(randomizer.Clip(RawReward(std::nullopt), 0), SystemBits());",
]

WRONG = [
    # printed or logged
    "std::cout << raw;",
    "std::cout << clipped;",
    "absl::StrCat(raw);",
    "absl::StrCat(clipped);",
    'absl::StrFormat("%v", raw);',
    'absl::StrFormat("%g", clipped);',
    "std::to_string(raw);",
    # compared
    "(void)(raw == raw);",
    "(void)(clipped == clipped);",
    "(void)(clipped < clipped);",
    # converted or read
    "double r = raw;",
    "double r = static_cast<double>(raw);",
    "double r = clipped;",
    "auto r = static_cast<unsigned>(clipped);",
    "auto r = raw.value_;",
    "auto r = clipped.step_;",
    # made out of order
    "RawReward other = 0.5;",
    "ClippedReward other(7u);",
    "ClippedReward other(raw);",
    "PerturbedReward other(7u);",
    "PerturbedReward other = 7u;",
    "PerturbedReward other(clipped);",
    "(void)randomizer.Randomize(raw, SystemBits());",
    "(void)randomizer.Randomize(0.5, SystemBits());",
    "(void)randomizer.Clip(0.5, 0);",
]


def compiler(*arguments, unit=None):
    return subprocess.run([COMPILER, "-std=c++20", "-I" + SOURCE_DIR, *arguments], input=unit,
                          capture_output=True, text=True, check=False)


def expect_only(test, prelude_text, unit, right, wrong):
    """Fails `test` unless `unit` with each line of `right` compiles and with each of `wrong` does not."""
    with tempfile.TemporaryDirectory() as folder:
        prelude = os.path.join(folder, "prelude.h")
        with open(prelude, "w", encoding="utf-8") as file:
            file.write(prelude_text)
        # Parsed once; the compiler picks up prelude.h.gch by itself.
        run = compiler("-x", "c++-header", prelude, "-o", prelude + ".gch")
        test.assertEqual(run.returncode, 0, run.stderr)

        def compiles(line):
            return compiler("-include", prelude, "-fsyntax-only", "-x", "c++", "-",
                            unit=unit.format(line=line)).returncode == 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(compiles, right + wrong))
    for line, compiled in zip(right + wrong, verdicts):
        with test.subTest(line=line):
            test.assertEqual(compiled, line in right)


class RewardTypesTest(unittest.TestCase):
    def test_only_the_right_lines_compile(self):
        expect_only(self, PRELUDE, UNIT, RIGHT, WRONG)


if __name__ == "__main__":
    COMPILER, SOURCE_DIR = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
