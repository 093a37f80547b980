#!/usr/bin/env python3
"""Finds four habits that make a reader start a sentence again, in comments and documents.

- A comment or paragraph that begins with "Of": say first who does what.
- A sentence that begins with "What", "The same" or "One that": name the thing. Questions and headings may, also a heading at the
  begin of a paragraph (`**What a thief sees.**`).
- A sentence that ends in ", too": it only makes sense after the one before it. Say what is the same.
- `one row a user` where "one row per user" is meant.

Words between backticks are code. The last rule knows the words below; others are for the reader of the change.
"""

import re
import sys

import cpp_source
import hash_source
import markdown_source
import source_tree

UNITS = ("address|arm|batch|block|byte|call|caller|coordinate|core|day|decision|device|entry|episode|epoch|event|hour|id|increment|KiB|line|"
         "listener|message|microsecond|millisecond|minute|model|month|node|observer|origin|paper|principal|process|program|record|report|round|"
         "row|sample|second|session|source|step|stream|thread|transaction|user|week|window|worker|year")
# Counted things: a number and its unit, or the plural of what happens.
NUMBERED = r"(?:\d[\d,.]*|[Oo]ne|[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Tt]en|[Ss]everal|[Mm]any)"
PLURALS = ("bytes|calls|connections|decisions|directions|doubles|entries|events|handshakes|messages|reports|requests|rounds|rows|"
           "samples|selections|streams")
# Words after a number that begin something else: "one in a call", "2 is a step".
OTHERS = ("after|and|are|as|at|because|before|by|during|ends|for|from|has|if|in|into|is|like|may|of|on|or|over|receives|than|that|to|"
          "under|was|when|where|whose|with|within|without")

OF = re.compile(r"^Of\b")
SUBJECT = re.compile(r"(?:^|(?<=[.:;?!]\s)|(?<=[.:;?!]\*\*\s))(What|The\ssame|One\sthat)\b(?![^.?!]*\?)")
TOO = re.compile(r", too(?:[.;:!?)]| *\||$)")
PER = re.compile(rf"\b(?:{NUMBERED}\s+(?!(?:{OTHERS})\b)[\w%^-]+|{PLURALS}|\d)\s+(an?\s+(?:{UNITS}))\b(?!['-]| (?:can|had|has|holds|is|makes|may|must|of each|other|sends|takes)\b)")


def paragraphs(path, text):
    """(line number, words) of each comment or paragraph, its line ends kept."""
    if path.endswith(".md"):
        lines = dict(markdown_source.prose(text))
        start = re.compile(r"^\s*(?:[-*>#|]|\d+\.)\s*\**")
        blank = re.compile(r"^\s*$")
    elif hash_source.is_one(path):
        lines, code = hash_source.comments(path, text)
        start, blank = None, re.compile(r"^\s*$")
    else:
        kept = text if path.endswith(".proto") else cpp_source.comments(text)
        lines = {number: line[line.index("//"):] for number, line in enumerate(kept.splitlines(), 1) if "//" in line}
        # A comment beside code begins anew on every line of code.
        code = {number for number, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("//")}
        # Fences of proofs and heads of groups stand by themselves.
        start, blank = None, re.compile(r"^//+\s*(?:PROOF: .*|---.*)?$")
    first, words = 0, []
    for number in sorted(lines) + [0]:
        line = lines.get(number, "")
        ends = (not words or number != first + len(words) or blank.match(line) or (start.match(line) if start else number in code)
                or (start and words[-1].startswith("#")))  # a heading may stand right above its text
        if ends and words:
            yield first, "\n".join(words)
            words = []
        if number and not blank.match(line):
            if not words:
                first = number
            words.append(line.strip() if path.endswith(".md") else line.lstrip("/").strip())


def problems_of(path, text):
    found = []
    for first, words in paragraphs(path, text):
        words = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", "x", code.group(0)), words)
        heading = words.startswith("#")
        words = re.sub(r"^(?:[-*>#|]+|\d+\.) ", lambda mark: " " * len(mark.group(0)), words)
        begin = words.lstrip()
        indent = len(words) - len(begin)
        hits = [(indent, 'begins with "Of"')] if OF.match(begin) else []
        hits += [(indent + match.start(1), f'"{match.group(1)}" begins a sentence: name the thing')
                 for match in SUBJECT.finditer(begin) if not heading]
        hits += [(match.start(), 'ends in ", too"') for match in TOO.finditer(words)]
        hits += [(match.start(1), f'"{" ".join(match.group(1).split())}": write "per"') for match in PER.finditer(words)]
        for offset, problem in sorted(hits):
            line = first + words.count("\n", 0, offset)
            found.append(f"{path}:{line}: {problem}")
    return found


def check(root):
    return [problem for path in source_tree.files(root, [".md", ".h", ".cc", ".proto"] + hash_source.SUFFIXES)
            for problem in problems_of(path, source_tree.read(root, path))]


if __name__ == "__main__":
    source_tree.finish("english", check(sys.argv[1] if len(sys.argv) > 1 else source_tree.default_root()))
