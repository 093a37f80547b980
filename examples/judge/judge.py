#!/usr/bin/env python3
"""Judges policies by a table of decisions that was exported, as `bandana-ctl evaluate --interval large_sample` does.

    bandana-ctl decisions export log.csv --model M
    judge.py log.csv --policy logging uniform greedy constant:7 --plot judged.svg

The value of a policy is the mean reward that it would have had on these decisions. IPS weighs each reward by
pi(A) / p(A); SNIPS divides by the sum of the weights; DR weighs only what the log's predictions did not foresee.
Python's standard library is enough; where pandas is installed it reads the table. Formulas: docs/design/judging.md.
"""

import argparse
import csv
import gzip
import json
import math
import statistics
import sys

import picture

TERMS_MIN = 20        # that must carry the variance, for an interval by the normal law
TERMS_SEEN_MIN = 100  # where only the chosen arm's propensity is known
SUM_ERROR = 1e-6      # of propensities that add up to 1


def rows_of(path):
    """The rows of the table, as texts by column."""
    try:
        import pandas
    except ImportError:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)
    else:
        table = pandas.read_csv(path, index_col=0, dtype=str, keep_default_na=False)
        yield from table.to_dict("records")


def value_of(cell):
    return json.loads(cell) if cell else None


class Slot:
    def __init__(self, row):
        self.offered = int(row["offered"])
        self.chosen = int(row["chosen"])
        p = value_of(row["p"])
        self.law = p if isinstance(p, list) else None  # of all arms that stand in the row
        self.p = p[self.chosen] if self.law else p
        self.whole = self.law is not None and len(self.law) == self.offered
        self.q = value_of(row["q"]) if self.whole else None
        self.arms = value_of(row["arms"]) or list(range(len(self.law) if self.law else self.offered))
        self.reward = value_of(row["reward"])  # a number; None: open; "unreported"
        self.range = value_of(row["range"]) or [0, 1]
        released = value_of(row["released"])
        self.scale = [released["low"], released["high"]] if released else self.range

    def arm(self):
        return self.arms[self.chosen]

    def problem(self):
        """Why the slot can't be used, or nothing."""
        if not 0 < self.p <= 1 or any(not 0 <= p <= 1 for p in self.law or []):
            return "propensity"
        total = sum(self.law or [1])
        if total > 1 + SUM_ERROR or (self.whole and total < 1 - SUM_ERROR):
            return "propensity"
        known = isinstance(self.reward, (int, float))
        slack = 1e-9 * (self.scale[1] - self.scale[0])
        return "reward" if known and not self.scale[0] - slack <= self.reward <= self.scale[1] + slack else ""


def decisions_of(rows):
    """Decisions, each a list of slots, with its id and time. Rows of one list follow each other."""
    slots = []
    for row in rows:
        slots.append(Slot(row))
        if len(slots) == int(row["list"]):
            yield row["decision"], row["timestamp"].rstrip("Z"), slots  # UTC: order of texts is order of times
            slots = []


def usable(decisions, unreported):
    """Those that say something about other policies, and how many were left out, by reason."""
    decisions = list(decisions)
    opened = min((time for _, time, slots in decisions if any(slot.reward is None for slot in slots)), default=None)
    kept, skipped, seen = [], {}, set()
    for name, time, slots in decisions:
        reason = next(filter(None, (slot.problem() for slot in slots)), "")
        if not reason and all(slot.offered == 1 for slot in slots):
            reason = "single_arm"
        if not reason:
            if name in seen:
                reason = "duplicate"  # of one that says something by itself
            elif opened is not None and time >= opened:
                reason = "pending"  # later ones that have a reward are early reports, which are not like the others
            seen.add(name)
        if reason:
            skipped[reason] = skipped.get(reason, 0) + len(slots)
            continue
        for slot in slots:
            if slot.reward == "unreported":
                if unreported is None:
                    sys.exit(f"judge.py: decision {name}: no report came; --unreported VALUE says what it counts")
                slot.reward = unreported
        kept.append(slots)
    return kept, skipped


def share(of, taken):
    """A law that gives equal shares to the positions `of`; None where there are none."""
    def law(slot):
        free = [at for at in of(slot, taken) if slot.arms[at] not in taken]
        return {at: 1 / len(free) for at in free} if free else None
    return law


def best(slot, taken):
    if slot.q is None:
        sys.exit("judge.py: greedy needs the predictions of all arms, q")
    free = [at for at in range(len(slot.q)) if slot.arms[at] not in taken]
    most = max(slot.q[at] for at in free)
    return [at for at in free if slot.q[at] == most]


def law_of(policy, slot, taken):
    """The probability of each position that has one; None: the policy chooses nothing here."""
    if policy == "logging":
        return dict(enumerate(slot.law)) if slot.law else {slot.chosen: slot.p}
    if policy == "uniform":
        left = slot.offered - sum(arm in taken for arm in slot.arms)
        free = range(len(slot.arms)) if slot.whole else [slot.chosen]
        return {at: 1 / left for at in free if slot.arms[at] not in taken}
    # Which arms stand in a line that lacks some depends on the draw: the chosen one always does.
    if len(slot.arms) < slot.offered:
        return None
    if policy == "greedy":
        return share(best, taken)(slot)
    if policy == "first":
        return share(lambda s, t: [at for at in range(len(s.arms)) if s.arms[at] not in t][:1], taken)(slot)
    kind, _, name = policy.partition(":")
    if kind != "constant":
        sys.exit(f"judge.py: --policy must be logging, uniform, greedy, first or constant:ARM, got {policy}")
    return share(lambda s, t: [at for at, arm in enumerate(s.arms) if str(arm) == name], taken)(slot)


class Terms:
    """How many terms carry a variance: (sum of second moments)^2 / sum of fourth moments."""

    def __init__(self):
        self.second = self.fourth = 0

    def expect(self, p, c, m):
        self.second += p * c**2 * m * (1 - m)
        self.fourth += p * c**4 * m * (1 - m) * ((1 - m)**3 + m**3)

    def see(self, term):
        self.second += term**2
        self.fourth += term**4

    def count(self):
        return self.second**2 / self.fourth if self.fourth > 0 else 0


def clip(value, low, high):
    return min(max(value, low), high)


class Scale:
    """The ends of rewards as logged: their range, or the least and the greatest value of the randomizer."""

    def __init__(self, decisions):
        slots = [slot for slots in decisions for slot in slots]
        self.range = [min(slot.range[0] for slot in slots), max(slot.range[1] for slot in slots)]
        self.low, self.high = min(slot.scale[0] for slot in slots), max(slot.scale[1] for slot in slots)

    def unit(self, reward):
        return clip((reward - self.low) / (self.high - self.low), 0, 1)

    def predictions(self, slot):
        return [clip(clip(q, *self.range), self.low, self.high) for q in slot.q]


class Sums:
    """All that is kept of the decisions for one policy."""

    def __init__(self):
        self.ips, self.dr = [], []       # a term per decision
        self.pairs = []                  # per position of a slot: its weights and rewards
        self.plain, self.careful = Terms(), Terms()
        self.foreseen = True             # every line with the law of all arms has predictions
        self.seen = False                # some line has the chosen arm's propensity alone
        self.uncovered = 0               # what the policy would choose, and the log could not draw

    def add(self, slots, laws, scale, mean):
        """`laws`: a slot's probabilities by position. `mean`: of the rewards before, on [0, 1]."""
        before, ips, dr = 1, 0, 0
        for at, (slot, law) in enumerate(zip(slots, laws)):
            weight = before * law.get(slot.chosen, 0) / slot.p
            ips += weight * slot.reward
            dr += weight * slot.reward
            if len(self.pairs) <= at:
                self.pairs.append([])
            self.pairs[at].append((weight, slot.reward))
            drawn = {arm: pi for arm, pi in law.items() if not slot.whole or slot.law[arm] > 0}
            self.uncovered += sum(law.values()) - sum(drawn.values())
            if slot.q is None:
                self.foreseen = self.foreseen and not slot.whole
                self.seen = True
                self.plain.see(weight * (scale.unit(slot.reward) - mean))
                self.careful.see(weight * (scale.unit(slot.reward) - mean))
            else:
                q = scale.predictions(slot)
                dr += sum(before * pi * q[arm] for arm, pi in drawn.items()) - weight * q[slot.chosen]
                for arm, pi in drawn.items():
                    self.plain.expect(slot.law[arm], before * pi / slot.law[arm], scale.unit(q[arm]))
                    self.careful.expect(slot.law[arm], before * pi / slot.law[arm], max(scale.unit(q[arm]), mean))
            before = weight
        self.ips.append(ips)
        self.dr.append(dr)

    def snips(self):
        """The value, and a term per decision by the delta method; of lists no terms."""
        sums = [sum(weight for weight, _ in pairs) for pairs in self.pairs]
        if not self.ips or not all(sums):
            return None, None
        value = sum(sum(w * y for w, y in pairs) / total for pairs, total in zip(self.pairs, sums))
        if len(self.pairs) > 1:
            return value, None
        return value, [w * (y - value) * len(self.ips) / sums[0] for w, y in self.pairs[0]]

    def row(self, estimator, value, terms):
        """The answer for an estimator that is the mean of `terms`, or nearly so."""
        row = {"estimator": estimator, "value": value, "low": None, "high": None, "decisions": len(self.ips), "note": ""}
        carry = min(self.plain.count(), self.careful.count())
        if self.uncovered > 1e-12 * max(1, len(self.ips)):
            row.update(value=None, note="the policy chooses arms that could not be drawn")
        elif estimator == "dr" and not self.foreseen:
            row.update(value=None, note="the log has no predictions")
        elif value is None:
            row["note"] = "no decision has a weight"
        elif carry < (TERMS_SEEN_MIN if self.seen else TERMS_MIN):
            row["note"] = f"no interval: {carry:.3g} terms carry the variance"
        elif terms and len(terms) > 1:
            half = statistics.NormalDist().inv_cdf(0.975) * statistics.stdev(terms) / math.sqrt(len(terms))
            row.update(low=value - half, high=value + half)
        return row


def judge(decisions, policy):
    """The value of the policy by each estimator, with its interval."""
    scale, sums = Scale(decisions), Sums()
    rewards, count = 0, 0
    for slots in decisions:
        laws, taken = [], []
        for slot in slots:
            laws.append(law_of(policy, slot, taken))
            taken.append(slot.arm())
        if None not in laws:
            sums.add(slots, laws, scale, rewards / count if count else 0.5)
        rewards += sum(scale.unit(slot.reward) for slot in slots)
        count += len(slots)
    mean_of = {name: statistics.fmean(terms) if terms else None for name, terms in (("ips", sums.ips), ("dr", sums.dr))}
    rows = [sums.row("ips", mean_of["ips"], sums.ips), sums.row("snips", *sums.snips()), sums.row("dr", mean_of["dr"], sums.dr)]
    return [{"policy": policy, **row} for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", help="a table that was exported, .csv or .csv.gz")
    parser.add_argument("--policy", nargs="+", default=["logging", "uniform"],
                        help="logging, uniform, greedy, first, constant:ARM")
    parser.add_argument("--unreported", type=float, help="reward of a decision that no report came for")
    parser.add_argument("--json", help="a file for the rows; - for stdout alone")
    parser.add_argument("--plot", help="a file for the picture, .svg")
    arguments = parser.parse_args()
    decisions, skipped = usable(decisions_of(rows_of(arguments.log)), arguments.unreported)
    if not decisions:
        sys.exit("judge.py: no decision can be judged")
    rows = [row for policy in arguments.policy for row in judge(decisions, policy)]
    answer = {"log": {"used": sum(map(len, decisions)), "skipped": skipped}, "rows": rows}
    if arguments.json == "-":
        print(json.dumps(answer, indent=1))
    else:
        for row in rows:
            number = {key: "" if row[key] is None else f"{row[key]:.6g}" for key in ("value", "low", "high")}
            interval = f"[{number['low']:>10}, {number['high']:>10}]"
            print(f"{row['policy']:20} {row['estimator']:6} {number['value']:>10} {interval} {row['note']}")
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(answer, file, indent=1)
    if arguments.plot:
        with open(arguments.plot, "w", encoding="utf-8") as file:
            file.write(picture.draw(rows))


if __name__ == "__main__":
    main()
