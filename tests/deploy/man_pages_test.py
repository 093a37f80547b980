#!/usr/bin/env python3
"""The manual pages of the Debian package say all that the programs' --help says, and groff finds no fault in them.

Usage: man_pages_test.py ROOT BIN. ROOT is the repository, BIN the folder with the built programs. Exits with 77 without groff.
"""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402


def words(text):
    return " ".join(text.split())


def rendered(page):
    """The page as a reader sees it, in lines long enough for every row."""
    done = subprocess.run(["groff", "-man", "-Tascii", "-rLL=400n", "-ww", "-P-cbou"], input=page, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return done.stdout


def check(root, programs, source):
    name, section = re.fullmatch(r"(.+)\.(\d)\.in", os.path.basename(source)).groups()
    program = os.path.join(programs, name)
    page = subprocess.run([sys.executable, f"{root}/debian/man_page.py", program, source], check=True, stdout=subprocess.PIPE, text=True).stdout
    text = rendered(page)
    shown = words(text)
    help_text = subprocess.run([program, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [words(line) for line in help_text.splitlines() if line.strip()]
    assert len(lines) > 5, help_text
    missing = [line for line in lines if line not in shown]
    assert not missing, f"{name}({section}) does not say: {missing}"
    headings = re.findall(r"^[A-Z][A-Z ]+$", text, re.M)
    assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"] and headings[-1] == "SEE ALSO", headings
    for other in re.findall(r"\b(bandana-\w+)\((\d)\)", text):
        assert os.path.isfile(f"{root}/debian/man/{other[0]}.{other[1]}.in"), f"{name}({section}) names {other}"
    return name


def main(root, programs):
    processes.need("groff")
    found = [check(root, programs, source) for source in sorted(glob.glob(f"{root}/debian/man/*.in"))]
    packed = [os.path.basename(line) for line in processes.read(f"{root}/debian/bandana-server.install").splitlines() if line.startswith("usr/bin/")]
    assert sorted(found) == sorted(packed), f"pages of {found}, programs {packed}"


if __name__ == "__main__":
    main(*[os.path.abspath(path) for path in sys.argv[1:]])
