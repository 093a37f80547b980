"""The judge finds nothing in paths of the core, and every mutant: judge_test.py VECTORS MAKE_VECTORS SEED COUNT.

Paths are those of the vectors and COUNT random schedules from SEED on. A mutant must be possible in a path at least, and found in
each where it is.
"""

import copy
import os
import subprocess
import sys
import unittest

import activation
import activation_mutants
import judge
import mutants

VECTORS, PROGRAM, SEED, COUNT = sys.argv[1:5]


class JudgeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([PROGRAM, "schedules", SEED, COUNT], capture_output=True, text=True, check=True).stdout
        cls.paths = judge.parse(made)
        for version in (1, 2):
            cls.paths += judge.read(os.path.join(VECTORS, f"paths.{version}.json"))
        cls.closed_there = judge.read(os.path.join(VECTORS, "paths.3.json"))  # windows, by the server

    def test_paths_of_the_core_break_no_rule(self):
        self.assertGreaterEqual(len(self.paths), int(COUNT) + 23)
        for path in self.paths:
            self.assertEqual(judge.judge(path), [], path["name"])
        self.assertGreaterEqual(len(self.closed_there), 5)
        for path in self.closed_there:
            self.assertTrue(activation.closes_windows(path))
            self.assertEqual(activation.judge(path), [], path["name"])

    def test_every_mutant_is_found_wherever_it_is_possible(self):
        self.find(mutants.MUTANTS, self.paths, judge.judge)
        self.find(activation_mutants.MUTANTS, self.closed_there, activation.judge)

    def find(self, changes, given, judged):
        for name, change in changes.items():
            rule, found, missed = int(name[1:3]), 0, []
            for path in given:
                mutated = copy.deepcopy(path)
                if change(mutated) is not True:
                    continue
                if rule in {broken for broken, _, _ in judged(mutated)}:
                    found += 1
                else:
                    missed.append(path["name"])
            print(f"{name}: found in {found} paths of {found + len(missed)}")
            with self.subTest(name):
                self.assertEqual(missed, [])
                self.assertGreater(found, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
