#!/usr/bin/env python3
"""Checks what no reader should have to look for: banned calls, ways into private types, stale marks, long files, tests
that no build file names."""

import datetime
import os
import re
import sys

import source_tree

LINES_MAX = 600
SHIPPED = ("common/", "server/", "client/", "tools/", "research/", "examples/")

# Pattern, reason, folders, folders excepted. Matched on code without comments and strings.
BANNED = [
    (r"\bmt19937|\brandom_device\b|\bBitGen\b|\bdefault_random_engine\b|\bminstd_rand|<random>",
     "randomness comes from BitSource", SHIPPED, ("tools/environments/",)),
    (r"(?<![\w.>:])s?rand\s*\(|\b[dlm]rand48\s*\(|\brandom\s*\(\s*\)",
     "randomness comes from BitSource", SHIPPED, ()),
    (r"\bthrow\b", "errors are absl::Status", SHIPPED, ()),
    (r"(?<!static_)\bassert\s*\(", "use BANDANA_CHECK, on in every build", SHIPPED, ()),
    (r"#\s*include\s*<(cassert|assert\.h|format|source_location)>", "what replaces it: CONTRIBUTING.md",
     SHIPPED, ()),
    (r"\babsl::Mutex\b|\batomic\s*<\s*std::shared_ptr",
     "ThreadSanitizer sees neither (Debian's abseil is not instrumented): std::mutex, SharedCell",
     SHIPPED + ("tests/",), ()),
    # main.cc turns off the search for cycles among the locks of gRPC.
    (r"absl/synchronization/", "ThreadSanitizer does not see it (Debian's abseil is not instrumented): std::mutex",
     SHIPPED + ("tests/",), ("server/ops/main.cc",)),
    (r"\bStatusOr\s*<\s*absl::Status\s*>", "an error that is returned becomes the value: give one of the two by reference",
     SHIPPED + ("tests/",), ()),
    (r"\babsl::Now\b", "limits of connections count by the steady clock: a wall clock that is set back uses them up",
     ("server/service/connections/",), ()),
    (r"-ffast-math|#\s*pragma\s+STDC\s+FP", "fast-math changes results", SHIPPED, ()),
]
# A friend of a private type reads what nobody else may. It stands in the room of the type, or where this says.
FRIENDS = {"ClippedStatisticsPeer": "tools/audit/", "ClippedIncrementPeer": "tests/support/",
           "LaplaceMechanism": "tools/published/", "ScalarGaussian": "tools/published/",
           "ContextPrivatizer": "client/core/", "Privatizer": "client/core/", "RewardReports": "common/promise/"}
FRIEND = re.compile(r"\bfriend\s+(?:class|struct)\s+(?:\w+::)*(\w+)\s*;")
PRIVATE_TYPES = ("common/mechanisms/", "client/core/")
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
DISABLED = re.compile(r"\bDISABLED_\w+")
STAY = re.compile(r"issue #\d+, until (\d{4}-\d{2}-\d{2})")


def strip(text):
    """The text with comments and string contents blanked, line numbers kept."""
    def blank(match):
        kept = match.group(0)
        if kept.startswith('"'):
            return '""' + "\n" * kept.count("\n")
        return "\n" * kept.count("\n")
    includes = r'#\s*include\s*[^\n]*'
    pattern = includes + r"|//[^\n]*|/\*.*?\*/|" + r'"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, lambda m: m.group(0) if m.group(0).startswith("#") else blank(m), text,
                  flags=re.S)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def problems_of(path, text, today):
    found = []
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        found.append(f"{path}: {len(lines)} lines, at most {LINES_MAX}: look for the seam")
    for match in TODO.finditer(text):
        found.append(f"{path}:{line_of(text, match.start())}: {match.group(0)} without an issue: TODO(#N)")
    if not path.endswith((".h", ".cc")):
        return found
    code = strip(text)
    for pattern, reason, folders, excepted in BANNED:
        if path.startswith(folders) and not path.startswith(excepted or ("\0",)):
            for match in re.finditer(pattern, code):
                found.append(f"{path}:{line_of(code, match.start())}: {match.group(0).strip()}: {reason}")
    if path.endswith(".h"):
        if "#pragma once" not in code:
            found.append(f"{path}: header without #pragma once")
        if re.search(r"^\s*using\s+namespace\b", code, re.M):
            found.append(f"{path}: using namespace in a header")
    for match in DISABLED.finditer(code):
        number = line_of(code, match.start())
        stay = STAY.search("\n".join(lines[max(0, number - 3):number]))
        if not stay or datetime.date.fromisoformat(stay.group(1)) < today:
            found.append(f"{path}:{number}: {match.group(0)} needs `issue #N, until YYYY-MM-DD` in the future")
    return found


def friend_problems(root):
    """Definitions of friends of private types outside the places that they belong to."""
    paths = source_tree.files(root, [".h", ".cc"])
    code = {path: strip(source_tree.read(root, path)) for path in paths}
    homes = {}
    for path in paths:
        if path.startswith(PRIVATE_TYPES):
            for name in FRIEND.findall(code[path]):
                home = FRIENDS.get(name) or next(folder for folder in PRIVATE_TYPES if path.startswith(folder))
                homes.setdefault(name, set()).add(home)
    defined = re.compile(r"\b(?:class|struct)\s+(?:\w+::)*(\w+)\s*(?:final\s*)?(?=[:{])")
    found = []
    for path in paths:
        for match in defined.finditer(code[path]):
            places = homes.get(match.group(1))
            if places and not path.startswith(tuple(places)):
                found.append(f"{path}:{line_of(code[path], match.start())}: {match.group(1)} is a friend of a private "
                             f"type: only {', '.join(sorted(places))} may define it")
    return found


def unbuilt_tests(root):
    """Tests that nobody builds: they would never fail."""
    built = "".join(source_tree.read(root, path) for path in source_tree.files(root, [".cmake", "CMakeLists.txt"]))
    stems = {path: os.path.basename(path)[:-3] for path in source_tree.files(root, ["_test.cc"])}
    return [f"{path}: no build file names it" for path, stem in stems.items() if not re.search(rf"\b{stem}\b", built)]


def check(root, today):
    problems = friend_problems(root) + unbuilt_tests(root)
    for path in source_tree.files(root, [".h", ".cc", ".proto", ".cmake", "CMakeLists.txt", ".py", ".sh"]):
        if path.startswith("tools/check/"):
            continue  # names what it bans
        problems += problems_of(path, source_tree.read(root, path), today)
    return problems


if __name__ == "__main__":
    source_tree.finish("bans", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root(),
                                     datetime.date.today()))
