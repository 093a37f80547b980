"""The transitive part of check_layering.py: nothing that the SDK links is a learner, or reaches one, Eigen, OpenBLAS or LAPACKE.

The targets are read from the CMakeLists.txt of common and client (bandana_library), from `client` along PUBLIC_DEPS and PRIVATE_DEPS
alike: a program with a static library links both. Their sources are followed along their #include lines.
"""

import collections
import re

import source_tree

ROOT_TARGET = "client"
INSTALL = "cmake/install.cmake"
# Rooms of the server's side: what learns, and what is made of a whole configuration.
BEYOND = ("common/bandits", "common/design", "common/model", "server", "tools", "research")
HEADERS = re.compile(r"Eigen/|cblas\.h$|lapacke\.h$")
LINKED = re.compile(r"Eigen3::|bandana::blas$|(?:openblas|lapacke)", re.IGNORECASE)

Target = collections.namedtuple("Target", "folder sources deps")

_WORDS = {"NAME", "SRCS", "PUBLIC_DEPS", "PRIVATE_DEPS", "OPTIONS"}


def includes_of(text):
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE)


def targets_of(folder, text):
    """Name -> Target of one CMakeLists.txt."""
    text = re.sub(r"#[^\n]*", "", text)
    lists = collections.defaultdict(list)
    for name, words in re.findall(r"\b(?:set|list)\(\s*(?:APPEND\s+)?(\w+)([^()]*)\)", text):
        lists[name] += words.split()
    found = {}
    for call in re.findall(r"\bbandana_library\(([^()]*)\)", text):
        parts, word = collections.defaultdict(list), None
        for token in call.split():
            variable = re.fullmatch(r"\$\{(\w+)\}", token)
            if token in _WORDS:
                word = token
            else:
                parts[word] += lists[variable.group(1)] if variable and variable.group(1) in lists else [token]
        found[parts["NAME"][0]] = Target(folder, [f"{folder}/{source}" for source in parts["SRCS"]],
                                         parts["PUBLIC_DEPS"] + parts["PRIVATE_DEPS"])
    return found


def all_targets(root):
    found = {}
    for path in source_tree.files(root, ["CMakeLists.txt"]):
        if path.startswith(("common/", "client/")):
            found.update(targets_of(path.rpartition("/")[0], source_tree.read(root, path)))
    return found


def chains(start, following):
    """All names that are reached from start, each with the way there."""
    ways, waiting = {name: [name] for name in start}, list(start)
    while waiting:
        name = waiting.pop(0)
        for after in following(name):
            if after not in ways:
                ways[after] = ways[name] + [after]
                waiting.append(after)
    return ways


def is_beyond(path):
    return any(path == room or path.startswith(room + "/") for room in BEYOND)


def linked_targets(targets):
    """Every target and library that the SDK links, each with the way there, in names without bandana::."""
    def following(name):
        deps = targets[name].deps if name in targets else []
        return [dep.removeprefix("bandana::") if dep.removeprefix("bandana::") in targets else dep for dep in deps]
    return chains([ROOT_TARGET], following)


def check(root):
    targets = all_targets(root)
    if ROOT_TARGET not in targets:
        return []
    problems = []
    linked = linked_targets(targets)
    for name, way in linked.items():
        if LINKED.search(name) or (name in targets and is_beyond(targets[name].folder)):
            problems.append("the SDK must not link " + " > ".join(way))

    known = set(source_tree.files(root, [".h", ".cc", ".inc"]))

    def following(path):
        here = includes_of(source_tree.read(root, path)) if path in known else []
        public = ["client/include/" + name if "client/include/" + name in known else name for name in here]
        return [name for name in public if name in known or HEADERS.search(name) or is_beyond(name)]

    sources = [source for name in linked if name in targets and not is_beyond(targets[name].folder) for source in targets[name].sources]
    for path, way in chains(sources, following).items():
        if HEADERS.search(path) or is_beyond(path):
            problems.append("the SDK must not include " + " > ".join(way))
    return problems + installed_problems(root, set(linked))


def installed_problems(root, linked):
    """Targets that are installed with the SDK although it does not link them."""
    if INSTALL not in source_tree.files(root, [".cmake"]):
        return []
    listed = re.search(r"\binstall\(TARGETS([^()]*?)EXPORT", re.sub(r"#[^\n]*", "", source_tree.read(root, INSTALL)))
    names = [name.removeprefix("bandana_") for name in (listed.group(1).split() if listed else [])]
    return [f"{INSTALL}: the SDK does not link {name}" for name in names if name not in linked | {"proto"}]
