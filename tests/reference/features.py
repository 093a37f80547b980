"""Named values to vectors: docs/wire_sdk/bytes.md, Lines of a schema and Named features."""

import math
import re

from policy import need, real, whole

WORD = re.compile(rb"[a-z0-9\x80-\xff]+")
QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])+)"')


def hashed(text, bits):
    h = 0xCBF29CE484222325
    for byte in text:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return (h ^ h >> 33) % 2**bits


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def text_of(value):
    """The bytes of a text, or of a whole number's digits; None of others."""
    if isinstance(value, str):
        return value.encode()
    if is_number(value) and abs(value) <= 2**53 and value == int(value):
        return str(int(value)).encode()
    return None


class Words:
    def __init__(self, text):
        if match := re.fullmatch(r"hash_bits (\d+)", text):
            self.bits, self.size = whole(match.group(1)), 2 ** whole(match.group(1))
            return
        need(re.fullmatch(rf"values(?: {QUOTED.pattern})+", text), f"no words: {text!r}")
        values = [re.sub(r"\\(.)", r"\1", quoted).encode() for quoted in QUOTED.findall(text)]
        self.bits, self.size, self.entries = None, len(values), {value: i for i, value in enumerate(values)}

    def entry(self, text):
        return hashed(text, self.bits) if self.bits is not None else self.entries.get(text)


def unit(block):
    total = 0.0
    for value in block:
        total += value * value
    if total == 0:
        return block
    scale = 1 / math.sqrt(total)
    return [value * scale for value in block]


class Categorical:
    def __init__(self, rest):
        self.words = Words(rest)
        self.size = self.words.size

    def encode(self, value):
        block = [0.0] * self.size
        text = text_of(value)
        entry = None if text is None else self.words.entry(text)
        if entry is not None:
            block[entry] = 1.0
        return block


class Set(Categorical):
    def encode(self, value):
        block = [0.0] * self.size
        texts = [text_of(one) for one in value] if isinstance(value, list) else [None]
        if None in texts:
            return [0.0] * self.size
        for text in texts:
            entry = self.words.entry(text)
            if entry is not None:
                block[entry] = 1.0
        return unit(block)


class Numeric:
    size = 1

    def __init__(self, rest):
        low, high, form = rest.split(" ")
        need(form in ("linear", "log"), "no form of a number")
        self.low, self.high, self.log = real(low), real(high), form == "log"

    def encode(self, value):
        if not is_number(value):
            return [0.0]
        inside = min(max(float(value), self.low), self.high)
        if self.log:
            share = (math.log(inside) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (inside - self.low) / (self.high - self.low)
        return [min(max(2 * share - 1, -1.0), 1.0)]


class Cyclic:
    size = 2

    def __init__(self, rest):
        self.period = real(rest)

    def encode(self, value):
        if not is_number(value):
            return [0.0, 0.0]
        angle = 2 * math.pi * (math.fmod(float(value), self.period) / self.period)
        return [math.sin(angle), math.cos(angle)]


class Boolean:
    size = 1

    def __init__(self, rest):
        need(rest == "", "boolean has no words")

    def encode(self, value):
        return [1.0 if value else -1.0] if isinstance(value, bool) else [0.0]


class Text:
    def __init__(self, rest):
        match = re.fullmatch(r"hash_bits (\d+) ngrams (\d+)", rest)
        need(match, "no text field")
        self.bits, self.ngrams = whole(match.group(1)), whole(match.group(2))
        self.size = 2**self.bits

    def encode(self, value):
        block = [0.0] * self.size
        if not isinstance(value, str):
            return block
        words = WORD.findall(bytes(b + 32 if 65 <= b <= 90 else b for b in value.encode()))
        for end in range(1, len(words) + 1):
            for n in range(1, min(self.ngrams, end) + 1):
                block[hashed(b" ".join(words[end - n:end]), self.bits)] += 1
        return unit(block)


class Vector:
    def __init__(self, rest):
        size, l2_max = rest.split(" ")
        self.size, self.l2_max = whole(size), real(l2_max)

    def encode(self, value):
        if not isinstance(value, list) or len(value) != self.size or not all(is_number(v) for v in value):
            return [0.0] * self.size
        block = [float(v) for v in value]
        largest = max(abs(v) for v in block)
        if largest == 0:
            return block
        total = 0.0
        for v in block:
            total += (v / largest) * (v / largest)
        norm = math.sqrt(total)
        if norm > self.l2_max / largest:
            return [v / largest / norm for v in block]
        return [v / self.l2_max for v in block]


KINDS = {"categorical": Categorical, "set": Set, "numeric": Numeric, "cyclic": Cyclic, "boolean": Boolean, "text": Text,
         "vector": Vector}


class Schema:
    def __init__(self, lines, l2_max):
        """Lines without `feature_` before them."""
        self.bias, self.context, self.arm, self.crosses = False, {}, {}, []
        for line in lines:
            part, _, rest = line.partition("=")
            if part == "bias":
                self.bias = True
            elif part == "cross":
                self.crosses.append(tuple(rest.split(" ")))
            else:
                need(part in ("context", "arm"), f"no block: {line!r}")
                name, kind, *words = rest.split(" ", 2)
                fields = self.context if part == "context" else self.arm
                need(kind in KINDS and name not in {**self.context, **self.arm}, f"no field: {line!r}")
                fields[name] = KINDS[kind](words[0] if words else "")
        self.scale = l2_max / math.sqrt(float(len(lines))) * (1 - 2.0**-36)

    def vector(self, context, arm):
        blocks = {name: field.encode(values.get(name)) for fields, values in ((self.context, context), (self.arm, arm))
                  for name, field in fields.items()}
        scaled = {name: [v * self.scale for v in block] for name, block in blocks.items()}
        x = [self.scale] if self.bias else []
        for name in list(self.context) + list(self.arm):
            x += scaled[name]
        for a, b in self.crosses:
            one_side = (a in self.context) == (b in self.context)
            first = scaled[a] if not one_side and a in self.arm else blocks[a]
            second = scaled[b] if not one_side and b in self.arm else blocks[b]
            cross = [p * q for p in first for q in second]
            x += [v * self.scale for v in cross] if one_side else cross
        return x
