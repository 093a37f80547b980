#!/usr/bin/env python3
"""Checks the figures in documents: check_figures.py LAB [NAME ...] [--make] [--root ROOT].

LAB is the program bandana-lab. docs/figures/tables.toml names each table of figures with the command that gave it and a short form of
that command. docs/figures/NAME.json has the table's lines and the figures of the short form, made at one time. Here the short forms run
again: a figure that differs by more than one part in a million is off, and so is a line that differs from the document's. With --make
the files are written anew; do that only for a table that was measured anew.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

import markdown_source
import source_tree

DOCUMENTS = ("README.md", "docs/experiments.md", "docs/experiments/table1.md", "docs/findings.md", "docs/findings/ss18.md", "docs/findings/z20.md")
TABLES = "docs/figures/tables.toml"
ERROR_MAX = 1e-6
WITHOUT_SHORT_FORM_MAX = 5
NUMBER = re.compile(r"^\**[\d,]+(\.\d+)?(e-?\d+)?\**( ?(\(|\+-|%).*)?$")
# The fields that identify a group of the lab's JSON, as opposed to its measurements.
NAMES = ("algorithm", "label", "epsilon", "delta", "dimension", "users", "arms", "horizon")


def tables_in(text):
    """Header -> (line of the header, lines below the rule) of each table in a document."""
    found, lines, start = {}, [], 0
    for number, line in [*markdown_source.prose(text), (0, "")]:
        if line.startswith("|"):
            start = start if lines else number
            lines.append(line)
        elif lines:
            found.setdefault(lines[0], []).append((start, lines[2:]))
            lines = []
    return found


def has_figures(rows):
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")]
    numbers = sum(1 for cell in cells if NUMBER.match(cell))
    return numbers >= 3 and numbers >= 0.3 * len(cells)


class Figures:
    """The tables of one tree. `run` gives the lab's JSON of one short form."""

    def __init__(self, root, run):
        self.root, self.run = root, run
        with open(os.path.join(root, TABLES), "rb") as file:
            listed = tomllib.load(file)
        self.tables, self.without = listed.get("table", []), listed.get("without_short_form", [])
        self.documents = {path: tables_in(source_tree.read(root, path)) for path in DOCUMENTS}
        self.checked, self.problems = 0, []

    def printed(self, table):
        """The lines of the table in its document; none, and a problem, where there is not exactly one of its header."""
        places = self.documents[table["document"]].get(table["header"], [])
        if len(places) != 1:
            self.problems.append(f"{TABLES}: {table['document']} has {len(places)} tables with the header {table['header']}")
            return []
        return places[0][1]

    def check_list(self):
        """Every table of figures is listed, and nearly all of them have a short form."""
        listed = {(table["document"], table["header"]) for table in self.tables + self.without}
        for path, tables in self.documents.items():
            for header, places in tables.items():
                for line, rows in places:
                    if has_figures(rows) and (path, header) not in listed:
                        self.problems.append(f"{path}:{line}: a table of figures that {TABLES} does not name")
        for table in self.without:
            self.printed(table)
            if not table.get("reason"):
                self.problems.append(f"{TABLES}: say why the table {table['header']} has no short form")
        if len(self.without) > WITHOUT_SHORT_FORM_MAX:
            self.problems.append(f"{TABLES}: {len(self.without)} tables without a short form, at most {WITHOUT_SHORT_FORM_MAX}")

    def path(self, table):
        return f"docs/figures/{table['name']}.json"

    def measure(self, table):
        """Row -> its figures, of the short form."""
        rows = {}
        for group in self.run(table)["groups"]:
            settings = group.get("settings", {})
            words = [f"{name} {group[name]}" for name in NAMES if name in group] + [f"{key} {settings[key]}" for key in sorted(settings)]
            figures = {key: value["mean"] for key, value in group.items() if isinstance(value, dict) and "mean" in value}
            if rows.setdefault(", ".join(words), figures) is not figures:
                raise ValueError(f"{table['name']}: two rows {', '.join(words)}")
        return rows

    def make(self, table):
        content = {"printed": self.printed(table), "rows": self.measure(table)}
        lines = [json.dumps(line, ensure_ascii=False) for line in content["printed"]]
        rows = [f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in content["rows"].items()]
        text = '{"printed": [\n' + ",\n".join(lines) + '\n], "rows": {\n' + ",\n".join(rows) + "\n}}\n"
        json.loads(text)
        with open(os.path.join(self.root, self.path(table)), "w", encoding="utf-8") as file:
            file.write(text)

    def off(self, table, row, found, wanted):
        self.problems.append(f"{self.path(table)}: {row}: now {found}, in the file {wanted}")

    def compare(self, table):
        try:
            wanted = json.loads(source_tree.read(self.root, self.path(table)))
        except FileNotFoundError:
            self.problems.append(f"{self.path(table)} is missing; make it with --make {table['name']}")
            return
        printed = self.printed(table)
        self.checked += max(len(printed), len(wanted["printed"]))
        for place in range(max(len(printed), len(wanted["printed"]))):
            found, before = (lines[place] if place < len(lines) else "no line" for lines in (printed, wanted["printed"]))
            if found != before:
                self.off(table, f"line {place + 1} of the table in {table['document']}", found, before)
        rows = self.measure(table)
        self.checked += len(rows | wanted["rows"])
        for row in rows | wanted["rows"]:
            found, before = rows.get(row), wanted["rows"].get(row)
            if not found or not before or found.keys() != before.keys():
                self.off(table, row, found, before)
            elif wrong := [name for name in before if not near(found[name], before[name])]:
                self.off(table, row, {name: found[name] for name in wrong}, {name: before[name] for name in wrong})


def near(one, other):
    if one is None or other is None:
        return one is other
    return abs(one - other) <= ERROR_MAX * max(abs(one), abs(other))


def run_lab(lab, table):
    """The lab's JSON of a table's short form. Its algebra is that of one kind of processor, so that sums have one order."""
    words = shlex.split(table["short"])
    if words[:2] != ["bandana-lab", "run"]:
        raise ValueError(f"{TABLES}: the short form of {table['name']} must begin with bandana-lab run")
    with tempfile.TemporaryDirectory(prefix="bandana-figures-") as folder:
        environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([lab, *words[1:], "--out", folder], check=False, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise ValueError(f"{table['short']}: {done.stderr.strip() or done.returncode}")
        with open(os.path.join(folder, words[2] + ".json"), encoding="utf-8") as file:
            return json.load(file)


def has_processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = set(file.read().split())
    except OSError:
        return False
    return {"avx2", "fma"} <= flags


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab")
    parser.add_argument("names", nargs="*", help="tables by their names in the list; all of them without")
    parser.add_argument("--make", action="store_true", help="write the files of these tables anew")
    parser.add_argument("--root", default=source_tree.default_root())
    arguments = parser.parse_args()
    if not has_processor():
        sys.exit("figures: they were made on a processor with AVX2 and FMA; the last bits of this one's sums may differ")
    figures = Figures(arguments.root, lambda table: run_lab(os.path.abspath(arguments.lab), table))
    figures.check_list()
    if unknown := set(arguments.names) - {table["name"] for table in figures.tables}:
        sys.exit(f"figures: {TABLES} has no {', '.join(sorted(unknown))}")
    for table in figures.tables:
        if not arguments.names or table["name"] in arguments.names:
            figures.make(table) if arguments.make else figures.compare(table)
            print(f"{table['name']}: {'made' if arguments.make else 'done'}", file=sys.stderr, flush=True)
    for problem in figures.problems:
        print(problem)
    print(f"rows checked {figures.checked}, rows off {len(figures.problems)}")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main())
