"""The project's own source files, for the checks beside this one."""

import os
import subprocess
import sys

SKIPPED = {"build", ".git", "third_party"}


def files(root, suffixes):
    """Paths relative to root that end in one of suffixes: what git knows or would add, else every file."""
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED]
            listed += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(path for path in set(listed)
                  if path.endswith(tuple(suffixes)) and os.path.isfile(os.path.join(root, path)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def default_root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def finish(name, problems):
    """Prints the problems, one a line, and exits 1 if there are any."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{name}: {len(problems)} problems")
    print(f"{name}: ok")
