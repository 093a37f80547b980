"""The law of a host's reports, from the second implementation alone, and an exact test of counts against it.

Neighbouring outputs are joined into at most 16 bins, and neighbouring bins into runs, all of them. A run's count is binomial; its two-sided
test has an error of ERROR / runs at most. So a host that draws by the law is refused with probability ERROR at most, over all runs together.
Nothing is approximated but by doubles.
"""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reference"))
import randomizer  # noqa: E402

ERROR = 1e-6
BINS_MAX = 16


def outputs(epsilon, binary, reward, ratio_of=None):
    """Probability of each output, for rewards in [0, 1]. `ratio_of`: masses of another epsilon in the same table, as a mutant has them."""
    table = randomizer.Table(epsilon, binary)
    if ratio_of is not None:
        ratio = randomizer.ratio(ratio_of)
        table.components = [randomizer.Component(ratio, c.positions, c.width, c.grain) for c in table.components]
    masses = table.masses(randomizer.clip(reward, 0.0, 1.0, 0.0, binary))
    return [mass / sum(masses) for mass in masses]


def bins(law):
    """Where bins end: each has 1 / BINS_MAX of the law, or is one output; what is left over joins the last one."""
    ends, sum_ = [], 0.0
    for output, probability in enumerate(law):
        sum_ += probability
        if sum_ >= 1 / BINS_MAX:
            ends.append(output + 1)
            sum_ = 0.0
    ends[-1] = len(law)
    return ends


def runs(ends):
    """Outputs of each run of bins, but of all of them."""
    starts = [0, *ends[:-1]]
    return [(first, end) for i, first in enumerate(starts) for end in ends[i:] if (first, end) != (0, ends[-1])]


def probability(n, p, k):
    """That k of n come, where one comes with p."""
    if p <= 0 or p >= 1:
        return float(k == (n if p >= 1 else 0))
    return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p))


def accepted(n, p, error):
    """The least and the largest count of n that is not refused: each side has half of the error at most."""
    low, below = 0, probability(n, p, 0)
    while below <= error / 2:
        low += 1
        below += probability(n, p, low)
    high, above = n, probability(n, p, n)
    while above <= error / 2:
        high -= 1
        above += probability(n, p, high)
    return low, high


def refused(counts, law):
    """The runs whose counts are not believed: (first output, end, count, least, largest)."""
    found, every = [], runs(bins(law))
    for first, end in every:
        count = sum(counts[first:end])
        low, high = accepted(sum(counts), sum(law[first:end]), ERROR / len(every))
        if not low <= count <= high:
            found.append((first, end, count, low, high))
    return found


def power(n, law, mutant):
    """A lower bound of the probability that n draws of the mutant are refused: that of its best run."""
    best, every = 0.0, runs(bins(law))
    for first, end in every:
        low, high = accepted(n, sum(law[first:end]), ERROR / len(every))
        q = sum(mutant[first:end])
        best = max(best, 1 - sum(probability(n, q, k) for k in range(low, high + 1)))
    return best
