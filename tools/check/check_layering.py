#!/usr/bin/env python3
"""Checks the arrows between rooms over #include lines. A new arrow needs a decision record in docs/adr."""

import re
import sys

import source_tree

COMMON = ["common/base", "common/linalg", "common/random", "common/accounting", "common/mechanisms",
          "common/bandits", "common/planner", "common/wire", "proto"]
TOOLS = COMMON + ["common/channel"] + ["client/include", "tools/environments"]

# Room -> rooms whose headers it may include beside its own. The first matching prefix names a file's room.
ALLOWED = {
    "common/base": [],
    "common/linalg": ["common/base"],
    "common/random": ["common/base"],
    "common/accounting": ["common/base"],
    "common/mechanisms": ["common/base", "common/linalg", "common/random", "common/accounting"],
    "common/bandits": ["common/base", "common/linalg", "common/random", "common/accounting",
                       "common/mechanisms"],
    "common/planner": ["common/base", "common/accounting", "common/mechanisms", "common/bandits"],
    "common/wire": ["common/base", "common/linalg", "common/random", "common/accounting",
                    "common/mechanisms", "common/bandits", "proto"],
    "common/channel": ["common/base"],
    "server/log": ["common/base"],
    "server/models": COMMON + ["server/log"],
    "server/service": COMMON + ["server/models"],
    "server/ops": COMMON + ["server/log", "server/models", "server/service"],
    "server": COMMON + ["server/log", "server/models", "server/service", "server/ops"],
    "client/include": [],
    "client/src": COMMON + ["client/include", "common/channel"],
    "tools/environments": COMMON,
    # What a device sends; models that are opened again; both sides in worlds that are compared.
    "tools/audit": TOOLS + ["client/src", "server/log", "server/models", "server/service", "server/ops"],
    "tools/ctl": TOOLS + ["server/models", "server/ops"],  # data folders of a stopped server
    "tools": TOOLS,
    "examples": ["client/include"],
    "bench": COMMON + ["server/log", "server/models", "server/service", "server/ops",
                       "client/include", "client/src", "tools/environments", "tests/support"],
    "tests": None,  # may include everything
}

# The SDK scores arms but never learns: of the bandits it may see only this.
CLIENT_BANDITS = {"common/bandits/link.h", "common/bandits/posterior.h", "common/bandits/scoring.h"}


def room_of(path):
    matches = [room for room in ALLOWED if path.startswith(room + "/")]
    if not matches:
        return None
    room = max(matches, key=len)
    # Every tool is a room of its own: tools/fleet must not include tools/import.
    return "/".join(path.split("/")[:2]) if room == "tools" else room


def target_of(include):
    """The room that an included path belongs to; None for third-party headers."""
    if include.startswith("bandana/v1/"):
        return "proto"
    if include.startswith("bandana/"):
        return "client/include"
    parts = include.split("/")
    if parts[0] in ("common", "server", "client", "tools", "tests", "bench"):
        return room_of(include) or "/".join(parts[:2])
    return None


def problems_of(path, text):
    room = room_of(path)
    if room is None:
        return []
    allowed = ALLOWED.get(room, TOOLS)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not match:
            continue
        include = match.group(2)
        where = f"{path}:{number}: "
        if match.group(1) == '"' and "/" not in include:
            found.append(where + f'write "{include}" as a path from the top of the tree')
        target = target_of(include)
        if allowed is None or target is None or target == room:
            continue
        if target.startswith("tests"):
            target = "tests/support" if include.startswith("tests/support/") else "tests"
        if target not in allowed:
            found.append(where + f"{room} may not include {target} ({include})")
        elif room == "client/src" and target == "common/bandits" and include not in CLIENT_BANDITS:
            found.append(where + f"the SDK may include only link, posterior and scoring of bandits ({include})")
    return found


def check(root):
    problems = []
    for path in source_tree.files(root, [".h", ".cc"]):
        problems += problems_of(path, source_tree.read(root, path))
    return problems


if __name__ == "__main__":
    source_tree.finish("layering", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()))
