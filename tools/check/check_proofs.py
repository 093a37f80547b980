#!/usr/bin/env python3
"""Binds proof notes to code by a hash.

Code regions are fenced by `// PROOF: NAME begin` and `// PROOF: NAME end`, in one or several files. docs/privacy/NAME.md holds
the line `Proof hash: <SHA-256>` of all of them. When the code changes, read the note again, then run with --stamp NAME.
"""

import argparse
import hashlib
import re
import sys

import source_tree

FENCE = re.compile(r"//\s*PROOF:\s*(\w+)\s+(begin|end)\s*$")
STAMP = re.compile(r"^Proof hash: `([0-9a-f]{64}|none)`$", re.M)


def regions(root):
    """NAME -> list of (path, text) in path order; and problems with the fences."""
    found, problems = {}, []
    for path in source_tree.files(root, [".h", ".cc"]):
        name, body = None, []
        for number, line in enumerate(source_tree.read(root, path).splitlines(), 1):
            fence = FENCE.search(line)
            if not fence:
                body.append(line)
            elif fence.group(2) == "begin" and name is None:
                name, body = fence.group(1), []
            elif fence.group(2) == "end" and name == fence.group(1):
                found.setdefault(name, []).append((path, "\n".join(body)))
                name = None
            else:
                problems.append(f"{path}:{number}: PROOF fences of one name must come in pairs")
        if name is not None:
            problems.append(f"{path}: PROOF fence `{name}` is never closed")
    return found, problems


def digest(parts):
    hash_ = hashlib.sha256()
    for path, text in parts:
        hash_.update(f"{path}\n{text}\n".encode())
    return hash_.hexdigest()


def check(root, stamp=()):
    """`stamp`: the notes whose hash is to be renewed."""
    found, problems = regions(root)
    notes = {path.split("/")[-1][:-3]: path for path in source_tree.files(root, [".md"])
             if path.startswith("docs/privacy/")}
    for name, path in notes.items():
        text = source_tree.read(root, path)
        stamps = STAMP.findall(text)
        if len(stamps) != 1:
            problems.append(f"{path}: needs exactly one line `Proof hash: ...`")
        elif name not in found:
            problems.append(f"{path}: no code is fenced by PROOF: {name}")
        elif stamps[0] != digest(found[name]):
            if name in stamp:
                with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                    file.write(STAMP.sub(f"Proof hash: `{digest(found[name])}`", text))
            else:
                problems.append(f"{path}: the code it proves has changed; read the note again, then "
                                f"run tools/check/check_proofs.py --stamp {name}")
        for file, _ in found.get(name, []):
            if file not in text:
                problems.append(f"{path}: does not name {file}, which it proves")
    problems += [f"PROOF: {name}: docs/privacy/{name}.md is missing" for name in found
                 if name not in notes]
    return problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=source_tree.default_root())
    parser.add_argument("--stamp", nargs="+", default=[], metavar="NAME",
                        help="write the hash of the code into these notes")
    arguments = parser.parse_args()
    source_tree.finish("proofs", check(arguments.root, arguments.stamp))
