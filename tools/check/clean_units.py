"""Remembers which files a slow check has passed, until something that they read changes."""

import functools
import hashlib
import os
import re

import source_tree

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Where an include may stand; a generated proto header is told apart by its .proto.
FOLDERS = ("", "client/include/")


class CleanUnits:
    """One file per passed unit below `folder`. `context`: text that makes all of them stale (tool, options)."""

    def __init__(self, root, folder, context):
        self.root, self.folder, self.context = root, folder, context
        self.known = set(source_tree.files(root, [".h", ".cc", ".inc", ".proto"]))
        os.makedirs(folder, exist_ok=True)

    @functools.cache
    def _read(self, path):
        return source_tree.read(self.root, path)

    @functools.cache
    def _includes(self, path):
        found = []
        for name in INCLUDE.findall(self._read(path)):
            names = [folder + name for folder in FOLDERS]
            names.append("proto/" + re.sub(r"\.(grpc\.)?pb\.h$", ".proto", name))
            found += [name for name in names if name in self.known]
        return found

    def _key(self, path):
        seen, waiting = set(), [path]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self._includes(one)
        digest = hashlib.sha256(self.context.encode())
        for one in sorted(seen):
            digest.update(f"\0{one}\0{self._read(one)}".encode())
        return os.path.join(self.folder, digest.hexdigest())

    def has(self, path):
        return os.path.exists(self._key(path))

    def add(self, path):
        with open(self._key(path), "w", encoding="utf-8") as file:
            file.write(path)
