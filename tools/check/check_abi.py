#!/usr/bin/env python3
"""The C interface as programs were compiled against it: functions, sizes and offsets, compared with client/abi/abi.txt.

Usage: check_abi.py [--library FILE] [--write]. With --library the symbols that the shared library exports are compared as well.
A line of abi.txt may be added; one that is changed or taken out breaks programs, and needs another library. A function that is added
gets the next version in client/abi/bandana.map, so that a program which needs it is not started with a library of before.
"""

import os
import re
import subprocess
import sys
import tempfile

import source_tree

HEADER = "client/abi/include/bandana.h"
LIST = "client/abi/abi.txt"
MAP = "client/abi/bandana.map"
NODE = re.compile(r"^(\w+) \{\n  global:\n((?:    \w+;\n)+)", re.M)
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} \1;", re.S)
FUNCTION = re.compile(r"BANDANA_API [\w\s*]*?\b(bandana_\w+)\(")
ENUMERATOR = re.compile(r"^\s*(BANDANA_[A-Z_]+) = (-?\d+)", re.M)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def fields_of(body):
    """Names of the members of a struct, in their order."""
    names = []
    for member in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)\(", member)
        plain = re.search(r"(\w+)(?:\[\d+\])?\s*$", member.strip())
        if pointer or plain:
            names.append((pointer or plain).group(1))
    return names


def program_of(structs):
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "bandana.h"', "int main(void) {"]
    for name, body in structs:
        lines.append(f'printf("struct {name} size %zu\\n", sizeof({name}));')
        lines += [f'printf("struct {name} {field} %zu\\n", offsetof({name}, {field}));' for field in fields_of(body)]
    return "\n".join(lines + ["return 0;", "}", ""])


def layout(root, structs):
    """Sizes and offsets, as a C compiler has them."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/layout.c", "w", encoding="utf-8") as file:
            file.write(program_of(structs))
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", os.path.dirname(os.path.join(root, HEADER)),
                        "-o", f"{folder}/layout", f"{folder}/layout.c"], check=True)
        return subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout.splitlines()


def today(root):
    text = without_comments(source_tree.read(root, HEADER))
    lines = [f"function {name}" for name in FUNCTION.findall(text)]
    lines += [f"constant {name} {value}" for name, value in ENUMERATOR.findall(text)]
    return lines + layout(root, STRUCT.findall(text))


def versions(root):
    """The version of each function, by the linker's map."""
    return {name: node for node, names in NODE.findall(source_tree.read(root, MAP)) for name in re.findall(r"\w+", names)}


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def library_problems(root, library):
    node_of = versions(root)
    symbols = exported(library) - set(node_of.values())
    names = FUNCTION.findall(without_comments(source_tree.read(root, HEADER)))
    expected = {f"{name}@@{node_of.get(name, 'no version in ' + MAP)}" for name in names}
    return ([f"{library}: does not export {name}" for name in sorted(expected - symbols)]
            + [f"{library}: exports {name}" for name in sorted(symbols - expected)])


def check(root):
    kept, now = source_tree.read(root, LIST).splitlines(), today(root)
    return ([f"{LIST}: no longer true: {line}" for line in kept if line not in now]
            + [f"{LIST}: add the line: {line}" for line in now if line not in kept])


def main():
    root = source_tree.default_root()
    if "--write" in sys.argv:
        with open(os.path.join(root, LIST), "w", encoding="utf-8") as file:
            file.write("\n".join(today(root)) + "\n")
    problems = check(root)
    if "--library" in sys.argv:
        problems += library_problems(root, sys.argv[sys.argv.index("--library") + 1])
    source_tree.finish("abi", problems)


if __name__ == "__main__":
    main()
