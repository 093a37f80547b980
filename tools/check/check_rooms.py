#!/usr/bin/env python3
"""Every room has a page, README.md in its folder, by which a newcomer can decide whether to read on.

A page has at most LINES_MAX lines: the path as its heading, one paragraph of what the room is for, an example, what the room may not
know, and its limits. A folder with a target has a page of its own; the folders in COLLECTIONS have one for all below them. A room
without one is named, by its path, on the page of the folder above it.
"""

import os
import re
import sys

import check_layering
import source_tree

LINES_MAX = 60
HEADINGS = ["Example", "It may not know", "Limits"]
TARGET = re.compile(r"^\s*(?:bandana|add)_(?:library|executable)\(", re.M)
# Folders that are read together.
COLLECTIONS = ("examples", "research/lab")
# The room of all tests is what CONTRIBUTING.md says of tests.
WITHOUT = {"tests", "tools"}


def folders_with_targets(root):
    paths = [os.path.dirname(path) for path in source_tree.files(root, ["CMakeLists.txt"])
             if TARGET.search(source_tree.read(root, path))]
    return {path for path in paths if path and path.split("/")[0] != "tests"
            and not path.startswith(tuple(name + "/" for name in COLLECTIONS))}


def page_problems(folder, text):
    """Errors of the form of a page."""
    path, lines, found = f"{folder}/README.md", text.splitlines(), []
    if len(lines) > LINES_MAX:
        found.append(f"{path}: {len(lines)} lines, at most {LINES_MAX}")
    if not lines or lines[0] != f"# {folder}":
        found.append(f"{path}:1: begins with '# {folder}'")
    headings = [line[3:] for line in lines if line.startswith("## ")]
    if headings != HEADINGS:
        return found + [f"{path}: has the headings {', '.join(HEADINGS)}, in this order"]
    first, example = (re.search(pattern, text, re.S).group(1).strip() for pattern in
                      (r"\A[^\n]*\n(.*?)\n## Example", r"\n## Example\n(.*?)\n## "))
    if not first:
        found.append(f"{path}: begins by saying what the room is for")
    if "```" not in example:
        found.append(f"{path}: the example is a block of code")
    return found


def page_above(root, folder):
    """The nearest folder above with a page; '' where there is none."""
    while folder:
        folder = os.path.dirname(folder)
        if folder and os.path.isfile(os.path.join(root, folder, "README.md")):
            return folder
    return ""


def check(root, rooms):
    found = []
    needed = folders_with_targets(root)
    for folder in sorted(needed | rooms):
        if os.path.isfile(os.path.join(root, folder, "README.md")):
            found += page_problems(folder, source_tree.read(root, f"{folder}/README.md"))
        elif folder in needed:
            found.append(f"{folder}/README.md: no page for this folder with a target")
        else:
            above = page_above(root, folder)
            name = folder[len(above) + 1:]
            if not above or f"`{name}" not in source_tree.read(root, f"{above}/README.md"):
                found.append(f"{folder}: has no page, and {above or 'no page above'} does not name `{name}`")
    return found


if __name__ == "__main__":
    ROOMS = (set(check_layering.ALLOWED) | check_layering.PLAIN_TOOLS) - WITHOUT
    source_tree.finish("rooms", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root(), ROOMS))
