"""bandana-ctl evaluate, beside an implementation that shares no code with it: evaluate_test.py CTL REFERENCE_DIR GOLDEN_DIR.

Golden: a log of 30 lines whose every number both give. Then logs of 600 decisions that are made here, for the anytime interval: raw,
released, lists, one propensity per line, arms that could not be drawn. Last, bad logs: each is said, with its line.
"""

import gzip
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

CTL, REFERENCE, GOLDEN = sys.argv[1:4]
sys.path.insert(0, REFERENCE)
import estimates  # noqa: E402

NUMBERS = ("value", "low", "high", "decisions", "effective_decisions", "terms", "weight_mean", "weight_max", "uncovered", "confidence")


def run(*arguments):
    done = subprocess.run([CTL, "evaluate", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def write(folder, lines, name="log.jsonl"):
    path = os.path.join(folder, name)
    opened = gzip.open(path, "wt") if name.endswith(".gz") else open(path, "w", encoding="utf-8")
    with opened as file:
        for line in lines:
            file.write(line if isinstance(line, str) else json.dumps(line) + "\n")
    return path


def draw(rng, law):
    return rng.choices(range(len(law)), law)[0]


def made_log(seed, n=600, epsilon=None, slots=1, alone=False, ucb=False, arms=4):
    """Decisions of a model that explores a little; its predictions are rough."""
    rng = random.Random(seed)
    lines = []
    for number in range(n):
        means = [0.1 + 0.15 * a + 0.2 * ((number + a) % 3) for a in range(arms)]
        q = [round(min(1, max(0, m + rng.uniform(-0.2, 0.2))), 6) for m in means]
        gone = set()
        for slot in range(slots):
            weights = [0 if a in gone else 0.2 + (2 if q[a] == max(q) else 0) for a in range(arms)]
            p = [w / sum(weights) for w in weights]
            if ucb:
                p = [1.0 if a == q.index(max(q)) else 0.0 for a in range(arms)]
            chosen = draw(rng, p)
            gone.add(chosen)
            click = rng.random() < means[chosen]
            line = {"v": 1, "decision": f"d{number}", "slot": slot, "time": f"2026-11-27T00:{number // 60 % 60:02}:{number % 60:02}Z",
                    "epoch": 0, "version": number, "offered": arms, "arms": list(range(10, 10 + arms)), "p": p[chosen] if alone else p,
                    "q": q, "chosen": chosen, "reward": int(click)}
            if epsilon:
                low = -1 / (math.exp(epsilon) - 1)
                kept = click if rng.random() < 1 / (1 + math.exp(-epsilon)) else not click
                line.update(reward=1 - low if kept else low, released={"epsilon": epsilon, "low": low, "high": 1 - low})
            if slots > 1:
                line["list"] = slots
            lines.append(line)
    return lines


class EvaluateTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compare(self, path, policies, code=0, **options):
        flags = ["--log", path, "--policy", *policies, "--json", "-"]
        if options.get("against"):
            flags += ["--against", options["against"]]
        flags += ["--estimator", ",".join(options["estimators"])] if "estimators" in options else []
        for name in ("interval", "lists", "confidence", "unreported"):
            if name in options:
                flags += [f"--{name}", str(options[name])]
        flags += ["--each"] if options.get("each") else []
        got_code, out, err = run(*flags)
        self.assertEqual(got_code, code, err + out)
        got, expected = json.loads(out), estimates.judge(estimates.read(path), policies, **options)
        for key, value in expected["log"].items():
            self.assertEqual(got["log"][key], value, key)
        self.assertEqual(len(got["rows"]), len(expected["rows"]))
        for mine, theirs in zip(expected["rows"], got["rows"]):
            label = f"{mine['policy']} {mine['against']} {mine['estimator']} {mine['interval']}"
            for key in ("policy", "against", "estimator", "interval"):
                self.assertEqual(mine[key], theirs[key], label)
            for key in NUMBERS:
                if mine[key] is None or theirs[key] is None:
                    self.assertEqual(mine[key], theirs[key], f"{label} {key}: {theirs['note']}")
                else:
                    self.assertAlmostEqual(mine[key], theirs[key], delta=1e-9 * max(1, abs(mine[key])), msg=f"{label} {key}")
        return got

    ALL = {"estimators": ("ips", "snips", "dm", "dr")}

    def test_golden_log(self):
        path = os.path.join(GOLDEN, "log.jsonl")
        policies = ["uniform", "logging", "greedy", "first", "constant:2"]
        got = self.compare(path, policies, code=1, interval="large_sample", unreported=0, **self.ALL)
        self.assertEqual(got["log"]["lines"], 30)
        self.compare(path, policies, code=1, interval="large_sample", unreported=0, against="uniform", **self.ALL)
        # Nothing is left behind the first 200 decisions.
        self.compare(path, ["uniform"], code=1, unreported=0)

    def test_logging_policy_is_the_plain_mean(self):
        lines = made_log(1)
        code, out, _ = run("--log", write(self.folder.name, lines), "--policy", "logging", "--estimator", "ips", "--interval",
                           "large_sample", "--json", "-")
        self.assertEqual(code, 0)
        self.assertAlmostEqual(json.loads(out)["rows"][0]["value"], sum(line["reward"] for line in lines) / 600, delta=1e-12)

    def test_anytime(self):
        path = write(self.folder.name, made_log(2))
        policies = ["uniform", "logging", "greedy", "first", "constant:12"]
        self.compare(path, policies, **self.ALL)
        self.compare(path, policies, against="uniform", **self.ALL)
        self.compare(path, policies, each=True, confidence=0.9)
        self.compare(path, ["constant:11"], against="uniform", interval="large_sample", confidence=0.8, estimators=("ips", "snips", "dr"))

    def test_released(self):
        for epsilon in (1, 2):
            path = write(self.folder.name, made_log(3, epsilon=epsilon))
            got = self.compare(path, ["uniform", "greedy"], estimators=("ips", "dr"))
            self.assertEqual((got["log"]["reward"], got["log"]["epsilon"]), ("released", epsilon))
            self.compare(path, ["greedy"], against="uniform")

    def test_lists(self):
        path = write(self.folder.name, made_log(4, slots=3))
        for lists in ("prefix", "whole"):
            self.compare(path, ["uniform", "greedy", "logging"], lists=lists, estimators=("ips", "snips", "dr"))
            self.compare(path, ["greedy"], lists=lists, against="uniform", estimators=("ips", "dr"))

    def test_one_propensity_per_line(self):
        path = write(self.folder.name, made_log(5, alone=True))
        self.compare(path, ["uniform", "first"], estimators=("ips", "dr"))
        self.compare(path, ["first"], against="uniform")

    def test_arms_that_could_not_be_drawn(self):
        path = write(self.folder.name, made_log(6, ucb=True))
        got = self.compare(path, ["uniform", "logging", "greedy"], code=1, estimators=("ips", "dr"))
        self.assertEqual([row["interval"] for row in got["rows"]], ["bounds"] * 2 + ["anytime"] * 4)
        self.assertIsNone(got["rows"][0]["value"])
        self.assertGreater(got["rows"][0]["uncovered"], 0.5)
        self.compare(path, ["uniform"], against="first", code=1)

    def test_packed_and_several_files(self):
        lines = made_log(7)
        whole = run("--log", write(self.folder.name, lines), "--policy", "uniform", "--json", "-")
        parts = [write(self.folder.name, lines[:250], "a.jsonl.gz"), write(self.folder.name, lines[250:], "b.jsonl")]
        self.assertEqual(run("--log", *parts, "--policy", "uniform", "--json", "-"), whole)

    def test_tables_and_scores(self):
        lines = made_log(8)
        path = write(self.folder.name, lines)
        table = write(self.folder.name, ["arm,slot,probability\n", *(f"{arm},0,0.25\n" for arm in range(10, 14))], "t.csv")
        scores = write(self.folder.name, ["decision\tarm\tprobability\n", *(f"{line['decision']}\t10\t1\n" for line in lines)], "s.tsv")
        code, out, err = run("--log", path, "--policy", f"table:{table}", "uniform", f"scores:{scores}", "constant:10", "--json", "-")
        self.assertEqual(code, 0, err)
        rows = [{k: v for k, v in row.items() if k != "policy"} for row in json.loads(out)["rows"]]
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[2], rows[3])

    # Configurations that learn from the log.

    LINEAR = """name: "candidate" dimension: 4 shared {} reward_min: 0 reward_max: 1 reward_binary: true reward_stddev: 0.5
                policy { uniform_mix { uniform_share: 0.1 } } mode: NON_PRIVATE """

    @staticmethod
    def linear_log(seed, n=2000, epsilon=None):
        """Four arms, whose features tell their rewards: 0.1, 0.2, 0.3 and 0.6 by the last of the context's order."""
        rng = random.Random(seed)
        lines = made_log(seed, n=n)
        for line in lines:
            order = rng.sample(range(4), 4)
            x = [[1.0 if a == column else 0.0 for column in range(4)] for a in order]
            means = [(0.1, 0.2, 0.3, 0.6)[a] for a in order]
            chosen = rng.randrange(4)
            click = rng.random() < means[chosen]
            line.update(x=x, p=[0.25] * 4, chosen=chosen, reward=int(click))
            del line["q"]
            if epsilon:
                low = -1 / (math.exp(epsilon) - 1)
                kept = click if rng.random() < 1 / (1 + math.exp(-epsilon)) else not click
                line.update(reward=1 - low if kept else low, released={"epsilon": epsilon, "low": low, "high": 1 - low})
        return lines

    def test_a_configuration_learns_while_it_is_judged(self):
        path = write(self.folder.name, self.linear_log(1))
        config = write(self.folder.name, [self.LINEAR], "c.textproto")
        code, out, err = run("--log", path, "--policy", "uniform", f"config:{config}", "--epsilon", "5,0.2", "--seed", "3", "--json", "-")
        self.assertEqual(code, 0, err + out)
        rows = json.loads(out)["rows"]
        self.assertEqual([row["policy"] for row in rows], ["uniform", f"config:{config}", f"config:{config}, epsilon 5",
                                                           f"config:{config}, epsilon 0.2"])
        self.assertLess(rows[0]["low"], 0.3)
        self.assertGreater(rows[0]["high"], 0.3)
        # It learns the best arm but for a share: 0.9 * 0.6 + 0.1 * 0.3.
        self.assertGreater(rows[1]["low"], 0.42)
        self.assertLess(rows[1]["low"], 0.57)
        self.assertGreater(rows[1]["high"], 0.54)
        self.assertGreater(rows[2]["value"], rows[0]["value"])
        again = run("--log", path, "--policy", "uniform", f"config:{config}", "--epsilon", "5,0.2", "--seed", "3", "--json", "-")
        self.assertEqual(again[1], out)
        other = run("--log", path, "--policy", "uniform", f"config:{config}", "--epsilon", "5,0.2", "--seed", "4", "--json", "-")
        self.assertEqual(json.loads(other[1])["rows"][:2], rows[:2])
        self.assertNotEqual(json.loads(other[1])["rows"][3]["value"], rows[3]["value"])

    def test_a_configuration_of_effects_learns(self):
        lines = self.linear_log(2)
        for line in lines:
            line["arms"] = [10 + row.index(1.0) for row in line["x"]]
            line["x"] = [[1.0, 0, 0, 0]] * 4
        config = write(self.folder.name, ["""name: "candidate" dimension: 4 effects { standard {} } reward_min: 0 reward_max: 1
            reward_binary: true reward_stddev: 0.5 mode: NON_PRIVATE"""], "c.textproto")
        code, out, err = run("--log", write(self.folder.name, lines), "--policy", f"config:{config}", "--json", "-")
        self.assertEqual(code, 0, err + out)
        self.assertGreater(json.loads(out)["rows"][0]["low"], 0.45)

    def test_a_configuration_learns_from_released_rewards(self):
        path = write(self.folder.name, self.linear_log(3, epsilon=2))
        local = self.LINEAR.replace("NON_PRIVATE", "LOCAL_REWARD") + "reporting { one_per_decision: true } privacy { epsilon: %d mechanism: REWARD_RANDOMIZER }"
        config = write(self.folder.name, [local % 2], "c.textproto")
        code, out, err = run("--log", path, "--policy", f"config:{config}", "--json", "-")
        self.assertEqual(code, 0, err + out)
        self.assertGreater(json.loads(out)["rows"][0]["low"], 0.35)
        plain = write(self.folder.name, [self.LINEAR], "p.textproto")
        code, out, _ = run("--log", path, "--policy", f"config:{plain}", "--epsilon", "1", "--json", "-")
        self.assertEqual(code, 1)
        self.assertIn("never randomized again", json.loads(out)["error"])
        code, out, _ = run("--log", path, "--policy", f"config:{plain}", "--json", "-")
        self.assertEqual(code, 1)
        self.assertIn("does not learn from released rewards", json.loads(out)["rows"][0]["note"])
        other = write(self.folder.name, [local % 1], "d.textproto")
        code, out, _ = run("--log", path, "--policy", f"config:{other}", "--json", "-")
        self.assertEqual(code, 1)
        self.assertIn("does not give the log's values", json.loads(out)["rows"][0]["note"])

    def test_configurations_that_cannot_learn_from_the_log(self):
        path = write(self.folder.name, made_log(24))
        for text, message in ((self.LINEAR, "x: the line has no features of its arms"),):
            config = write(self.folder.name, [text], "c.textproto")
            code, out, _ = run("--log", path, "--policy", f"config:{config}", "--json", "-")
            self.assertEqual(code, 1)
            self.assertIn(message, json.loads(out)["rows"][0]["note"])
        for text, message in (("dimension: 4 shared {} mode: NON_PRIVATE", "name: "), ("nonsense", "is not a textproto of ModelConfig"),
                              (self.LINEAR + "half_life { seconds: 3600 }", "half_life: must not be set")):
            config = write(self.folder.name, [text], "c.textproto")
            code, _, err = run("--log", path, "--policy", f"config:{config}")
            self.assertEqual(code, 1)
            self.assertIn(message, err)
        self.assertEqual(run("--log", path, "--policy", "uniform", "--epsilon", "1")[0], 2)

    def test_text_and_picture(self):
        picture = os.path.join(self.folder.name, "a.svg")
        code, out, err = run("--log", write(self.folder.name, made_log(9)), "--policy", "uniform", "greedy", "--plot", picture)
        self.assertEqual(code, 0, err)
        self.assertIn("uniform, dr", out)
        with open(picture, encoding="utf-8") as file:
            self.assertIn("greedy, dr", file.read())

    # Bad logs.

    def said(self, lines, *patterns, policies=("uniform",), flags=(), code=1):
        got, out, err = run("--log", write(self.folder.name, lines), "--policy", *policies, "--json", "-", *flags)
        self.assertEqual(got, code, out + err)
        answer = json.loads(out)
        for pattern in patterns:
            self.assertIn(pattern, err + (answer["error"] or "") + "".join(row["note"] for row in answer["rows"]))
        return answer

    def changed(self, at=300, **members):
        lines = made_log(10)
        lines[at].update(members)
        return lines

    def test_impossible_propensities_are_counted(self):
        for p, message in (([0.5, 0.5, 0, 0], "line 301: p: must be in (0, 1] for the chosen arm, got 0"),
                           ([0.5, 0.6, 0.6, -0.7], "line 301: p: must be in [0, 1], got -0.7"),
                           ([0.33, 0.33, 0.33, 0.33], "line 301: p: must add up to 1, got 1.32"),
                           ([0.3, 0.3, 0.3, 0.099], "line 301: p: must add up to 1, got 0.999"),
                           ([1, 1, 1, 1], "line 301: p: must add up to 1, got 4")):
            answer = self.said(self.changed(p=p, chosen=2), message, code=0)
            self.assertEqual(answer["log"]["skipped"], {"propensity": 1})
        lines = self.changed()
        del lines[300]["p"]
        self.assertEqual(self.said(lines, "line 301: p: is missing", code=0)["log"]["skipped"], {"malformed": 1})

    def test_propensities_that_arms_were_not_drawn_by(self):
        lines = made_log(11, n=3000)
        for line in lines:
            line["p"] = line["p"][1:] + line["p"][:1]
        self.said(lines, "p: the arms were not drawn by it")
        for line in lines:
            line["p"] = 1
        self.said(lines, "p: the arms were not drawn by it: 1 / (offered p) is 0.25 on average")

    def test_bad_rewards_are_counted(self):
        for reward, message in ((1.5, "line 301: reward: must be in [0, 1]"), (-1, "line 301: reward: must be in [0, 1]")):
            self.assertEqual(self.said(self.changed(reward=reward), message, code=0)["log"]["skipped"], {"reward": 1})
        lines = self.changed()
        lines[300] = json.dumps(lines[300]).replace('"reward": 0', '"reward": NaN').replace('"reward": 1', '"reward": NaN') + "\n"
        self.assertEqual(self.said(lines, "line 301: reward: must be", code=0)["log"]["skipped"], {"malformed": 1})

    def test_a_cut_last_line_is_counted(self):
        lines = made_log(12)
        lines[-1] = json.dumps(lines[-1])[:100]
        self.assertEqual(self.said(lines, code=0)["log"]["skipped"], {"cut_line": 1})

    def test_duplicates_are_counted(self):
        lines = made_log(13)
        self.assertEqual(self.said(lines + lines[:3], code=0)["log"]["skipped"], {"duplicate": 3})

    def test_mixtures_are_refused(self):
        self.said(self.changed(instance="b"), "line 301: instance: is b")
        self.said(self.changed(epoch=1), "line 301: epoch: is 1")
        self.said(self.changed(released={"epsilon": 1, "low": -1, "high": 2}), "line 301: released: the log mixes raw and released")

    def test_lists_with_a_slot_missing_are_counted(self):
        lines = made_log(14, slots=3)
        del lines[901]
        answer = self.said(lines, "line 901: list: slot 1 of 3 is missing", code=0)
        self.assertEqual(answer["log"]["skipped"], {"slot_missing": 2})

    def test_no_overlap(self):
        answer = self.said(made_log(15, ucb=True), "the policy chooses arms that could not be drawn")
        self.assertEqual(answer["rows"][0]["interval"], "bounds")

    def test_one_heavy_line(self):
        lines = made_log(16, alone=True)
        lines[400].update(p=1e-7, reward=1)
        answer = self.said(lines, "decision d400 is 100 % of the estimate", flags=("--interval", "large_sample"))
        self.assertIsNone(answer["rows"][0]["low"])

    def test_single_arms_are_counted(self):
        answer = self.said(self.changed(offered=1, arms=[10], p=[1], q=[0.5], chosen=0), code=0)
        self.assertEqual(answer["log"]["skipped"], {"single_arm": 1})

    def test_bad_tables(self):
        for text, message in (("arm,probability\n10,0.5\n", "probabilities must add up to 1, got 0.5"),
                              ("arm,probability\n10,2\n", "line 2: probability: must be a number in [0, 1]")):
            table = write(self.folder.name, [text], "t.csv")
            code, _, err = run("--log", write(self.folder.name, made_log(17)), "--policy", f"table:{table}")
            self.assertEqual(code, 1)
            self.assertIn(message, err)
        table = write(self.folder.name, ["arm,probability\n10,0.5\n99,0.5\n"], "t.csv")
        answer = self.said(made_log(17), "arm 99 was never on offer", policies=("uniform", f"table:{table}"))
        self.assertEqual([row["value"] is None for row in answer["rows"]], [False, True])

    def test_a_million_arms(self):
        lines = made_log(18, alone=True)
        for line in lines:
            line.update(offered=10 ** 6, p=1e-6)
            del line["arms"], line["q"]
        self.said(lines, code=0)

    def test_unreported_and_open_decisions(self):
        lines = made_log(19)
        for number in (100, 200, 589):
            lines[number]["reward"] = "unreported"
        lines[590]["reward"] = None
        self.said(lines, "line 101: reward: no report came for this decision and 2 more")
        answer = self.said(lines, flags=("--unreported", "0"), code=0)
        self.assertEqual((answer["log"]["used"], answer["log"]["skipped"]), (590, {"pending": 10}))
        self.said(lines, "--unreported must be in the range of rewards", flags=("--unreported", "3"))

    def test_clipped_rewards_by_name(self):
        lines = made_log(20, epsilon=1)
        for line in lines:
            line["released"]["clipped"] = True
        self.said(lines, "CENTRED_RANDOMIZER")
        self.assertEqual(self.said(lines, flags=("--clipped",), code=0)["log"]["reward"], "clipped")

    def test_ranks_named_with_the_report_are_refused(self):
        self.said(self.changed(slot=2), "line 301: slot: the report named rank 2")

    def test_arguments(self):
        for flags in ((), ("--log", "x"), ("--log", "x", "--policy", "best"), ("--log", "x", "--policy", "uniform", "--interval", "exact"),
                      ("--log", "x", "--policy", "uniform", "--confidence", "1"), ("--log", "x", "--policy", "uniform", "--lists", "none"),
                      ("--log", "x", "--policy", "uniform", "--estimator", "mean"), ("--log", "x", "--policy", "uniform", "--what", "1")):
            self.assertEqual(run(*flags)[0], 2, flags)
        self.assertEqual(run("--log", "/no/such/file", "--policy", "uniform")[0], 1)
        self.assertEqual(run("--help")[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
