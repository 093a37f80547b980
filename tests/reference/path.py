"""A path of docs/wire_sdk.md as the judge reads it: rows, contents of report rows, and the policy of an answer."""

import hashlib
import struct
from dataclasses import dataclass

import policy
import randomizer
import wire

OPEN, READY, OUTBOUND = 0, 1, 2
KEYS = {"store": 1, "policies": 1, "ledger": 1, "reports": 1, "streams": 1, "steps": 2, "drawn": 1, "kept": 2}


def cell(text):
    if text[0] == "i":
        return int(text[1:])
    return struct.unpack(">d", bytes.fromhex(text[1:]))[0] if text[0] == "r" else bytes.fromhex(text[1:])


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


@dataclass
class Report:
    """A row of the table `reports`: its cells, and what its content says."""

    number: int
    owner: int
    state: int
    wake_at: int
    due_at: int
    user: bytes
    size: int
    token: bytes
    features: bytes
    report: bytes
    shown: int
    epoch: int
    close: int
    window: tuple
    reacted: bool
    held: bytes

    def step(self):
        return int.from_bytes(self.held, "little")


def report_row(cells):
    number, _, owner, state, wake_at, due_at, user, content = [cell(one) for one in cells[:8]]
    at = 0

    def integer():
        nonlocal at
        at += 8
        return int.from_bytes(content[at - 8:at], "little")

    def block():
        nonlocal at
        size = integer()
        at += size
        return content[at - size:at]

    token, features, report = block(), block(), block()
    shown, epoch, close = integer(), integer(), integer()
    window, reacted, held = block(), integer() != 0, block()
    ends = struct.unpack("<2d", window) if len(window) == 16 else None
    return Report(number, owner, state, wake_at, due_at, user, len(content), token, features, report, shown, epoch, close, ends, reacted, held)


class Rows:
    """Durable rows, and the transaction that is open."""

    def __init__(self, rows):
        self.durable = {}
        self.open = {}
        for table, cells in rows:
            self.put(table, cells)
        self.stand()

    def put(self, table, cells):
        self.open[(table, tuple(cells[:KEYS[table]]))] = cells

    def erase(self, table, key):
        self.open[(table, tuple(key))] = None

    def stand(self):
        for key, cells in self.open.items():
            if cells is None:
                self.durable.pop(key, None)
            else:
                self.durable[key] = cells
        self.open = {}

    def fall(self):
        self.open = {}

    def of(self, table):
        return [cells for (name, _), cells in self.durable.items() if name == table]

    def written(self, table):
        """(key, cells or None) of the open transaction, in order."""
        return [(key[1], cells) for key, cells in self.open.items() if key[0] == table]


class Broken(Exception):
    """An answer to GetModel that no device agrees to, and the rule that says so."""

    def __init__(self, rule):
        super().__init__(f"rule {rule}")
        self.rule = rule


class Agreed:
    """The policy that a device agrees to by an answer to GetModel; raises Broken."""

    def __init__(self, message, epsilon_max):
        text = wire.one_of(message, 24)
        self.hash = wire.one_of(message, 17)
        if hashlib.sha256(text).digest() != self.hash:
            raise Broken(3)
        try:
            self.policy = p = policy.read(text.decode())
            policy.need(p["mode"] == "LOCAL_REWARD", "a judge of local rewards")
        except (policy.Refused, UnicodeDecodeError) as refused:
            raise Broken(2) from refused
        if p["epsilon"] > epsilon_max:
            raise Broken(4)
        self.range = (p["reward_min"], p["reward_max"])
        self.binary = bool(p["reward_binary"])
        self.default = p["default_reward"] if p["reporting"] == "reward_window" else p["reward_min"]
        self.table = randomizer.Table(p["epsilon"], self.binary, *self.range)
        if wire.one_of(message, 25) != self.table.digest():
            raise Broken(9)
        self.windowed = p["reporting"] == "reward_window"
        self.centred = p["mechanism"] == "CENTRED_RANDOMIZER"

    def window(self, ends):
        """Where a reward is clipped to, and whether that is the whole range where a window was due."""
        if not self.centred:
            return self.range, False
        return (ends, False) if randomizer.is_window(*self.range, ends) else (self.range, True)

    def step(self, reward, ends):
        low, high = self.window(ends)[0]
        return randomizer.clip(reward, low, high, self.default, self.binary)
