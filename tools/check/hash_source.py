"""Reads files whose comments begin with '#', and Python's docstrings, as far as the checks need them."""

import io
import re
import tokenize

SUFFIXES = [".py", ".cmake", "CMakeLists.txt", ".sh", ".yaml", ".yml", ".textproto", ".supp", ".cfg", "dev"]
COMMENT = re.compile(r"""^((?:[^"'#]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?<=\S)#)*?)(?<!\S)#+(?!!)(.*)$""")


def is_one(path):
    return path.endswith(tuple(SUFFIXES[:-1])) or path == SUFFIXES[-1]


def comments(path, text):
    """{number: words} of every line of a comment or docstring, and the numbers of lines that begin anew."""
    if path.endswith(".py"):
        return python_comments(text)
    words, fresh = {}, set()
    for number, line in enumerate(text.splitlines(), 1):
        match = COMMENT.match(line)
        if match:
            words[number] = match.group(2)
            if match.group(1).strip():
                fresh.add(number)
    return words, fresh


def python_comments(text):
    words, fresh = {}, set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first = token.start[0]
        if token.type == tokenize.COMMENT:
            words[first] = token.string.lstrip("#!")
            if token.line[:token.start[1]].strip():
                fresh.add(first)
        elif token.type == tokenize.STRING and token.string.startswith('"""') and before in (tokenize.NEWLINE, tokenize.INDENT):
            for offset, line in enumerate(token.string[3:-3].splitlines()):
                words[first + offset] = line.strip()
            fresh.add(first)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return words, fresh
