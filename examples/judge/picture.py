"""A picture of values with their intervals, as SVG, without any library."""

import html
import math

ROW, LEFT, WIDTH, TOP = 22, 220, 480, 16


def ticks(low, high):
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 6)
    first = math.ceil(low / step)
    return [round(at * step, 12) for at in range(first, math.floor(high / step) + 1)]


def draw(rows):
    """`rows`: dictionaries with policy, estimator, value, low, high; None where there is none."""
    ends = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None] or [0, 1]
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.05 or 0.5
    low, high = low - margin, high + margin

    def x(value):
        return LEFT + WIDTH * (value - low) / (high - low)

    bottom = TOP + ROW * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{bottom + 44}" '
             'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for value in ticks(low, high):
        parts.append(f'<line x1="{x(value):.1f}" y1="{TOP}" x2="{x(value):.1f}" y2="{bottom}" stroke="#ddd"/>'
                     f'<text x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>')
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        name = html.escape(f"{row['policy']}, {row['estimator']}")
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{name}</text>')
        if row["low"] is not None:
            parts.append(f'<line x1="{x(row["low"]):.1f}" y1="{y}" x2="{x(row["high"]):.1f}" y2="{y}" stroke="#1f77b4" '
                         'stroke-width="2"/>')
        if row["value"] is not None:
            parts.append(f'<circle cx="{x(row["value"]):.1f}" cy="{y}" r="4" fill="#1f77b4"/>')
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 36}" text-anchor="middle">mean reward on these decisions, '
                 'with its 95 % interval by the normal law</text></svg>\n')
    return "".join(parts)
