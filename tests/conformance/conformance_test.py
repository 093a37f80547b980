#!/usr/bin/env python3
"""Makes schedules, and runs them in every language.

Usage: conformance_test.py MAKE_SCHEDULES N SEED PYTHON_PACKAGE [--java JAR SCRIPTED_LIBRARIES] [--node MODULE CLIENT_JS] [--native REPLAY].
"""

import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("make_schedules")
parser.add_argument("n")
parser.add_argument("seed")
parser.add_argument("package")
parser.add_argument("--java", nargs=2)
parser.add_argument("--node", nargs=2)
parser.add_argument("--native")
args = parser.parse_args()
failed = 0
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
    schedules = f"{folder}/schedules.jsonl"
    with open(schedules, "w", encoding="utf-8") as out:
        subprocess.run([args.make_schedules, args.n, args.seed], check=True, stdout=out)
    failed += subprocess.run([sys.executable, f"{HERE}/replay.py", args.package, schedules], check=False).returncode
    if args.java:
        jar, libraries = args.java
        subprocess.run(["javac", "-cp", jar, "-d", folder, f"{HERE}/Replay.java"], check=True)
        java = ["java", f"-Dbandana.library={libraries}", "-cp", f"{jar}:{folder}", "io.bandana.Replay", schedules, folder]
        failed += subprocess.run(java, check=False).returncode
    if args.node:
        failed += subprocess.run(["node", f"{HERE}/replay.mjs", *args.node, schedules], check=False).returncode
    if args.native:
        failed += subprocess.run([args.native, schedules], check=False).returncode
sys.exit(1 if failed else 0)
