#!/usr/bin/env python3
"""Stages the documents for mkdocs: stage_docs.py BUILD_DIR writes BUILD_DIR/docs-source and BUILD_DIR/mkdocs.yml.

Pages keep their places, so that relative links mean the same as in the tree; files that they link to are copied beside them. A link
to a folder becomes plain text. Text inside an item of a list is indented by four columns, which the site's Markdown asks for. Blocks of
code without a language get one where it is plain, so that they have colours.
The navigation is the index, docs/README.md: a section per reader, in its order.
"""

import json
import os
import re
import shutil
import sys

import markdown_source
import source_tree

# Documents outside docs/, in the order of the navigation.
FRONT = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "deploy/README.md"]
INDEX = "docs/README.md"
ITEM = re.compile(r"(?:[-+*]|\d+\.) +")
# A command in a block of code, and a field of a configuration.
COMMAND = re.compile(r"^ *(\./|build/|(bandana-\w+|curl|docker|sudo|cmake|kubectl|openssl|python3|ctest|systemctl|apt|sha256sum) |[a-z_]+=\S)", re.M)
FIELD = re.compile(r"^ *\w+( \{|: (\"|\w))", re.M)


def is_page(path):
    return path in FRONT or (path.startswith("docs/") and path.endswith(".md"))


def pages(root):
    return FRONT + [path for path in source_tree.files(root, [".md"]) if path.startswith("docs/")]


def without_folder_links(root, path, text):
    """The text of a page whose links to folders are only their words."""
    def flat(match):
        target = match.group(1).partition("#")[0]
        if match.group(0).startswith("!") or re.match(r"[a-z]+:", target) or not target:
            return match.group(0)
        full = os.path.join(root, os.path.dirname(path), target)
        return match.group(0)[1:match.group(0).index("](")] if os.path.isdir(full) else match.group(0)
    return markdown_source.LINK.sub(flat, text)


def with_deep_lists(text):
    """The text with four columns per level of a list, in place of the two or three that align it under the words of its item."""
    out, items, blank, fence = [], [], True, None
    for line in text.splitlines():
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        mark = None if fence is not None else ITEM.match(words)
        if fence is None and words:
            # Items whose words begin further right than this line have ended; a paragraph's own line may begin anywhere.
            if mark or blank:
                while items and indent < items[-1]:
                    items.pop()
            if mark and (items or (indent < 4 and (blank or indent == 0))):
                out.append(" " * 4 * len(items) + words)
                items.append(indent + len(mark.group(0)))
                blank = False
                continue
        level = fence if fence is not None else len(items)
        base = items[level - 1] if level else 0
        out.append(" " * 4 * level + line[min(indent, base):] if words else "")
        if markdown_source.FENCE.match(line):
            fence = None if fence is not None else len(items)
        blank = not words
    return "\n".join(out) + "\n"


def language(code):
    """The language of a block that names none. Configurations have the comments and strings of a shell."""
    if COMMAND.search(code) or FIELD.search(code):
        return "sh"
    return "json" if code.startswith("{") else "text"


def with_languages(text):
    """The text whose blocks without a language have that of their code."""
    lines, opened = text.splitlines(), None
    for number, line in enumerate(lines):
        if not markdown_source.FENCE.match(line):
            continue
        if opened is None:
            opened = number
        else:
            if lines[opened].strip() == "```":
                lines[opened] += language("\n".join(lines[opened + 1:number]).strip())
            opened = None
    return "\n".join(lines) + "\n"


def title(root, path):
    return next((match.group(2) for _, line in markdown_source.prose(source_tree.read(root, path))
                 if (match := markdown_source.HEADING.match(line))), path)


def entry(root, path):
    """The line of a page: its title, as a string that YAML reads as it is, and its place."""
    return f"      - {json.dumps(title(root, path).replace('`', ''), ensure_ascii=False)}: {path}"


def navigation(root):
    """Lines of YAML: the pages of the index by its headings, then the documents outside docs/."""
    lines = ["nav:", "  - Start: README.md", f"  - All documents: {INDEX}"]
    for _, line in markdown_source.prose(source_tree.read(root, INDEX)):
        heading = re.match(r"## (.*)", line)
        if heading:
            lines.append(f"  - {heading.group(1)}:")
        for _, target in markdown_source.links(line):
            full = os.path.normpath(os.path.join("docs", target.partition("#")[0]))
            if full.endswith(".md") and line.startswith("|") and full not in FRONT:
                lines.append(entry(root, full))
    return lines + ["  - The project:"] + [entry(root, path) for path in FRONT[1:]]


def stage(root, build_dir):
    source = os.path.join(build_dir, "docs-source")
    shutil.rmtree(source, ignore_errors=True)
    copied = set()
    for path in pages(root):
        text = source_tree.read(root, path)
        os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
        with open(os.path.join(source, path), "w", encoding="utf-8") as file:
            file.write(with_deep_lists(with_languages(without_folder_links(root, path, text))))
        for _, target in markdown_source.links(text):
            file = os.path.normpath(os.path.join(os.path.dirname(path), target.partition("#")[0]))
            if os.path.isfile(os.path.join(root, file)) and not file.endswith(".md"):
                copied.add(file)
    for path in sorted(copied):
        os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
        shutil.copyfile(os.path.join(root, path), os.path.join(source, path))
    shutil.copyfile(os.path.join(root, "tools/check/site.css"), os.path.join(source, "site.css"))
    with open(os.path.join(build_dir, "mkdocs.yml"), "w", encoding="utf-8") as file:
        inherited = os.path.relpath(os.path.join(root, "mkdocs.yml"), build_dir)
        file.write("\n".join([f"INHERIT: {inherited}", "docs_dir: docs-source", "site_dir: docs"] + navigation(root)) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    stage(source_tree.default_root(), sys.argv[1])
