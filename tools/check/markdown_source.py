"""Reads Markdown as far as the checks need it: lines outside code blocks, headings with their anchors, links."""

import re

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()\s]*\))?)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")


def prose(text):
    """(number, line) of every line outside fenced code blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor(heading):
    """The anchor of a heading, as GitHub and the site make it."""
    heading = LINK.sub(lambda match: match.group(0)[1:match.group(0).index("](")], heading)
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def anchors(text):
    """Anchors of all headings; a second heading of the same words gets -1."""
    found = {}
    for _, line in prose(text):
        match = HEADING.match(line)
        if match:
            name = anchor(match.group(2))
            count = found.get(name, 0)
            found[name] = count + 1
            if count:
                found[f"{name}-{count}"] = 1
    return set(found)


def links(text):
    """(number, target) of every link and picture outside code; the words of a link may go over lines."""
    lines = [""] * len(text.splitlines())
    for number, line in prose(text):
        lines[number - 1] = line
    shown = "\n".join(lines)
    blank = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", "x", code.group(0)), shown)
    for match in LINK.finditer(blank):
        yield shown.count("\n", 0, match.start()) + 1, shown[match.start(1):match.end(1)]
