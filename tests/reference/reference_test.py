"""The second implementation of docs/wire_sdk.md passes every vector: reference_test.py [VECTORS [MAKE_VECTORS TABLES EACH SEED]].

With a program it also compares random tables and draws with those of the device core.
"""

import json
import os
import struct
import subprocess
import sys
import unittest

import features
import policy
import randomizer
import times
import wire

HERE = os.path.dirname(os.path.abspath(__file__))
ARGUMENTS = sys.argv[1:]
VECTORS = ARGUMENTS[0] if ARGUMENTS else os.path.join(HERE, "../vectors")


def vectors(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
        return json.load(file)


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def bits(value):
    return struct.pack(">d", value).hex()


def ulps(a, b):
    def ordered(value):
        number = struct.unpack(">q", struct.pack(">d", value))[0]
        return number if number >= 0 else -2**63 - number
    return abs(ordered(a) - ordered(b))


class VectorsTest(unittest.TestCase):
    def test_numbers(self):
        file = vectors("numbers.1.json")
        for case in file["read"]:
            self.assertEqual(bits(policy.real(case["text"])), case["bits"], case["text"])
        for text in file["refused"]:
            with self.assertRaises(policy.Refused, msg=text):
                policy.real(text)

    def test_policies(self):
        file = vectors("policy.1.json")
        for case in file["taken"]:
            read = policy.read(case["text"], bytes.fromhex(case["digest"]))
            for name in ("mode", "mechanism", "dimension", "reporting"):
                self.assertEqual(read[name], case[name], case["name"])
            for name in ("feature_l2_max", "reward_min", "reward_max", "epsilon", "delta", "default_reward"):
                self.assertEqual(bits(read[name]), case[name], case["name"])
            for name in ("reward_window_ns", "token_lifetime_ns"):
                self.assertEqual(read[name], int(case[name]), case["name"])
            table = b""
            if read["mode"] == "LOCAL_REWARD" and read["mechanism"].endswith("_RANDOMIZER"):
                table = randomizer.Table(read["epsilon"], bool(read["reward_binary"]), read["reward_min"], read["reward_max"]).digest()
            self.assertEqual(table.hex(), case["table_digest"], case["name"])
            if read["blocks"]:
                size = len(features.Schema(read["blocks"], read["feature_l2_max"]).vector({}, {}))
                self.assertEqual(size, read["dimension"])
        for case in file["refused"]:
            with self.assertRaises(policy.Refused, msg=case["name"]):
                policy.read(case["text"])

    def test_tables(self):
        for case in vectors("table.1.json")["tables"]:
            table = randomizer.Table(double(case["epsilon"]), case["binary"])
            self.assertEqual([[int(n) for n in one] for one in case["components"]], [one.integers() for one in table.components])
            self.assertEqual((table.outputs(), table.digest().hex()), (case["outputs"], case["digest"]))

    def test_masses(self):
        """All words have an output, and no reward makes one more than e^epsilon times as likely as another reward does."""
        for case in vectors("table.1.json")["tables"]:
            table = randomizer.Table(double(case["epsilon"]), case["binary"])
            rows = [table.masses(step) for step in (0, 1, 2**19 + 12345, 2**20)]
            for row in rows:
                self.assertEqual((len(row), sum(row)), (table.outputs(), 2**63))
            ratio = randomizer.ratio(double(case["epsilon"]))
            for outputs in zip(*rows):
                self.assertLessEqual(max(outputs) << 50, ratio * min(outputs))

    def test_draws(self):
        for case in vectors("draw.1.json")["tables"]:
            table = randomizer.Table(double(case["epsilon"]), case["binary"])
            for step, word, output in case["draws"]:
                self.assertEqual(table.output(step, int(word)), output)

    def test_clips(self):
        for case in vectors("clip.1.json")["rewards"]:
            low, high = double(case["min"]), double(case["max"])
            window = case["window"] and tuple(double(end) for end in case["window"])
            if randomizer.is_window(low, high, window):
                low, high = window
            reward = None if case["reward"] is None else double(case["reward"])
            self.assertEqual(randomizer.clip(reward, low, high, double(case["default"]), case["binary"]), case["step"], case)

    def test_times(self):
        for decided, window, word, close, leave in vectors("times.1.json")["decided_us window_ns word close_us leave_us"]:
            mine = times.close_and_leave_us(int(decided), int(window), int(word))
            self.assertEqual(mine[0], int(close))
            self.assertLessEqual(abs(mine[1] - int(leave)), 1)

    def check_features(self, schema, cases, ulps_max):
        made = features.Schema([line[len("feature_"):] for line in schema["lines"].splitlines()[1:]], double(schema["l2_max"]))
        for case in cases:
            mine = made.vector(json.loads(case["context"]), json.loads(case["arm"]))
            want = [0.0] * len(mine)
            for entry, value in case["entries"]:
                want[entry] = double(value)
            for entry, (a, b) in enumerate(zip(mine, want)):
                self.assertLessEqual(ulps(a, b) if a or b else 0, ulps_max, (entry, a, b, case))

    def test_features(self):
        file = vectors("features.1.json")
        self.check_features(file["schema"][0], file["vectors"], 0)
        self.check_features(file["schema_with_libm"][0], file["vectors_with_libm"], 8)

    def test_reports(self):
        for case in vectors("report.1.json")["reports"]:
            mine = wire.report(bytes.fromhex(case["token"]), case["shown"], case["output"], case["whole_range"])
            self.assertEqual(mine.hex(), case["report"])


class CoreTest(unittest.TestCase):
    def test_random_tables_and_draws_are_those_of_the_core(self):
        if len(ARGUMENTS) < 5:
            self.skipTest("no program")
        made = subprocess.run([ARGUMENTS[1], "draws"] + ARGUMENTS[2:5], capture_output=True, text=True, check=True).stdout
        tables = draws = 0
        table = None
        for line in made.splitlines():
            first, *rest = line.split(" ")
            if first == "table":
                table = randomizer.Table(double(rest[0]), rest[1] == "1")
                self.assertEqual(table.digest().hex(), rest[2], line)
                tables += 1
            else:
                self.assertEqual(table.output(int(first), int(rest[0])), int(rest[1]), line)
                draws += 1
        self.assertEqual((tables, draws), (int(ARGUMENTS[2]), int(ARGUMENTS[2]) * int(ARGUMENTS[3])))
        print(f"{tables} tables and {draws} draws, differences 0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
