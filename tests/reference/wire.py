"""The few messages that a path has: protobuf's wire form, written and read; docs/wire_sdk/bytes.md, Report bytes."""


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number % 128 + 128)
        number //= 128
    return bytes(out + bytes([number]))


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content if content else b""


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def report(token, shown, output, whole_range):
    return block(1, token) + number(2, shown) + number(3, output) + number(4, int(whole_range))


def submit(model, policy_hash, reports):
    return block(1, model) + block(2, policy_hash) + b"".join(varint(3 << 3 | 2) + varint(len(r)) + r for r in reports)


def fields(message):
    """(number, value) of each: integers, or bytes."""
    at = 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = take()
        kind = key & 7
        if kind == 0:
            yield key >> 3, take()
            continue
        size = take() if kind == 2 else {1: 8, 5: 4}[kind]
        yield key >> 3, message[at:at + size]
        at += size


def all_of(message, field):
    return [value for number_, value in fields(message) if number_ == field]


def one_of(message, field, default=b""):
    return (all_of(message, field) or [default])[-1]
