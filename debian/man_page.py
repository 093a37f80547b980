#!/usr/bin/env python3
"""A manual page made from a program's own --help: man_page.py PROGRAM SOURCE writes it to stdout.

SOURCE, debian/man/NAME.SECTION.in, begins with a line `NAME - what it is`; the rest of it, in man(7), stands behind the help. Lines of
the help that begin with the program's name, two columns in, become the synopsis; rows of a word and its meaning become a list; the others
stay paragraphs.
"""

import os
import re
import subprocess
import sys

# `  --flag VALUE   text`, `  verb FILE   text`, and `  --flag VALUE text` where the flag was too long for its column.
ROW = re.compile(r"(\S.*?) {2,}(\S.*)|(-[\w-]+(?:,? -*[\w-]+)*? [A-Z:]+) (\S.*)")


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + text if text.startswith(".") else text


def indent(line):
    return len(line) - len(line.lstrip(" "))


def split_usage(name, lines):
    """The lines of the synopsis, each with what continues it, and the others."""
    usage, rest, inside = [], [], False
    for line in lines:
        inside = line.startswith(f"  {name} ") or (inside and indent(line) > 2)
        (usage if inside else rest).append(line)
    return usage, rest


def body(lines):
    """man(7) of paragraphs and rows. A line that is further in than its row continues it."""
    out, row = [], None
    for line in lines:
        here, words = indent(line), line.strip()
        if not words:
            row = None
            out.append(".PP")
        elif row is not None and here > row:
            out.append(escaped(words))
        elif here:
            row = here
            match = ROW.fullmatch(words)
            tag, text = ((match.group(1) or match.group(3)), (match.group(2) or match.group(4))) if match else (words, "")
            out += [".TP", f"\\fB{escaped(tag)}\\fR"] + ([escaped(text)] if text else [])
        else:
            out += ([".PP"] if row is not None else []) + [escaped(words)]
            row = None
    return out


def page(name, section, version, help_text, source):
    title, _, behind = source.partition("\n")
    summary = re.fullmatch(rf"{re.escape(name)} - (.+)", title).group(1)
    usage, rest = split_usage(name, help_text.splitlines())
    return "\n".join([f'.TH {name} {section} "" "bandana {version}"', ".nh", ".ad l", ".SH NAME", f"{name} \\- {escaped(summary)}",
                      ".SH SYNOPSIS", ".nf"] + [escaped(line[2:]) for line in usage] + [".fi", ".SH DESCRIPTION"] + body(rest)
                     + [behind.rstrip("\n")]) + "\n"


def main(program, source):
    name, section = re.fullmatch(r"(.+)\.(\d)\.in", os.path.basename(source)).groups()

    def said(flag):
        return subprocess.run([program, flag], check=True, stdout=subprocess.PIPE, text=True).stdout
    version = said("--version").split()[-1]
    with open(source, encoding="utf-8") as file:
        sys.stdout.write(page(name, section, version, said("--help"), file.read()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
