#!/usr/bin/env python3
"""Checks that a reader of the documents gets where they point, and can read them in a window.

- Lines of Markdown and of protos have at most 120 columns; rows of tables and pictures are free. NOT_YET lists the pages that still do not.
- Pages of the site have at most WORDS_MAX words: a longer one is several pages.
- Rows of a table have as many cells as its head.
- A list has an empty line before it. A paragraph's line that begins like an item by chance reads as one: wrap it elsewhere.
- The target of a relative link exists, and so does its heading. A link leads to a file of this tree;
  of a page of the site (stage_docs.py) to a page, to a file that is no Markdown, or to a folder.
- The index, docs/README.md, links every page below docs/ exactly once.
- A document that is cited by section is a file of this tree: `docs/design/mechanisms.md#8-randomness`, not `NAME section 8`.
"""

import os
import re
import sys

import cpp_source
import markdown_source
import source_tree
import stage_docs

PICTURE_BYTES_MAX = 20000
COLUMNS_MAX = 120
WORDS_MAX = 3000
# Pages with longer lines. Take a page off when it has been wrapped; add none.
NOT_YET = set()
INDEX = "docs/README.md"
ITEM = re.compile(r"\s*(?:[-+*]|\d+\.)\s")

# A name in capitals with the number of a section: no file that anyone can open.
SECTION = re.compile(r"\b([A-Z][A-Z_]{4,})(?:'s?)?\s+(?:// +)?(?:[Ss]ections? +\d+|\d[a-z]\b)|\b([A-Z]+_[A-Z]{5,}S) [A-Z]\d+\b")
# docs/design/mechanisms.md#8-randomness in a comment or between backticks.
CITED = re.compile(r"(?<![\w(/.])((?:[\w-]+/)*[\w-]+\.md)#([\w-]+)")


def width_problems(path, text):
    if path in NOT_YET:
        return []
    return [f"{path}:{number}: {len(line)} columns, at most {COLUMNS_MAX}" for number, line in enumerate(text.splitlines(), 1)
            if len(line) > COLUMNS_MAX and not line.lstrip().startswith(("|", "!["))]


def length_problems(path, text):
    words = len(text.split())
    return [f"{path}: {words} words, at most {WORDS_MAX}: make it several pages"] if words > WORDS_MAX else []


def table_problems(path, text):
    found, cells = [], None
    for number, line in markdown_source.prose(text):
        if not line.lstrip().startswith("|"):
            cells = None
            continue
        here = line.replace("\\|", "").count("|") - 1
        cells = cells or here
        if here != cells:
            found.append(f"{path}:{number}: a row of {here} cells in a table of {cells}: a bar inside a cell is \\|")
    return found


def list_problems(path, text):
    """Items without an empty line before the list: the site shows them as one paragraph."""
    found, inside, before = [], False, ""
    for number, line in markdown_source.prose(text):
        item = ITEM.match(line)
        if item and before.strip() and not inside and not before.startswith("#"):
            found.append(f"{path}:{number}: begins like an item of a list: a list has an empty line before it")
        inside = bool(item) or (inside and (line.startswith("  ") or bool(before.strip()) or not line.strip()))
        before = line
    return found


def link_problems(root, path, text):
    found = []
    for number, target in markdown_source.links(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if full.startswith("..") or not os.path.exists(os.path.join(root, full)):
            found.append(f"{path}:{number}: link to {target}: no such file")
        elif stage_docs.is_page(path) and full.endswith(".md") and not stage_docs.is_page(full):
            found.append(f"{path}:{number}: link to {target}: no page of the site; link its folder")
        elif anchor and full.endswith(".md") and anchor not in markdown_source.anchors(source_tree.read(root, full)):
            found.append(f"{path}:{number}: link to {target}: no such heading")
    return found


def reference_problems(root, path, text):
    found = []
    words = text if path.endswith((".md", ".proto")) else cpp_source.comments(text)
    for match in SECTION.finditer(words):
        if not os.path.exists(os.path.join(root, f"{match.group(1) or match.group(2)}.md")):
            found.append(f"{path}:{words.count(chr(10), 0, match.start()) + 1}: {' '.join(match.group(0).split())}: "
                         f"no such document here; cite a path and heading")
    for match in CITED.finditer(words):
        line = words.count("\n", 0, match.start()) + 1
        full = next((name for name in (match.group(1), os.path.normpath(os.path.join(os.path.dirname(path), match.group(1))))
                     if os.path.isfile(os.path.join(root, name))), None)
        if full is None:
            found.append(f"{path}:{line}: {match.group(0)}: no such file")
        elif match.group(2) not in markdown_source.anchors(source_tree.read(root, full)):
            found.append(f"{path}:{line}: {match.group(0)}: no such heading")
    return found


def index_problems(root):
    if not os.path.isfile(os.path.join(root, INDEX)):
        return []
    targets = [os.path.normpath(os.path.join("docs", target)) for _, target in markdown_source.links(source_tree.read(root, INDEX))]
    pages = [path for path in source_tree.files(root, [".md"]) if path.startswith("docs/") and path != INDEX]
    return [f"{INDEX}: links {path} {targets.count(path)} times, must be once" for path in pages if targets.count(path) != 1]


def picture_problems(root):
    """Pictures are for readers: curves need no more points than a screen shows."""
    sizes = {path: os.path.getsize(os.path.join(root, path)) for path in source_tree.files(root, [".svg", ".png", ".jpg"])}
    return [f"{path}: a picture of {size} bytes; at most {PICTURE_BYTES_MAX}: draw it with tools/base/gnuplot.h, "
            f"or with fewer curves" for path, size in sizes.items() if size > PICTURE_BYTES_MAX]


def check(root):
    problems = index_problems(root) + picture_problems(root)
    for path in source_tree.files(root, [".md", ".h", ".cc", ".proto"]):
        text = source_tree.read(root, path)
        if path.endswith((".md", ".proto")):
            problems += width_problems(path, text)
        if path.endswith(".md"):
            problems += length_problems(path, text) if stage_docs.is_page(path) else []
            problems += table_problems(path, text) + list_problems(path, text) + link_problems(root, path, text)
        problems += reference_problems(root, path, text)
    for path in sorted(NOT_YET):
        text = source_tree.read(root, path) if os.path.isfile(os.path.join(root, path)) else None
        if text is None or max(map(len, re.findall(r"^(?!\s*[|!]).*$", text, re.M)), default=0) <= COLUMNS_MAX:
            problems.append(f"{path}: is narrow enough, or gone; take it off NOT_YET")
    return problems


if __name__ == "__main__":
    source_tree.finish("docs", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()))
