#!/usr/bin/env python3
"""The judge of tests/reference reads what the host of the JavaScript SDK did: recorded_test.py NODE PACKAGE VECTORS SEEDS.

The host of the package breaks no rule in random visits; each mutant of it breaks those that it is listed with.
"""

import collections
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "reference"))
import judge  # noqa: E402

NODE, PACKAGE, VECTORS, SEEDS = sys.argv[1:5]
MUTANTS = {
    "commits-early": {16, 22, 28},
    "ignores-entropy": {25},
    "wakes-at-reactions": {23},
    "frozen-clock": {19},
    "loses-debits": {16},
    "loses-draws": {28},
    "forgets-the-mark": {26, 37, 46},
    "adopts-at-the-click": {43},
    "loses-digests": {44},
    "adopts-anything": {45},
}
SEEDS_OF_MUTANTS = 5


def recorded(mutant, seed):
    """The path that a host leaves."""
    command = [NODE, os.path.join(HERE, "recorded_host.mjs"), PACKAGE, VECTORS, mutant, str(seed)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


class RecordedTest(unittest.TestCase):
    def test_the_host_breaks_no_rule(self):
        done = collections.Counter()
        for seed in range(1, int(SEEDS) + 1):
            path = recorded("none", seed)
            self.assertEqual(judge.judge(path), [], path["name"])
            done.update(step["do"] for step in path["steps"])
            done.update(["put back"] * sum("rows" in step for step in path["steps"]))
        print(dict(done))
        for event in ("report", "adopt", "wake", "crash and start", "put back"):
            self.assertGreater(done[event], 0, event)

    def test_every_mutant_is_found(self):
        for mutant, rules in MUTANTS.items():
            found = collections.Counter()
            for seed in range(1, SEEDS_OF_MUTANTS + 1):
                found.update({rule for rule, _, _ in judge.judge(recorded(mutant, seed))})
            print(f"{mutant}: rules broken, in how many of {SEEDS_OF_MUTANTS} visits: {dict(found)}")
            with self.subTest(mutant):
                self.assertLessEqual(rules, set(found))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
