#!/usr/bin/env python3
"""Finds stale paths: a word in a comment or a document that names a file of this tree which does not exist.

A path is a word such as `server/log/update_log.h` or `docs/privacy/`, or a bare file name such as `held_reward.h`. `*` and `{a,b}`
stand for at least one file, NAME for any name. Words that look like a path of this tree and are none stand in FOREIGN.
"""

import fnmatch
import os
import re
import sys

import cpp_source
import source_tree

ROOMS = "bench|client|cmake|common|deploy|docs|examples|proto|research|server|tests|tools"
WORD = r"[\w{},*.-]"
PATH = re.compile(rf"(?<![\w/.<-])(?:{ROOMS})/(?:{WORD}+/)*{WORD}*")
NAME = re.compile(r"(?<![\w/.<*}{,-])[a-z][a-z0-9_]*\.(?:h|cc|proto|md|cmake|textproto|py)\b(?!/)")

# Files of other projects, and files that an example makes.
FOREIGN = {"lapacke.h", "sqlite3.h", "min.textproto", "server.textproto"}


def candidates(word):
    """The patterns that a word with braces stands for."""
    brace = re.search(r"\{([^{}]*)\}", word)
    if not brace:
        return [word]
    return [one for part in brace.group(1).split(",") for one in candidates(word[:brace.start()] + part + word[brace.end():])]


class Tree:
    def __init__(self, root):
        listed = source_tree.files(root, [""])
        self.files = set(listed)
        self.names = {os.path.basename(path) for path in listed}
        self.folders = {folder for path in listed for folder in self._folders(path)}

    @staticmethod
    def _folders(path):
        while path := os.path.dirname(path):
            yield path

    def has(self, word):
        """Whether a file or folder of this path exists; `server/log/log_writer` without an ending counts."""
        word = word.rstrip("/")
        if "*" in word:
            return any(fnmatch.fnmatch(path, word) for path in self.files)
        return word in self.files or word in self.folders or word + ".h" in self.files or word + ".cc" in self.files


def problems_of(path, text, tree):
    words = text if path.endswith((".md", ".proto")) else cpp_source.comments(text)
    if path.endswith(".md"):
        words = re.sub(r"\]\([^)]*\)|https?://\S+", lambda match: re.sub(r"[^\n]", " ", match.group(0)), words)
    found = []
    for match in PATH.finditer(words):
        word = match.group(0).rstrip(".,-")
        if words[match.end():match.end() + 1] in "<$(" and words[match.end():match.end() + 1]:
            continue
        for one in candidates(word.replace("NAME", "*")):
            if one.count("/") and not tree.has(one):
                found.append((match.start(), one))
    for match in NAME.finditer(words):
        if match.group(0) not in tree.names and match.group(0) not in FOREIGN:
            found.append((match.start(), match.group(0)))
    return [f"{path}:{words.count(chr(10), 0, offset) + 1}: {word}: no such file" for offset, word in sorted(found)]


def check(root):
    tree = Tree(root)
    problems = []
    for path in source_tree.files(root, [".md", ".h", ".cc", ".proto"]):
        # A changelog names what was. Third-party corpora are data.
        if path not in ("CHANGELOG.md",):
            problems += problems_of(path, source_tree.read(root, path), tree)
    return problems


if __name__ == "__main__":
    source_tree.finish("paths", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()))
