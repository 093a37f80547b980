#!/usr/bin/env python3
"""One qualified name, one definition: check_names.py [ROOT].

Two types of one name break the one-definition rule as soon as one program links both: the linker keeps one copy of what the
compiler made of each, and the other type's memory is overrun without a word. Tests are left out: each is a program of its own.
So is what no other unit can see: anonymous namespaces, and types inside functions; and client/core/stand_in, which a program links
in place of a library.
"""

import collections
import re
import sys

import cpp_source
import source_tree

PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?(?:[A-Z][A-Z0-9_]+\s+)?"
                  r"((?:\w+::)*\w+(?:\s*<[^{};]*>)?)(?:\s+final)?\s*(?::(?!:)[^{};]*)?$")
TRANSPARENT = re.compile(r'\bextern\s*""\s*$')
HIDDEN = object()  # a scope whose names no other unit sees


def definitions(text):
    """(qualified name, line) of each type that other units could see."""
    code = cpp_source.without_comments_and_strings(text)
    code = PREPROCESSOR.sub(lambda match: "\n" * match.group(0).count("\n"), code)
    scopes, head_start = [], 0
    for match in re.finditer(r"[{};]", code):
        if match.group(0) == "{":
            head = code[head_start:match.start()]
            namespace, kind = NAMESPACE.search(head), TYPE.search(head)
            if namespace:
                scopes.append(namespace.group(1) or HIDDEN)
            elif kind:
                # A specialization is told from others by its parameters and constraints as well.
                parameters = head[head.find("template"):kind.start()] if "<" in kind.group(1) else ""
                scopes.append(" ".join((parameters.replace("template <>", "") + kind.group(1)).split()))
                if HIDDEN not in scopes:
                    yield "::".join(scope for scope in scopes if scope), code.count("\n", 0, match.start()) + 1
            else:
                scopes.append("" if TRANSPARENT.search(head) else HIDDEN)
        elif match.group(0) == "}" and scopes:
            scopes.pop()
        head_start = match.end()


def check(root):
    places = collections.defaultdict(list)
    for path in source_tree.files(root, [".h", ".cc"]):
        if not path.startswith(("tests/", "client/core/stand_in/")):
            for name, line in definitions(source_tree.read(root, path)):
                places[name].append(f"{path}:{line}")
    return [f"{name} has {len(found)} definitions: {', '.join(found)}; rename all but one, or use an anonymous namespace"
            for name, found in sorted(places.items()) if len(found) > 1]


if __name__ == "__main__":
    source_tree.finish("names", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()))
