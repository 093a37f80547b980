#!/usr/bin/env python3
"""Every header compiles alone, and twice in one unit: check_headers.py BUILD_DIR [HEADER ...].

A header that its own .cc includes first, with #pragma once, is proved by that file and not compiled again: clang-tidy and the
compiler of the preset without precompiled headers read each .cc.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

import source_tree

# Flags of a compile command that say how to read source, not where to put objects.
KEPT = ("-I", "-isystem", "-D", "-std=", "-f")
# Where headers of the device core stand in for those of Abseil: a folder for the one test that reads nothing else.
STAND_IN = "client/core/stand_in"


def flags_of(entry):
    """The kept flags; a flag and its separate value stay one tuple."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    flags, position = [], 1
    while position < len(words):
        word = words[position]
        size = 2 if word in ("-I", "-isystem", "-D") else 1
        if word.startswith(KEPT) and not word.startswith("-fsanitize"):
            flags.append(tuple(words[position:position + size]))
        position += size
    return flags


def load(build_dir):
    """The compiler, flags by folder of the unit, and the flags of all units together."""
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    by_folder, everything = {}, []
    for entry in entries:
        flags = flags_of(entry)
        by_folder.setdefault(os.path.dirname(os.path.realpath(entry["file"])), flags)
        everything += [flag for flag in flags if flag not in everything and not flag[-1].endswith(STAND_IN)]
    words = entries[0].get("arguments") or shlex.split(entries[0]["command"])
    compiler = next(word for word in words if not word.endswith(("ccache", "env")))
    return compiler, by_folder, everything


def compile_alone(compiler, flags, root, header):
    """The compiler's complaint, or None."""
    unit = f'#include "{header}"\n#include "{header}"\n'
    run = subprocess.run([compiler, *(word for flag in flags for word in flag), "-I" + root, "-I" + os.path.join(root, "client/include"),
                          "-fsyntax-only", "-x", "c++", "-"],
                         input=unit, capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else f"{header} does not compile alone:\n{run.stderr.strip()}"


def proved_by_its_source(root, header):
    source = header[:-2] + ".cc"
    if not os.path.exists(os.path.join(root, source)) or header.startswith("tests/"):
        return False
    first = re.search(r'^\s*#\s*include\s*["<]([^">]+)', source_tree.read(root, source), re.M)
    return bool(first) and first.group(1) == header and "#pragma once" in source_tree.read(root, header)


def check(root, build_dir, headers=None):
    compiler, by_folder, everything = load(build_dir)
    headers = headers or [header for header in source_tree.files(root, [".h"]) if not proved_by_its_source(root, header)]
    def job(header):
        folder = os.path.realpath(os.path.join(root, os.path.dirname(header)))
        # Test headers bring what the tests that include them link.
        shipped = not header.startswith("tests/")
        flags = by_folder.get(folder, everything) if shipped else everything
        return compile_alone(compiler, flags, root, header)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [problem for problem in pool.map(job, headers) if problem]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source_tree.finish("headers", check(source_tree.default_root(), sys.argv[1], sys.argv[2:]))
