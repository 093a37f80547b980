#!/usr/bin/env python3
"""clang-tidy over the product's sources: check_tidy.py BUILD_DIR [FILE ...].

A file that passed is not read again until it, a header that it reads, its flags or .clang-tidy change.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import threading

import clean_units
import source_tree

ROOMS = ("common/", "server/", "client/src/", "tools/")
TOOL = "clang-tidy-14"


def flags_by_file(root, build_dir):
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    return {os.path.relpath(os.path.realpath(entry["file"]), os.path.realpath(root)): entry["command"] for entry in entries}


def tidy(root, build_dir, path):
    """What clang-tidy finds, or an empty string."""
    run = subprocess.run([TOOL, "-p", build_dir, "--quiet", "--warnings-as-errors=*", path], cwd=root, capture_output=True,
                         text=True, check=False)
    if run.returncode == 0:
        return ""
    return run.stdout.strip() or run.stderr.strip()


def check(root, build_dir, files=None):
    flags = flags_by_file(root, build_dir)
    files = files or [path for path in source_tree.files(root, [".cc"]) if path.startswith(ROOMS)]
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    clean = clean_units.CleanUnits(root, os.path.join(build_dir, "tidy"), version + source_tree.read(root, ".clang-tidy"))
    # Its flags decide what a file is: a file that is in no target has none, and is not compiled.
    waiting = [path for path in files if path in flags and not clean.has(path)]
    print(f"clang-tidy: {len(waiting)} of {len(files)} files to read", file=sys.stderr, flush=True)
    lock, done, problems = threading.Lock(), 0, []

    def job(path):
        nonlocal done
        found = tidy(root, build_dir, path)
        with lock:
            done += 1
            if found:
                problems.append(found)
            else:
                clean.add(path)
            if sys.stderr.isatty() or done % 25 == 0 or done == len(waiting):
                print(f"clang-tidy: {done}/{len(waiting)} {path}", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(job, waiting))
    return problems


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source_tree.finish("clang-tidy", check(source_tree.default_root(), sys.argv[1], sys.argv[2:]))
