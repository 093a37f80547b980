#!/usr/bin/env python3
"""Checks the arrows between rooms over #include lines. A new arrow needs a decision record in docs/adr.

Every folder with C++ is a room of its own (ALLOWED) or part of the room above it (PARTS). The rooms form floors: no circle.
The SDK links nothing that reaches a learner or BLAS, however long the chain: sdk_closure.py.
"""

import re
import sys

import sdk_closure
import source_tree

# Rooms of common that every side may use.
SHARED = ["common/base", "common/random", "common/accounting", "common/mechanisms", "common/features", "common/ranking",
          "common/promise", "proto"]
# Those and what only the server's side may use.
COMMON = SHARED + ["common/linalg", "common/bandits", "common/design"]
CORE = ["common/model/entries", "common/model/state", "common/model/learners", "common/model/paths", "common/model"]
MODELS = ["server/models", "server/models/catalogue", "server/models/folder"]
TOOLS = COMMON + ["common/channel", "client/include", "tools/base", "tools/environments", "common/decisions",
                  "tools/decisions"]

# Room -> rooms whose headers it may include beside its own; * at the end: those below it as well. The longest matching prefix names a file's room.
ALLOWED = {
    "common/base": [],
    "common/linalg": ["common/base"],
    "common/random": ["common/base"],
    "common/sqlite": ["common/base"],
    "common/json": ["common/base"],
    "common/accounting": ["common/base"],
    "common/mechanisms": ["common/base", "common/random", "common/accounting"],
    "common/features": ["common/base"],
    # Decisions as logs keep them.
    "common/decisions": ["common/base", "common/json", "common/mechanisms"],
    # Logged decisions and policies -> values with intervals.
    "common/judging": ["common/base", "common/decisions", "common/mechanisms"],
    # A posterior and arms -> a ranking, on both sides.
    "common/ranking": ["common/base", "common/linalg"],
    # A model's policy and its mechanism, on both sides.
    "common/promise": ["common/base", "common/random", "common/accounting", "common/mechanisms", "common/features",
                       "common/ranking"],
    # The learners.
    "common/bandits": ["common/base", "common/linalg", "common/random", "common/accounting", "common/mechanisms", "common/ranking"],
    # A model's whole configuration, on the server.
    "common/design": ["common/base", "common/accounting", "common/mechanisms", "common/features", "common/ranking",
                      "common/promise", "common/bandits", "proto"],
    # The deterministic core of a served model: no I/O, no threads.
    "common/model/entries": ["common/base", "common/mechanisms", "proto"],
    "common/model/state": COMMON + ["common/model/entries"],
    "common/model/learners": COMMON + ["common/model/entries", "common/model/state"],
    "common/model/paths": COMMON + ["common/model/entries", "common/model/state", "common/model/learners"],
    "common/model": COMMON + ["common/model/entries", "common/model/state", "common/model/learners", "common/model/paths"],
    "common/channel": ["common/base"],
    # Decision logs: their files and the thread that writes them. Models are nobody's business there.
    "server/decisions": ["common/base", "common/decisions", "common/mechanisms", "common/random"],
    "server/log": ["common/base", "common/sqlite", "common/model/entries"],
    "server/log/postgresql": ["common/base", "common/model/entries", "common/random", "server/log"],
    "server/models/freeing": COMMON + ["server/log"],
    "server/models/catalogue": COMMON + ["common/model/entries", "common/model/learners", "server/log", "server/models/freeing"],
    "server/models/users": COMMON + ["common/model/entries", "server/log", "server/models/freeing"],
    "server/models/folder": COMMON + ["common/model/entries", "common/model/state", "common/model/paths", "server/log",
                                      "server/models/catalogue", "server/models/freeing", "server/models/users"],
    "server/models/admission": COMMON + CORE + ["server/log"],
    "server/models": COMMON + CORE + ["common/decisions", "common/judging", "server/decisions", "server/log", "server/models/admission", "server/models/catalogue",
                                      "server/models/folder", "server/models/freeing", "server/models/users"],
    "server/service/access": ["common/base", "common/json"],
    "server/service/connections": ["common/base", "server/service/access"],
    "server/service/tls": ["common/base"],
    "server/service/tokens": ["common/base", "common/random", "common/model/entries", "server/log"],
    "server/service/decisions": ["common/base", "common/random", "common/sqlite", "server/log"],
    "server/service/transport": COMMON + ["server/service/access", "server/service/connections", "server/service/tokens"],
    # The way from what follows a model to what owns it.
    "server/service/owners": COMMON + ["common/model/entries", "server/models", "server/service/access", "server/service/connections",
                                       "server/service/tls", "server/service/tokens", "server/service/transport"],
    "server/service/admin": COMMON + ["server/models", "server/models/users", "server/service/access", "server/service/connections",
                                      "server/service/decisions", "server/service/owners", "server/service/transport"],
    "server/service": COMMON + ["common/decisions", "common/model/entries", "server/models", "server/models/catalogue", "server/service/access",
                                "server/service/connections", "server/service/decisions", "server/service/owners",
                                "server/service/tokens", "server/service/transport"],
    # The HTTP API: the handlers of the service, on a listener of its own.
    "server/api": COMMON + ["common/decisions", "common/json", "server/service/access", "server/service/connections", "server/service/tls",
                            "server/service/tokens", "server/service/transport"],
    "server/ops/config": COMMON + ["common/judging", "server/api", "server/log", "server/log/postgresql", "server/service/access", "server/service/connections", "server/service/tls"],
    "server/ops/observation": COMMON + ["server/models", "server/service/connections", "server/service/decisions",
                                        "server/service/transport"],
    "server/ops": COMMON + ["common/json", "server/api", "server/log", "server/models", "server/service", "server/service/access", "server/service/admin",
                            "server/service/connections", "server/service/decisions", "server/service/owners", "server/service/tls", "server/service/tokens",
                            "server/service/transport",
                            "server/ops/config", "server/ops/observation"],
    "client/include": [],
    # The device without I/O or threads.
    "client/core": ["client/include", "common/accounting", "common/base", "common/features", "common/mechanisms", "common/promise",
                    "common/random", "common/ranking"],
    # The core behind a C interface, for hosts in other languages.
    "client/abi": ["client/core", "client/include", "common/base", "common/promise", "common/random"],
    # The host in C++: gRPC, SQLite and threads.
    "client/src": SHARED + ["client/core", "client/include", "common/channel", "common/sqlite"],
    "tools/base": ["common/base"],
    "tools/environments": COMMON + ["tools/base"],
    # Files of decisions, in every format.
    "tools/decisions": ["common/base", "common/decisions", "common/sqlite"],
    # Configurations that learn from logs, and models as they were exported.
    "tools/replay": COMMON + CORE + ["common/decisions", "common/judging", "server/models/folder"],
    # Judging by logs on disk.
    "tools/judge": ["common/base", "common/decisions", "common/judging", "server/decisions", "tools/base",
                    "tools/decisions", "tools/replay"],
    # Scales of models from logs.
    "tools/tune": ["common/base", "common/decisions", "common/design", "common/judging", "proto", "tools/base", "tools/judge", "tools/replay"],
    # Mechanisms as their papers print them.
    "tools/published": COMMON,
    # The audits look at what a device sends, at models that are opened again, and at both sides in worlds that are
    # compared.
    "tools/audit": TOOLS + CORE + MODELS + ["common/decisions", "server/decisions", "server/models/admission", "tools/published", "client/core", "client/src*", "server/log",
                                            "server/service*", "server/ops*", "server/api"],
    "tools/ctl": TOOLS + CORE + MODELS + ["common/decisions", "common/judging", "server/decisions", "server/ops/config", "tools/judge", "tools/tune"],  # data folders of a stopped server
    # Its second device is the C interface, in the host that is the example.
    "tools/fleet": TOOLS + ["examples"],
    "tools": TOOLS,
    # Papers reproduced, tables remade. Nothing outside but tests and benchmarks may see it.
    "research/published": COMMON,
    "research/compact": ["common/base", "common/linalg"],
    "research/rounds": ["common/base", "tools/environments"],
    "research/lab": TOOLS + CORE + ["tools/published", "research/published", "research/compact",
                                    "research/rounds"],  # the served state machine over a log in memory
    "research/tables": COMMON,
    "examples": ["client/include", "proto"],
    "bench": ["server/log/postgresql"] + COMMON + CORE + MODELS + ["common/decisions", "server/decisions", "server/models/admission", "server/log", "server/service*", "server/ops*",
                                       "client/include", "client/core", "client/src*", "tools/base", "tools/decisions", "tools/environments",
                                       "tools/judge", "tools/published", "research/compact", "research/rounds", "tests/support"],
    "tests": None,  # may include everything
}

# Folders that belong to the room above them.
PARTS = {
    "common/bandits/bco", "common/bandits/effects", "common/bandits/joint", "common/bandits/mab", "common/bandits/sparse",
    "common/design/families", "common/design/files", "common/design/mechanisms", "common/design/planner",
    "common/promise/mechanisms", "common/ranking/policies", "server/api/admin", "server/api/console", "server/log/state",
    "server/models/aliases", "server/models/registry", "server/models/replicas", "server/ops/playground", "server/service/policies", "server/service/rules",
    "common/mechanisms/counters", "common/mechanisms/joint", "common/mechanisms/sparse",
    "client/abi/include", "client/abi/src", "client/abi/wasm", "client/core/delivery", "client/core/selection", "client/src/base", "client/src/store",
    "client/core/stand_in", "client/core/stand_in/absl/status", "client/core/stand_in/absl/strings", "client/core/stand_in/absl/time",
    "client/include/bandana", "examples/c", "examples/quickstart", "examples/shop",
    "tools/audit/transcript",
    "research/lab/fliphat", "research/lab/neurips18", "research/lab/neurips20", "research/lab/recsys20", "research/lab/recsys22",
}
# Tools without a row: each may include what the row `tools` says.
PLAIN_TOOLS = {"tools/import"}

# All that the device's core may include from outside the tree, itself or by way of a header: what WebAssembly without threads has
# (atomic: closures that it hands out may end in another thread of the C++ SDK), and the part of Abseil that client/core/stand_in stands
# in for.
CORE_INCLUDES = {"absl/status/status.h", "absl/status/statusor.h", "absl/strings/cord.h", "absl/strings/str_cat.h", "absl/strings/string_view.h",
                 "absl/time/time.h", "algorithm", "array", "atomic", "bit", "charconv", "cmath", "compare", "concepts", "cstddef", "cstdint", "cstdio", "cstdlib",
                 "cstring", "functional", "iterator", "limits", "list", "map", "memory", "optional", "set", "span", "string", "string.h",
                 "string_view", "tuple", "type_traits", "unordered_map", "utility", "variant", "vector"}


def room_of(path):
    matches = [room for room in ALLOWED if path.startswith(room + "/")]
    if not matches:
        return None
    room = max(matches, key=len)
    # Every tool is a room of its own: tools/fleet must not include tools/import.
    return "/".join(path.split("/")[:2]) if room == "tools" else room


def target_of(include):
    """The room that an included path belongs to; None for third-party headers."""
    if include.startswith(("bandana/v1/", "bandana/internal/")):
        return "proto"
    if include.startswith("bandana/"):
        return "client/include"
    parts = include.split("/")
    if parts[0] in ("common", "server", "client", "tools", "research", "tests", "bench", "examples"):
        return room_of(include) or "/".join(parts[:2])
    return None


def is_allowed(target, allowed):
    return any(target == room or (room.endswith("*") and target.startswith(room[:-1])) for room in allowed)


def is_placed(path):
    """Whether the folder of a file is a room, or a named part of one."""
    folder = path.rpartition("/")[0]
    return folder in ALLOWED or folder in PARTS or folder in PLAIN_TOOLS or folder.startswith("tests/")


def expand(names):
    """The rooms that a row names; * stands for those below as well."""
    return {room for name in names for room in ALLOWED
            if room == name or (name.endswith("*") and (room + "/").startswith(name[:-1] + "/"))}


def table_problems(allowed):
    """Names in the rows that are no rooms, and circles among the rows."""
    known = set(allowed) | {"proto", "tests/support"}
    found = [f"ALLOWED: {room} may include {name}, which is no room" for room, names in allowed.items()
             for name in names or [] if name.rstrip("*") not in known]
    floors = {room: expand(names or []) - {room} for room, names in allowed.items()}
    while floors:
        ground = {room for room, below in floors.items() if not below & set(floors)}
        if not ground:
            return found + ["ALLOWED: a circle among " + ", ".join(sorted(floors))]
        floors = {room: below for room, below in floors.items() if room not in ground}
    return found


def stale_problems(files):
    """Rows and parts without a file."""
    return [f"{name}: no such folder; take it out of the table" for name in sorted(set(ALLOWED) | PARTS | PLAIN_TOOLS)
            if not any(path.startswith(name + "/") for path in files)]


def problems_of(path, text):
    room = room_of(path)
    if room is None or not is_placed(path):
        return [f"{path}: no room: name its folder in ALLOWED, or in PARTS if it belongs to the room above"]
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
        if not is_allowed(target, allowed):
            found.append(where + f"{room} may not include {target} ({include})")
    return found


INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


def core_problems(root):
    """Includes of the device's core, followed through the tree's headers, that a host without threads and libraries has not."""
    tree = set(source_tree.files(root, [".h", ".cc"]))
    waiting = sorted(path for path in tree if path.startswith("client/core/") and not path.startswith("client/core/stand_in/"))
    seen, found = set(waiting), []
    while waiting:
        path = waiting.pop()
        for include in INCLUDE.findall(source_tree.read(root, path)):
            if "client/include/" + include in tree:
                include = "client/include/" + include
            if include not in tree and include not in CORE_INCLUDES:
                found.append(f"{path}: the device's core may not include {include}")
            elif include in tree and include not in seen:
                seen.add(include)
                waiting.append(include)
    return found


def check(root):
    problems = core_problems(root)
    for path in source_tree.files(root, [".h", ".cc"]):
        problems += problems_of(path, source_tree.read(root, path))
    return problems


if __name__ == "__main__":
    tree = sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()
    source_tree.finish("layering", table_problems(ALLOWED) + stale_problems(source_tree.files(tree, [".h", ".cc"])) + check(tree)
                       + sdk_closure.check(tree))
