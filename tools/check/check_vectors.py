#!/usr/bin/env python3
"""Sees that published vectors stay as they are: check_vectors.py [ROOT].

tests/vectors/digests.txt has a line per file, its SHA-256 and its name. A file that is not listed, is missing or has another
digest is a problem; so is a line that git has known and that is there no longer, wherever the history is at hand. New cases come
in a new version, with a line of its own.
"""

import hashlib
import os
import re
import subprocess
import sys

FOLDER = "tests/vectors"
LIST = FOLDER + "/digests.txt"
NAME = re.compile(r"^[a-z]+\.[1-9]\d*\.json$")
BYTES_MAX = 1 << 20


def read_list(text):
    """Digest by name, and the lines that are none."""
    digests, wrong = {}, []
    for at, line in enumerate(text.splitlines(), 1):
        digest, _, name = line.partition("  ")
        if re.fullmatch(r"[0-9a-f]{64}", digest) and NAME.match(name) and name not in digests:
            digests[name] = digest
        else:
            wrong.append(f"{LIST}:{at}: must be a SHA-256, two spaces and NAME.VERSION.json, each name once")
    return digests, wrong


def former_lines(root):
    """All lines that any commit has added to the list; none without git."""
    log = subprocess.run(["git", "-C", root, "log", "-p", "--format=", "--no-renames", "--", LIST],
                         capture_output=True, text=True, check=False)
    return [line[1:] for line in log.stdout.splitlines() if re.match(r"\+[0-9a-f]{64}  ", line)]


def problems(root, former):
    path = os.path.join(root, FOLDER)
    with open(os.path.join(root, LIST), encoding="utf-8") as file:
        listed = file.read()
    digests, wrong = read_list(listed)
    files = {name for name in os.listdir(path) if name.endswith(".json")}
    for name in sorted(files | set(digests)):
        if name not in digests:
            wrong.append(f"{FOLDER}/{name}: has no line in {LIST}")
        elif name not in files:
            wrong.append(f"{FOLDER}/{name}: is published and missing")
        else:
            with open(os.path.join(path, name), "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            if digest != digests[name]:
                wrong.append(f"{FOLDER}/{name}: is published and was changed: make version {int(name.split('.')[1]) + 1}")
    total = sum(os.path.getsize(os.path.join(path, name)) for name in files)
    if total > BYTES_MAX:
        wrong.append(f"{FOLDER}: {total} bytes, at most {BYTES_MAX}")
    lines = set(listed.splitlines())
    wrong += [f"{LIST}: a published line was changed or removed: {line}" for line in sorted(set(former) - lines)]
    return wrong


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    wrong = problems(root, former_lines(root))
    print("\n".join(wrong + [f"vectors: {len(wrong)} problems"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
