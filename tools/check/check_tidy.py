#!/usr/bin/env python3
"""clang-tidy over the product's sources: check_tidy.py BUILD_DIR [FILE ...].

A file that passed is not read again until it, a header that it reads, its flags or .clang-tidy change. Nearly all of the
time goes into headers of other projects, so the files of one folder are read as one unit. A unit in which anything is
found, be it that two of its files use one name, is halved, down to single files: what is reported is about one file.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading

import clean_units
import source_tree

ROOMS = ("common/", "server/", "client/abi/", "client/core/", "client/src/", "tools/", "research/")
TOOL, COMPILER = "clang-tidy-14", "clang++-14"
UNIT_MAX = 12
SOURCES = r"(common|server|client|tools|research)/.*\.(h|cc)$"


def flags_by_file(root, build_dir):
    """The compiler's flags of each file, without its name and the output's. Where a file is in two targets the first one's hold: the core's
    own, before those of the C interface over stand-ins of Abseil."""
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    return {os.path.relpath(os.path.realpath(entry["file"]), os.path.realpath(root)):
            re.sub(r" -o \S+ -c \S+$", "", entry["command"]) for entry in reversed(entries)}


def units(paths, flags):
    """Files of one folder and one set of flags, at most UNIT_MAX at a time; long units first."""
    groups = {}
    for path in paths:
        groups.setdefault((os.path.dirname(path), flags[path]), []).append(path)
    found = [group[i : i + UNIT_MAX] for group in groups.values() for i in range(0, len(group), UNIT_MAX)]
    return sorted(found, key=len, reverse=True)


def read_together(root, folder, flags, paths, tool, options):
    """Runs a clang tool on `paths` as one unit."""
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".cc") as unit:
        for path in paths:
            unit.write(f'// NOLINTNEXTLINE(bugprone-suspicious-include)\n#include "{os.path.join(root, path)}"\n')
        unit.flush()
        name = os.path.join(root, paths[0]) if len(paths) == 1 else unit.name
        return subprocess.run([tool, *options, name, *shlex.split(flags)[1:]], cwd=root, capture_output=True, text=True,
                              check=False)


def compiles(root, folder, flags, paths):
    return read_together(root, folder, flags, paths, COMPILER, ["-fsyntax-only", "-w"]).returncode == 0


def tidy(root, folder, flags, paths):
    """The findings of clang-tidy in `paths`, read together, or an empty string."""
    options = ["--quiet", "--warnings-as-errors=*", f"--header-filter={SOURCES}"]
    run = read_together(root, folder, "tool -- " + flags.split(" ", 1)[1], paths, TOOL, options)
    if run.returncode == 0:
        return ""
    return run.stdout.strip() or run.stderr.strip()


def check(root, build_dir, files=None):
    flags = flags_by_file(root, build_dir)
    files = files or [path for path in source_tree.files(root, [".cc"]) if path.startswith(ROOMS)]
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    folder = os.path.join(os.path.abspath(build_dir), "tidy")
    clean = clean_units.CleanUnits(root, folder, version + source_tree.read(root, ".clang-tidy"))
    # Its flags decide what a file is: a file that is in no target has none, and is not compiled.
    waiting = [path for path in files if path in flags and not clean.has(path)]
    print(f"clang-tidy: {len(waiting)} of {len(files)} files to read", file=sys.stderr, flush=True)
    lock, done, problems = threading.Lock(), 0, []

    def job(unit):
        nonlocal done
        alone = len(unit) == 1
        found = "" if alone or compiles(root, folder, flags[unit[0]], unit) else "names that meet"
        found = found or tidy(root, folder, flags[unit[0]], unit)
        if found and not alone:
            middle = len(unit) // 2
            job(unit[:middle])
            job(unit[middle:])
            return
        with lock:
            done += len(unit)
            if found:
                problems.append(found)
            else:
                for path in unit:
                    clean.add(path)
            print(f"clang-tidy: {done}/{len(waiting)} {os.path.dirname(unit[0])}", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(job, units(waiting, flags)))
    return problems


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source_tree.finish("clang-tidy", check(source_tree.default_root(), sys.argv[1], sys.argv[2:]))
