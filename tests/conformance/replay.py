#!/usr/bin/env python3
"""Runs schedules on the core under Python, over its SQLite store, and compares what the hooks were given (README.md).

Usage: replay.py PACKAGE_FOLDER SCHEDULES. Exit 1 where anything differs.
"""

import ctypes
import hashlib
import json
import os
import struct
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
from bandana import _abi, _rows  # noqa: E402
from bandana.errors import Error, Unavailable  # noqa: E402

KEY = bytes(32)
FEATURES = [1, 0, 0, 1, 0.6, 0.8]
IDS = [3, 4, 5]


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def cell_text(cell):
    if cell.kind == _abi.INTEGER:
        return f"i{cell.integer}"
    if cell.kind == _abi.REAL:
        return f"r{bits_of(cell.real)}"
    return "b" + cell.bytes.get().hex()


class ScriptedOs:
    """Module os of the store: what a new file's identity is drawn with is the schedule's entropy."""

    def __init__(self, host):
        self._host = host

    def __getattr__(self, name):
        return getattr(os, name)

    def urandom(self, size):
        return self._host.draw(size)


class Host:
    def __init__(self, library, schedule, path):
        self.library, self.schedule, self.path = library, schedule, path
        self.rows, self.device, self.client = None, 0, 0
        self.wall = self.elapsed = self.drawn = self.tag = 0
        self.entropy_fails, self.commits = False, "stand"
        self.changes, self.held, self.handles, self.lines = [], None, [], []
        self.hooks = _abi.sized(_abi.Hooks)
        self.hooks.call, self.hooks.commit = _abi.CALL(self.on_call), _abi.COMMIT(self.on_commit)
        self.hooks.random = _abi.RANDOM(self.on_random)
        self.hooks.wall_ns, self.hooks.elapsed_ns = _abi.CLOCK(lambda _: self.wall), _abi.CLOCK(lambda _: self.elapsed)
        self.hooks.wake, self.hooks.mark, self.hooks.tell = _abi.WAKE(self.on_wake), _abi.MARK(self.on_mark), _abi.TELL(self.on_tell)

    # --- hooks -----------------------------------------------------------------------------------

    def on_call(self, _, given):
        call = given.contents
        headers = "".join(f" {call.headers[i].name.decode()}={call.headers[i].value.decode()}" for i in range(call.headers_count))
        self.lines.append(
            f"call {call.id} {call.path.decode()} {call.body.get().hex()}{headers} {call.deadline_ms} {call.wait_for_ready} "
            f"{call.keep_connection} {call.target.text()}"
        )

    def on_commit(self, _, given):
        commit, self.changes = given.contents, []
        self.lines.append(f"commit {commit.id} {commit.erased_private}")
        for i in range(commit.count):
            change = commit.changes[i]
            cells = [change.cells[k] for k in range(change.count)]
            self.changes.append((change.table, bool(change.erased), [cell.get() for cell in cells]))
            self.lines.append(" ".join(["erase" if change.erased else "put", str(change.table), *map(cell_text, cells)]))
        if self.commits == "hold":
            self.held = commit.id
            return
        if self.commits == "stand":
            self.rows.commit(self.changes)
        self.library.committed(self.device, commit.id, 0 if self.commits == "stand" else Unavailable.code)

    def on_random(self, _, out, size):
        if self.entropy_fails:
            return 1
        ctypes.memmove(out, self.draw(size), size)
        return 0

    def draw(self, size):
        out = bytearray()
        for _ in range(size):
            block = hashlib.sha256(f"bandana schedule {self.schedule} {self.drawn // 32}".encode()).digest()
            out.append(block[self.drawn % 32])
            self.drawn += 1
        return bytes(out)

    def on_wake(self, _, at):
        self.lines.append(f"wake {at}")

    def on_mark(self, _, given):
        mark = given.contents
        self.lines.append(f"mark {mark.position} {mark.run} {mark.events} {mark.streams} {bytes(mark.ledger_hash).hex()}")
        names = ("position", "run", "events", "streams")
        kept = {"identity": bytes(mark.identity), "ledger_hash": bytes(mark.ledger_hash), **{name: getattr(mark, name) for name in names}}
        self.rows.write_mark(kept)

    def on_tell(self, _, given):
        result = given.contents
        line = f"told {result.tag} {result.kind} {result.code} {result.client} {result.value}"
        for i in range(result.selections_count):
            self.handles.append(result.selections[i].handle.get())
            line += " " + self.handles[-1].hex()
        if result.spent:
            line += f" {result.spent.contents.events}"
        self.lines.append(f"{line} {result.message.text()}")
        if result.kind == _abi.CONNECTED and result.code == 0:
            self.client = result.client

    # --- steps -----------------------------------------------------------------------------------

    def ask(self, name, function, *arguments):
        try:
            function(*arguments)
        except Error as why:
            self.lines.append(f"returned {name} {why.code} {why}")

    def next_tag(self):
        self.tag += 1
        return self.tag

    def open(self):
        if self.device:
            self.library.device_free(self.device)
            self.rows.close()
        self.client, self.held, self.commits, self.entropy_fails = 0, None, "stand", False
        self.rows = _rows.Rows(self.library, self.path, KEY)
        device = ctypes.c_uint32()
        self.library.device_new(self.hooks, device)
        self.device = device.value
        start, position, identity, hash_of = _abi.sized(_abi.Start), 0, b"", b""
        for table, cells in self.rows.all():
            memory = _abi.Memory()
            self.library.load(self.device, table, *memory.cells(cells))
            if table == 0:
                identity, position, hash_of = cells[1], cells[4], cells[8]
        mark = self.rows.check_anchor(
            position, lambda: {"identity": identity, "position": 0, "run": 0, "events": 0, "streams": 0, "ledger_hash": hash_of}
        )
        start.durable = 1
        seen = _abi.sized(_abi.Mark)
        seen.identity[:], seen.ledger_hash[:] = list(mark["identity"]), list(mark["ledger_hash"])
        seen.position, seen.run, seen.events, seen.streams = (mark[name] for name in ("position", "run", "events", "streams"))
        start.seen = ctypes.pointer(seen)
        self.ask("start", self.library.start, self.device, start, self.next_tag())

    def connect(self, model, leave, events, epsilon):
        memory, options = _abi.Memory(), self.library.options()
        options.target, options.model = memory.bytes("server"), memory.bytes(model)
        options.leave, options.events_per_user_max, options.epsilon_max = leave, events, double_of(epsilon)
        self.ask("connect", self.library.connect, self.device, options, self.next_tag())

    def select(self, user, slots, by):
        memory, arms, request = _abi.Memory(), _abi.sized(_abi.Arms), _abi.sized(_abi.Request)
        arms.features, arms.features_count = memory.array(ctypes.c_double, FEATURES)
        arms.ids, arms.ids_count = memory.array(ctypes.c_uint32, IDS)
        request.by, request.top_k, request.slots = by, 1, slots
        request.user, request.arms = memory.bytes(user), ctypes.pointer(arms)
        self.ask("select", self.library.select, self.device, self.client, request, self.next_tag())

    def answer(self, call, status, body, headers):
        memory, answer = _abi.Memory(), _abi.sized(_abi.Answer)
        answer.http_status, answer.body = status, memory.bytes(body)
        made = [_abi.Header(memory.keep(name.encode()), memory.keep(value.encode())) for name, value in headers]
        answer.headers, answer.headers_count = memory.array(_abi.Header, made)
        self.ask("answer", self.library.answer, self.device, call, answer)

    def run(self, step):
        wall, elapsed, kind, text, number, second, bits, headers, _ = step
        self.wall, self.elapsed = int(wall), int(elapsed)
        text, number, second, bits = bytes.fromhex(text), int(number), int(second), int(bits)
        library, device, client, memory = self.library, self.device, self.client, _abi.Memory()
        if kind == "open":
            self.open()
        elif kind == "connect":
            self.connect(text, number, second, bits)
        elif kind == "select":
            self.select(text, number, second)
        elif kind == "activate":
            self.ask(kind, library.activate, device, client, memory.keep(memory.bytes(self.handles[number])), self.next_tag())
        elif kind == "report":
            report = _abi.sized(_abi.Report)
            report.handle, report.reward = memory.bytes(self.handles[number]), double_of(bits)
            self.ask(kind, library.report, device, client, report, self.next_tag())
        elif kind == "refresh":
            self.ask(kind, library.refresh_posterior, device, client, memory.keep(memory.bytes(text)), self.next_tag())
        elif kind == "spent":
            self.ask(kind, library.read_spent, device, client, memory.keep(memory.bytes(text)), self.next_tag())
        elif kind == "begin":
            self.ask(kind, library.begin, device, client)
        elif kind == "flush":
            self.ask(kind, library.flush, device, client, self.next_tag())
        elif kind == "close":
            self.ask(kind, library.close, device, client)
            self.client = 0
        elif kind == "wake":
            self.ask(kind, library.wake, device)
        elif kind == "answer":
            self.answer(number, second, text, headers)
        elif kind == "commits":
            self.commits = text.decode()
        elif kind == "committed" and self.held is not None:
            if number == 0:
                self.rows.commit(self.changes)
            commit, self.held, self.commits = self.held, None, "stand"
            self.ask(kind, library.committed, device, commit, number)
        elif kind == "entropy":
            self.entropy_fails = number != 0
        lines, self.lines = self.lines, []
        return lines

    def close(self):
        self.library.device_free(self.device)
        self.rows.close()


def main():
    library, runs, steps, differences = _abi.load(), 0, 0, 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder, open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            schedule, events = json.loads(line)
            host = Host(library, schedule, f"{folder}/{schedule}.db")
            _rows.os = ScriptedOs(host)
            for number, step in enumerate(events):
                lines = host.run(step)
                steps += 1
                if lines != step[8]:
                    differences += 1
                    print(f"schedule {schedule} step {number} {step[2]}:\n  expected {step[8]}\n  got      {lines}")
                    break
            host.close()
            runs += 1
    print(f"python: {runs} schedules, {steps} steps, {differences} differences")
    sys.exit(1 if differences or not runs else 0)


main()
