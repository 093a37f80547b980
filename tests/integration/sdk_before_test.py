#!/usr/bin/env python3
"""The C++ SDK as it was before other languages had one, built from git, reports to today's server; and its file to today's SDK.

Usage: sdk_before_test.py SERVER QUICKSTART SOURCE_FOLDER BUILD_FOLDER. Skipped (77) where the commit is not there.
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402
import sdk_server  # noqa: E402

# The last commit at which C++ was the only language with an SDK.
BEFORE = "4dc536135e6c48355e494ced99d8c24b6d40ab66"


def build(source, folder):
    """The quickstart program of that commit; keeps the build of an earlier run."""
    processes.need("git", "tar", "cmake", "ninja")
    known = subprocess.run(["git", "-C", source, "cat-file", "-e", BEFORE + "^{commit}"], check=False, capture_output=True)
    if known.returncode != 0:
        processes.skip(f"commit {BEFORE[:8]} is not in {source} (a shallow clone, or no clone)")
    tree = f"{folder}/{BEFORE[:8]}"
    if not os.path.exists(f"{tree}/unpacked"):
        os.makedirs(tree, exist_ok=True)
        archive = subprocess.run(["git", "-C", source, "archive", BEFORE], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
        with open(f"{tree}/unpacked", "w", encoding="utf-8"):
            pass
    environment = dict(os.environ, CCACHE_BASEDIR=tree, CCACHE_NOHASHDIR="1", CCACHE_SLOPPINESS="pch_defines,time_macros")
    subprocess.run(["cmake", "--preset", "test"], cwd=tree, env=environment, check=True)
    subprocess.run(["ninja", "-C", "build/test", "-j2", "quickstart"], cwd=tree, env=environment, check=True)
    return f"{tree}/build/test/examples/quickstart/quickstart"


def expect(program, server, store, events):
    """Runs a quickstart; `events` are those of the user in this store, this run's among them."""
    done = subprocess.run([program, server.grpc, store], check=False, capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    for text in ("100 reports applied", f"epsilon 2 per event, {events} events"):
        if done.returncode != 0 or text not in said:
            raise AssertionError(f"{program} ended with {done.returncode}, expected '{text}':\n{said}")


def main():
    program, today, source, folder = sys.argv[1:]
    before = build(source, folder)
    with tempfile.TemporaryDirectory() as temporary, processes.Children() as children:
        server = sdk_server.start(program, temporary, children, processes.read(f"{source}/examples/quickstart/server.textproto"))
        store = f"{temporary}/device.db"
        expect(before, server, store, 100)
        expect(today, server, store, 200)
        # And back: an application that returns to its older version keeps the debits.
        expect(before, server, store, 300)


main()
