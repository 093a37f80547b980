"""Epsilon to table, reward to step, table with step and word to output: docs/wire_sdk/bytes.md, Table from epsilon and after it."""

import hashlib
import math
from fractions import Fraction

STEPS = 2**20
GRAIN = 2**43
POSITIONS = 512


def ratio(epsilon):
    """R in units of 2^-50."""
    if epsilon >= 20.8:
        return 2**80
    x = math.floor(Fraction(epsilon) * 2**59)
    total, term, k = 0, 2**64, 1
    while term > 0:
        total += term
        term = (term * x >> 64) // k
        k += 1
    m, e = total >> 1, 0
    for _ in range(5):
        square = m * m
        carry = square >> 127
        m = square >> (63 + carry)
        e = 2 * e + carry
    shift = e - 13
    return min(m << shift if shift >= 0 else m >> -shift, 2**80)


class Component:
    def __init__(self, r, positions, width, grain):
        divisor = math.gcd(width, positions)
        j, w = positions // divisor, width // divisor
        h = r * grain // (j * 2**50 + r * w)
        self.positions, self.width, self.grain = positions, width, grain
        self.high, self.low = j * h, grain - w * h
        if not (self.high > self.low > 0 and self.high << 50 <= r * self.low):
            raise ValueError("epsilon is too small")

    def integers(self):
        return [STEPS, self.positions, self.width, self.grain, self.high, self.low]

    def total(self):
        return self.grain * STEPS

    def cells(self):
        return self.positions + self.width

    def masses(self, step):
        """How many draws give each cell; they sum to total()."""
        per = STEPS // self.positions
        up = step % per
        out = [0] * self.cells()
        for position, share in ((step // per, per - up), (step // per + 1, up)):
            for cell in range(self.cells() if share else 0):
                out[cell] += share * (self.high if position <= cell < position + self.width else self.low)
        return out

    def cell(self, step, draw):
        per = STEPS // self.positions
        mass = self.grain * self.positions
        rounding, x = divmod(draw, mass)
        position = step // per + (rounding < step % per)
        inside = self.width * self.high
        if x < inside:
            return position + x // self.high
        outside = (x - inside) // self.low
        return outside + (self.width if outside >= position else 0)


def design(r):
    """Width, share and variance of the window, in doubles."""
    c = (r + 1) / (r - 1)
    bit = c * c
    j = float(POSITIONS)
    best = (1, 1.0, math.inf)
    for width in range(1, POSITIONS + 1):
        w = float(width)
        cells = j + w
        low = 1 / (w * r + j)
        gap = (r - 1) * low
        spacing = 2 / (j * w * gap)
        constant = spacing * spacing / 12 * (low * cells * (cells * cells - 1) + gap * w * (w * w - 1))
        slope = 1 / (gap * w)
        share = min(1.0, 1 / slope)
        variance = share * constant + (1 - share) * bit
        if variance < best[2]:
            best = (width, share, variance)
    return best


class Table:
    def __init__(self, epsilon, binary, low=0.0, high=1.0):
        r = ratio(epsilon)
        one_bit = Component(r, 1, 1, GRAIN)
        self.components = [one_bit]
        if binary:
            return
        width, share, variance = design(r * 2.0**-50)
        v = float(GRAIN) / float(one_bit.high - one_bit.low)
        of_bit = (float(one_bit.low) * (v * v + v * v) + float(one_bit.high - one_bit.low) * (v * v)) / float(GRAIN)
        half = (high - low) / 2
        if variance * half * half >= 0.999 * (half * half * of_bit):
            return
        bit_grain = math.floor((1 - share) * 2.0**43)
        if bit_grain < 4096:
            bit_grain = 0
        self.components = [Component(r, 1, 1, bit_grain)] if bit_grain else []
        self.components.append(Component(r, POSITIONS, width, GRAIN - bit_grain))

    def outputs(self):
        return sum(component.cells() for component in self.components)

    def digest(self):
        numbers = [len(self.components)]
        for component in self.components:
            numbers += component.integers()
        text = b"bandana randomizer table 1" + b"".join(n.to_bytes(8, "little") for n in numbers)
        return hashlib.sha256(text).digest()

    def masses(self, step):
        """How many words of 63 bits give each output."""
        return [mass for component in self.components for mass in component.masses(step)]

    def output(self, step, word):
        draw, first = word % 2**63, 0
        for component in self.components:
            if draw < component.total():
                return first + component.cell(step, draw)
            draw -= component.total()
            first += component.cells()
        raise AssertionError("masses do not sum to 2^63")


def is_window(low, high, window):
    return window is not None and window[0] >= low and window[1] <= high and window[0] < window[1]


def clip(reward, low, high, default, binary=False):
    """The step of a reward; None is missing."""
    r = default if reward is None or math.isnan(reward) else reward
    if binary:
        return STEPS if (r - low) / (high - low) >= 0.5 else 0
    if not r > low:
        return 0
    if r >= high:
        return STEPS
    return math.floor((r - low) / (high - low) * STEPS + 0.5)
