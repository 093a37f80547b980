#!/usr/bin/env python3
"""Sees that every rule of docs/wire_sdk.md stands once, in order, and that the test which holds it exists: check_rules.py [ROOT].

A rule is a row of a table whose first cell is its number, with a * where it leaks when it is broken. Its last cell names a test,
`Suite.Name`; a rule that leaks says what in the cell before it.
"""

import os
import re
import sys

RULES = 50
LEAKING = 37
PAGE = "docs/wire_sdk.md"
ROW = re.compile(r"^\| (\d+)(\*?) \|(.*)\|$")
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)


def tests(root):
    found = set()
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        for name in names:
            if name.endswith(".cc"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found.update(f"{suite}.{case}" for suite, case in TEST.findall(file.read()))
    return found


def problems(page, known):
    """The mistakes in the page's text, given the names of all tests."""
    wrong = []
    numbers = []
    leaking = 0
    for at, line in enumerate(page.splitlines(), 1):
        row = ROW.match(line)
        if not row:
            continue
        cells = [cell.strip() for cell in row.group(3).split("|")]
        place = f"{PAGE}:{at}: rule {row.group(1)}"
        numbers.append(int(row.group(1)))
        leaking += row.group(2) == "*"
        if len(cells) != 3:
            wrong.append(f"{place} has {len(cells)} cells after its number, must have 3")
            continue
        if row.group(2) and not cells[1]:
            wrong.append(f"{place} leaks and does not say what")
        name = cells[2].strip("`")
        if name not in known:
            wrong.append(f"{place} is held by {name or 'nothing'}, which is no test")
    if numbers != list(range(1, RULES + 1)):
        wrong.append(f"{PAGE}: rules must be 1 to {RULES} in order, got {numbers}")
    if leaking != LEAKING:
        wrong.append(f"{PAGE}: {LEAKING} rules leak, got {leaking} with a *")
    return wrong


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        wrong = problems(file.read(), tests(root))
    print("\n".join(wrong + [f"rules: {len(wrong)} problems"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
