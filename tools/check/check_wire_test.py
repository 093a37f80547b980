"""The checks of docs/wire_sdk.md and its vectors find what they are for, and stay quiet on what is right."""

import hashlib
import os
import shutil
import tempfile
import unittest

import check_rules
import check_vectors


def page(change=None):
    rows = {n: f"| {n}{'*' if n <= check_rules.LEAKING else ''} | does it | the reward | `Suite.Case` |" for n in range(1, check_rules.RULES + 1)}
    rows.update(change or {})
    return "\n".join(row for row in rows.values() if row)


class RulesTest(unittest.TestCase):
    def problems(self, change=None):
        return check_rules.problems(page(change), {"Suite.Case"})

    def test_right_page(self):
        self.assertEqual(self.problems(), [])

    def test_missing_rule(self):
        self.assertIn("in order", self.problems({41: None})[0])

    def test_test_that_is_none(self):
        self.assertIn("Suite.Gone, which is no test", self.problems({3: "| 3* | does it | the reward | `Suite.Gone` |"})[0])
        self.assertIn("nothing, which is no test", self.problems({3: "| 3* | does it | the reward | |"})[0])

    def test_leak_without_words(self):
        self.assertIn("does not say what", self.problems({3: "| 3* | does it | | `Suite.Case` |"})[0])

    def test_leaks_are_counted(self):
        self.assertIn(f"{check_rules.LEAKING} rules leak, got {check_rules.LEAKING - 1}", self.problems({3: "| 3 | does it | | `Suite.Case` |"})[0])


class VectorsTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="bandana-check-")
        self.addCleanup(shutil.rmtree, self.root)
        os.makedirs(os.path.join(self.root, check_vectors.FOLDER))
        self.write("draw.1.json", "{}")
        self.line = hashlib.sha256(b"{}").hexdigest() + "  draw.1.json"
        self.write("digests.txt", self.line + "\n")

    def write(self, name, text):
        with open(os.path.join(self.root, check_vectors.FOLDER, name), "w", encoding="utf-8") as file:
            file.write(text)

    def problems(self, former=()):
        return check_vectors.problems(self.root, list(former))

    def test_right_files(self):
        self.assertEqual(self.problems([self.line]), [])

    def test_changed_file(self):
        self.write("draw.1.json", "[]")
        self.assertIn("make version 2", self.problems()[0])

    def test_changed_file_with_its_line(self):
        self.write("draw.1.json", "[]")
        self.write("digests.txt", hashlib.sha256(b"[]").hexdigest() + "  draw.1.json\n")
        self.assertIn("changed or removed", self.problems([self.line])[0])

    def test_missing_and_unlisted_files(self):
        os.rename(os.path.join(self.root, check_vectors.FOLDER, "draw.1.json"), os.path.join(self.root, check_vectors.FOLDER, "draw.2.json"))
        self.assertEqual(len(self.problems()), 2)

    def test_line_that_is_none(self):
        self.write("digests.txt", self.line + "\n" + self.line + "\n")
        self.assertIn("each name once", self.problems()[0])


if __name__ == "__main__":
    unittest.main()
