"""Window and word to times, and the device's clock: docs/wire_sdk/bytes.md, Window and word to times."""

from fractions import Fraction

GUARD_NS = 50 * 10**6
JITTER_NS_MAX = 60 * 10**9


def close_and_leave_us(decided_us, window_ns, word):
    """Whole microseconds, rounded down."""
    close = Fraction(decided_us) + Fraction(window_ns, 1000)
    jitter = min(Fraction(window_ns, 8), JITTER_NS_MAX) * Fraction(word >> 11, 2**53)
    return int(close // 1), int((close + (GUARD_NS + jitter) / 1000) // 1)


class Clock:
    """It never goes back."""

    def __init__(self, latest, ahead):
        self.latest, self.ahead = latest, ahead

    def now(self, wall):
        self.latest = max(self.latest, wall + self.ahead)
        self.ahead = self.latest - wall
        return self.latest
