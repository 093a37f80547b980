"""Reads C++ as far as the checks need it: comments and strings blanked, and the conditions of branches."""

import re

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
BRANCH = re.compile(r"\bif\s*(?:constexpr\s*)?(?=\()|\bcase\b|\?|\b(?:std::)?(?:visit|get_if|holds_alternative)\b|\bhas_value\s*\(\)")
OPENING = {")": "(", "]": "[", "}": "{"}


def without_comments_and_strings(text):
    """The code with comments gone and strings empty; every line keeps its number. Digit separators stay."""
    def blank(match):
        kept = match.group(0)
        lines = "\n" * kept.count("\n")
        if kept.startswith("'") and match.start() > 0 and text[match.start() - 1].isalnum():
            return kept
        return ('""' if kept[0] in 'R"' else "''" if kept[0] == "'" else "") + lines
    return TOKEN.sub(blank, text)


def comments(text):
    """Only the comments, at their places; everything else is blank."""
    kept, last = [], 0
    for match in TOKEN.finditer(text):
        kept.append(re.sub(r"[^\n]", " ", text[last:match.start()]))
        is_comment = match.group(0).startswith("/")
        kept.append(match.group(0) if is_comment else re.sub(r"[^\n]", " ", match.group(0)))
        last = match.end()
    return "".join(kept) + re.sub(r"[^\n]", " ", text[last:])


def closing(code, start):
    """Offset after the bracket that closes the one at `start`; the end of the code when none does."""
    depth = 0
    for offset in range(start, len(code)):
        if code[offset] in "([{":
            depth += 1
        elif code[offset] in ")]}":
            depth -= 1
            if depth == 0:
                return offset + 1
    return len(code)


def condition_before(code, end):
    """The condition of a `?` at `end`: back to the start of its expression."""
    depth, offset = 0, end
    while offset > 0:
        character = code[offset - 1]
        if character in ")]}":
            if character == "}" and depth == 0:
                break
            depth += 1
        elif character in "([{":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            if character in ";,?":
                break
            if character == ":" and code[offset - 2] != ":" and code[offset:offset + 1] != ":":
                break
            if character == "=" and code[offset - 2] not in "=!<>" and code[offset:offset + 1] != "=":
                break
            if re.search(r"\b(?:return|co_return)$", code[max(0, offset - 9):offset]):
                break
        offset -= 1
    return code[offset:end]


def branches(code):
    """(form, offset, end of the condition, condition) of every branch in code that has neither comments nor strings."""
    for match in BRANCH.finditer(code):
        word, start, after = match.group(0).strip(), match.start(), match.end()
        if word.startswith("if"):
            end = closing(code, after)
            yield "if", start, end, code[after + 1:end - 1]
        elif word == "case":
            colon = re.compile(r"(?<!:):(?!:)").search(code, after)
            end = colon.start() if colon else len(code)
            yield "case", start, end, code[after:end]
        elif word == "?":
            yield "?:", start, after, condition_before(code, start)
        elif word.startswith("has_value"):
            yield "has_value", start, after, condition_before(code, start) + word
        else:
            bracket = code.find("(", after)
            end = closing(code, bracket) if bracket >= 0 else len(code)
            yield word.replace("std::", ""), start, end, code[after:end]
