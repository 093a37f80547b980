#!/usr/bin/env python3
"""Compares runs of bandana-fleet: a table, and a picture over time, of rewards or of regrets.

    tools/fleet/draw_runs.py OUT.svg --title TEXT [--measure reward|sum|regret] [--at 20000,50000] NAME=RUN.json[,...] ...

The reward is drawn as a multiple of a random choice's on the same decisions; its sum, and the regret, as they add up.

Each NAME is one line of the picture: the mean over its runs (--json of bandana-fleet), with a band from the least to the
greatest where there are more than one. The table is Markdown, on stdout. Needs gnuplot.
"""

import argparse
import json
import subprocess
import sys

COLOURS = ["#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#1f78b4", "#a6761d", "#666666", "#000000", "#e6ab02",
           "#8dd3c7", "#fb8072"]


MEASURES = {
    "reward": ("reward, as a multiple of a random choice", lambda point: point["reward"] / point["random_reward"]),
    "sum": ("cumulative reward", lambda point: point["reward"]),
    "regret": ("cumulative regret", lambda point: point["regret"]),
}


def read_run(path, value_of):
    """Decisions -> value."""
    with open(path, encoding="utf-8") as file:
        curve = json.load(file)["curve"]
    return {point["decisions"]: value_of(point) for point in curve}


def read_series(argument, value_of):
    name, separator, files = argument.partition("=")
    if not separator or not files:
        sys.exit(f"draw_runs.py: expected NAME=RUN.json[,RUN.json...], got {argument}")
    return name, [read_run(path, value_of) for path in files.split(",")]


def row_of(runs, decisions):
    values = [run[decisions] for run in runs if decisions in run]
    if not values:
        return ""
    digits = 2 if max(values) < 100 else 0
    mean = f"{sum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else mean + " (" + " / ".join(f"{value:.{digits}f}" for value in values) + ")"


def table(series, points):
    lines = ["| model | " + " | ".join(f"{point:,}" for point in points) + " |", "|---" * (len(points) + 1) + "|"]
    for name, runs in series:
        lines.append(f"| `{name}` | " + " | ".join(row_of(runs, point) for point in points) + " |")
    return "\n".join(lines)


def script(series, title, label, path):
    lines = [f"set terminal svg size 900,560 dynamic background '#ffffff'; set output '{path}'",
             f"set title '{title}'", "set xlabel 'decisions'", f"set ylabel '{label}'",
             "set key outside right reverse Left", "set grid lc rgb '#dddddd'", "set xrange [0:*]", "set yrange [0:*]",
             "set format x '%.0f'", "set style fill transparent solid 0.15 noborder"]
    plots = []
    for index, (name, runs) in enumerate(series):
        lines.append(f"$runs{index} << END")
        for decisions in sorted(set.intersection(*(set(run) for run in runs))):
            values = [run[decisions] for run in runs]
            lines.append(f"{decisions} {sum(values) / len(values):.6g} {min(values):.6g} {max(values):.6g}")
        lines.append("END")
        colour = f"lc rgb '{COLOURS[index % len(COLOURS)]}'"
        if len(runs) > 1:
            plots.append(f"$runs{index} using 1:3:4 with filledcurves {colour} notitle")
        plots.append(f"$runs{index} using 1:2 with lines lw 2 {colour} title '{name}' noenhanced")
    return "\n".join(lines) + "\nplot " + ", ".join(plots) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("svg")
    parser.add_argument("series", nargs="+", metavar="NAME=RUN.json")
    parser.add_argument("--title", default="bandana-fleet")
    parser.add_argument("--measure", choices=MEASURES, default="reward")
    parser.add_argument("--at", default="20000,50000", help="decisions of the table's columns")
    arguments = parser.parse_args()
    label, value_of = MEASURES[arguments.measure]
    series = [read_series(argument, value_of) for argument in arguments.series]
    print(table(series, [int(point) for point in arguments.at.split(",")]))
    subprocess.run(["gnuplot"], input=script(series, arguments.title, label, arguments.svg), text=True, check=True)


if __name__ == "__main__":
    main()
