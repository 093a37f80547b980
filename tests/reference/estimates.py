"""Estimates of policies from a decision log, written from docs/design/judging.md and docs/formats/decisions.md with the standard library alone.

judge(lines, policies, ...) answers as `bandana-ctl evaluate --json` does, for sound logs: it knows no bad input but what `reason` says.
"""

import json
import math
import statistics

TERMS_MIN = {False: 20, True: 100}  # by whether terms count what was seen


def log_lower_gamma(a, x):
    """log of the lower incomplete gamma function, by its series."""
    term = total = 1 / a
    n = 0
    while term > total * 1e-17:
        n += 1
        term *= x / (a + n)
        total += term
    return a * math.log(x) - x + math.log(total)


def log_mixture(s, v, r):
    return s + v + r * math.log(r) - (v + r) * math.log(s + v + r) + log_lower_gamma(v + r, s + v + r) - log_lower_gamma(r, r)


def tuned(v, threshold):
    return max(1e-3, v / (2 * threshold + math.log(1 + 2 * threshold)))


def lower_bound(terms, k, r, threshold):
    """The m at which the mixture of (centre, residual) terms reaches the threshold."""
    v = sum((residual / (k + 1)) ** 2 for _, residual in terms)
    total = sum((centre + residual) / (k + 1) for centre, residual in terms)
    low, high = 0.0, 1.0
    while log_mixture(high, v, r) < threshold:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if log_mixture(middle, v, r) < threshold else (low, middle)
    return (total - high) * (k + 1) / len(terms)


def units_of(lines):
    """Decisions in order, each a list of its slots' lines."""
    units = []
    for line in lines:
        if line.get("list", 1) > 1 and line["slot"] > 0:
            units[-1].append(line)
        else:
            units.append([line])
    return units


def whole(line):
    return isinstance(line["p"], list) and len(line["p"]) == line.get("offered", len(line["p"]))


def chosen_p(line):
    return line["p"][line["chosen"]] if isinstance(line["p"], list) else line["p"]


def taken(unit, slot):
    return {unit[before]["arms"][unit[before]["chosen"]] for before in range(slot)} if slot else set()


def uniform(unit, slot):
    line = unit[slot]
    gone = taken(unit, slot)
    if not isinstance(line["p"], list):
        return 1 / line["offered"]
    return [0 if arm in gone else 1 / (len(line["arms"]) - len(gone)) for arm in line["arms"]]


def logging(unit, slot):
    return unit[slot]["p"]


def greedy(unit, slot):
    line = unit[slot]
    gone = taken(unit, slot)
    best = max(q for arm, q in zip(line["arms"], line["q"]) if arm not in gone)
    winners = [arm not in gone and q == best for arm, q in zip(line["arms"], line["q"])]
    return [winner / sum(winners) for winner in winners]


def first(unit, slot):
    gone = taken(unit, slot)
    free = [arm for arm in unit[slot]["arms"] if arm not in gone]
    return [1 if arm == free[0] else 0 for arm in unit[slot]["arms"]]


def constant(name):
    def law(unit, slot):
        hits = [str(arm) == name for arm in unit[slot]["arms"]]
        return [hit / sum(hits) for hit in hits] if any(hits) else None
    return law


POLICIES = {"uniform": uniform, "logging": logging, "greedy": greedy, "first": first}


class Log:
    """A log's decisions that count, and their scale."""

    def __init__(self, lines, unreported=None):
        self.skipped = {}
        self.units = []
        seen = set()
        opened = [line["time"] for line in lines if line["reward"] is None]
        cut = min(opened) if opened else None
        for unit in units_of(lines):
            reason = self.reason(unit, seen, cut)
            if reason:
                self.skipped[reason] = self.skipped.get(reason, 0) + len(unit)
            else:
                self.units.append(unit)
        self.range = self.units[0][0].get("range", [0, 1])
        laws = [line["released"] for unit in self.units for line in unit if "released" in line]
        self.low = min(law["low"] for law in laws) if laws else self.range[0]
        self.high = max(law["high"] for law in laws) if laws else self.range[1]
        self.unreported = unreported

    @staticmethod
    def reason(unit, seen, cut):
        for line in unit:
            p = line["p"] if isinstance(line["p"], list) else [line["p"]]
            if any(not 0 <= x <= 1 for x in p) or chosen_p(line) == 0 or (isinstance(line["p"], list) and abs(sum(p) - 1) > 1e-6):
                return "propensity"
        if all(line["offered"] == 1 for line in unit):
            return "single_arm"
        if unit[0]["decision"] in seen:
            return "duplicate"
        seen.add(unit[0]["decision"])
        return "pending" if cut and unit[0]["time"] >= cut else None

    def y(self, line):
        return self.unreported if line["reward"] == "unreported" else line["reward"]

    def scaled(self, value):
        return (value - self.low) / (self.high - self.low)

    def q(self, line):
        return [min(1, max(0, self.scaled(min(self.range[1], max(self.range[0], q))))) for q in line["q"]]


class Slot:
    """One slot under a policy, or under the difference of two: products, and c(a) of every arm."""

    def __init__(self, log, line, one, two, before):
        self.log, self.line = log, line
        self.whole = whole(line)
        self.before = before
        p = chosen_p(line)

        def product(law, previous):
            if law is None:
                return 0.0
            return previous * (law[line["chosen"]] if self.whole else law if not isinstance(law, list) else law[line["chosen"]]) / p
        self.weights = (product(one, before[0]), product(two, before[1]))
        self.c = self.weights[0] - self.weights[1]
        self.y = log.y(line)
        self.y01 = log.scaled(self.y)
        if self.whole:
            second = two or [0] * len(one)
            self.gap = [before[0] * a - before[1] * b for a, b in zip(one, second)]
            self.by_arm = [g / p if p > 0 else None for g, p in zip(self.gap, line["p"])]
            self.uncovered = [a - b for a, b, p in zip(one, second, line["p"]) if p == 0]
            self.covered = [sum(a for a, p in zip(law, line["p"]) if p > 0) for law in (one, second)]
        else:
            self.uncovered, self.covered = [], [1.0, 0.0 if two is None else 1.0]
        self.q = log.q(line) if self.whole and "q" in line else None


def slots_of(log, unit, one, two, lists):
    slots, before = [], (1.0, 0.0 if two is None else 1.0)
    for number, line in enumerate(unit):
        laws = [policy(unit, number) if policy else None for policy in (one, two)]
        if laws[0] is None or (two and laws[1] is None):
            return None
        slots.append(Slot(log, line, laws[0], laws[1], before))
        before = slots[-1].weights
    if lists == "whole" and len(slots) > 1:
        for slot in slots:
            slot.weights, slot.c, slot.q = slots[-1].weights, slots[-1].c, None
    return slots


def cut(q, c, k):
    return min(q, k / c) if c > 0 else max(q, 1 - k / abs(c)) if c < 0 else q


def step(slots, upper, k, predictions, two):
    """(centre, residual) of a decision."""
    sign, minus = (-1, 0) if upper else (1, 1)
    centre = residual = 0.0
    for number, slot in enumerate(slots):
        has_minus = upper or two
        if predictions and slot.q is not None:
            arms = [(p, sign * c, q) for p, c, q in zip(slot.line["p"], slot.by_arm, slot.q) if p > 0] if not upper else \
                   [(p, -c, q) for p, c, q in zip(slot.line["p"], slot.by_arm, slot.q) if p > 0]
            known = sum(p * c * cut(q, c, k / len(slots)) for p, c, q in arms)
            own = sign * slot.by_arm[slot.line["chosen"]]
            residual += own * (slot.y01 - cut(slot.q[slot.line["chosen"]], own, k / len(slots)))
            if number == 0:
                centre += known
            else:
                residual += known + slot.before[minus]
                centre -= 1 if has_minus else 0
        else:
            residual += slot.weights[1 - minus] * slot.y01 + slot.weights[minus] * (1 - slot.y01)
            if has_minus:
                centre -= 1 if len(slots) > 1 else slot.covered[minus]
    return centre, residual


def design_square(slots, upper, k, predictions, mean):
    square = 0.0
    for slot in slots:
        if predictions and slot.q is not None:
            for p, c, q in zip(slot.line["p"], slot.by_arm, slot.q):
                if p > 0:
                    c = -c if upper else c
                    m = max(q, mean)
                    square += p * c * c * (m * (1 - m) + (m - cut(q, c, k / len(slots))) ** 2)
        else:
            plus, minus = slot.weights[1 if upper else 0], slot.weights[0 if upper else 1]
            square += plus ** 2 * mean + minus ** 2 * (1 - mean)
    return square


def anytime(decisions, first_ones, upper, predictions, two, threshold, planned):
    best = None
    for k in (1, 2, 5, 10, 20, 50, 100, 200):
        v = sum(design_square(slots, upper, k, predictions, mean) for slots, mean in first_ones) / len(first_ones)
        width = math.sqrt(2 * threshold * v / planned) + 2 * (k + 1) * threshold / (3 * planned)
        if best is None or width < best[0]:
            best = (width, k, tuned(v * planned / (k + 1) ** 2, threshold))
    _, k, r = best
    return lower_bound([step(slots, upper, k, predictions, two) for slots in decisions], k, r, threshold)


def terms_of(decisions):
    """(terms, the fewer of these and of careful ones, whether what was seen is in them)."""
    sums = [[0.0, 0.0], [0.0, 0.0]]
    seen, rewards = False, []
    for slots in decisions:
        mean = statistics.fmean(rewards) if rewards else 0.5
        for slot in slots:
            for careful, moments in enumerate(sums):
                if slot.q is None:
                    x = slot.c * (slot.y01 - mean)
                    moments[0], moments[1], seen = moments[0] + x ** 2, moments[1] + x ** 4, True
                    continue
                for p, c, q in zip(slot.line["p"], slot.by_arm, slot.q):
                    if p > 0:
                        m = max(q, mean) if careful else q
                        moments[0] += p * c ** 2 * m * (1 - m)
                        moments[1] += p * c ** 4 * m * (1 - m) * ((1 - m) ** 3 + m ** 3)
        rewards.append(statistics.fmean(slot.y01 for slot in slots))
    plain, careful = (second ** 2 / fourth if fourth > 0 else 0.0 for second, fourth in sums)
    return plain, min(plain, careful), seen


def estimate(log, decisions, estimator):
    """(value, deviation of the terms or None)."""
    def unscaled(q):
        return log.low + (log.high - log.low) * q
    if estimator == "ips":
        terms = [sum(slot.c * slot.y for slot in slots) for slots in decisions]
    elif estimator == "dr":
        terms = []
        for slots in decisions:
            total = 0.0
            for slot in slots:
                if slot.q is None:
                    total += slot.c * slot.y
                else:
                    total += slot.c * (slot.y - unscaled(slot.q[slot.line["chosen"]]))
                    total += sum(g * unscaled(q) for g, q, p in zip(slot.gap, slot.q, slot.line["p"]) if p > 0)
            terms.append(total)
    elif estimator == "dm":
        if any(slot.q is None for slots in decisions for slot in slots):
            return None, None
        return statistics.fmean(sum(g * unscaled(q) for slot in slots for g, q in zip(slot.gap, slot.q)) for slots in decisions), None
    else:
        return snips(decisions)
    return statistics.fmean(terms), statistics.stdev(terms) if len(terms) > 1 else None


def snips(decisions):
    value, parts = 0.0, []
    for number in range(max(len(slots) for slots in decisions)):
        for side, sign in ((0, 1), (1, -1)):
            pairs = [(slots[number].weights[side], slots[number].y) for slots in decisions if number < len(slots)]
            mass = sum(w for w, _ in pairs)
            if side == 1 and mass == 0:
                continue
            if mass == 0:
                return None, None
            ratio = sum(w * y for w, y in pairs) / mass
            value += sign * ratio
            parts.append([sign * w * (y - ratio) * len(pairs) / mass for w, y in pairs])
    if any(len(slots) > 1 for slots in decisions):
        return value, None
    terms = [sum(part[i] for part in parts) for i in range(len(decisions))]
    return value, math.sqrt(sum(x * x for x in terms) / (len(terms) - 1))


def row(log, name, against, estimator, interval, confidence, alpha, lists):
    one, two = (POLICIES.get(n) or constant(n.split(":")[1]) if n else None for n in (name, against))
    everything = [slots_of(log, unit, one, two, lists) for unit in log.units]
    n, skip = len(everything), max(200, len(everything) // 20)
    bounds = any(slot.uncovered and any(abs(u) > 1e-12 for u in slot.uncovered) for slots in everything if slots for slot in slots)
    tail = [slots for slots in everything[skip:] if slots]
    used = tail if interval == "anytime" or bounds else [slots for slots in everything if slots]
    answer = {"policy": name, "against": against, "estimator": estimator, "interval": "bounds" if bounds else interval,
              "value": None, "low": None, "high": None, "confidence": confidence, "decisions": len(used)}
    if not used:
        return {**answer, **dict.fromkeys(("effective_decisions", "terms", "weight_mean", "weight_max", "uncovered"), 0)}
    weights = [slots[-1].c for slots in used]
    terms, careful, seen = terms_of(used)
    uncovered = [[u for slot in slots for u in slot.uncovered] for slots in used]
    answer.update(effective_decisions=sum(map(abs, weights)) ** 2 / sum(w * w for w in weights) if any(weights) else 0, terms=terms,
                  weight_mean=statistics.fmean(weights), weight_max=max(map(abs, weights)),
                  uncovered=statistics.fmean(sum(map(abs, u)) for u in uncovered))
    value, deviation = estimate(log, used, estimator)
    if not bounds:
        answer["value"] = value
    if answer["interval"] == "large_sample":
        if careful >= TERMS_MIN[seen] and deviation is not None:
            half = statistics.NormalDist().inv_cdf(1 - alpha / 2) * deviation / math.sqrt(len(used))
            answer.update(low=value - half, high=value + half)
        return answer
    if estimator in ("snips", "dm") and not bounds:
        return answer
    rewards, first_ones = [], []
    for unit, slots in zip(log.units[:skip], everything[:skip]):
        if slots:
            first_ones.append((slots, statistics.fmean(rewards) if rewards else 0.5))
        rewards += [log.scaled(log.y(line)) for line in unit]
    ends = [anytime(tail, first_ones, upper, estimator != "ips", two is not None, math.log(2 / alpha), n - skip) for upper in (False, True)]
    covered = statistics.fmean(sum(slot.covered[0] - slot.covered[1] for slot in slots) for slots in used)
    slots = statistics.fmean(len(s) for s in used)
    gained = statistics.fmean(sum(x for x in u if x > 0) for u in uncovered)
    lost = -statistics.fmean(sum(x for x in u if x < 0) for u in uncovered)
    low, high = ((log.high - log.low) * end + log.low * covered for end in (ends[0], -ends[1]))
    least, most = log.range
    low, high = low + gained * least - lost * most, high + gained * most - lost * least
    floor, roof = (-(most - least) * slots, (most - least) * slots) if two else (least * slots, most * slots)
    answer.update(low=min(max(low, floor), roof), high=min(max(high, floor), roof))
    return answer


def judge(lines, policies, against=None, estimators=("dr",), interval="anytime", confidence=0.95, each=False, lists="prefix",
          unreported=None):
    log = Log(lines, unreported)
    alpha = (1 - confidence) / (1 if each else len(policies))
    return {"log": {"lines": len(lines), "used": sum(map(len, log.units)), "skipped": log.skipped},
            "rows": [row(log, name, against, estimator, interval, confidence, alpha, lists) for name in policies for estimator in estimators]}


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]
