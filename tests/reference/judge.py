"""Reads the hook calls of a path and names every rule of docs/wire_sdk.md that they break: judge.py FILE...

A file has a path per line, or is paths.N.json. Rules that no hook call shows are not judged; README.md lists them.
"""

import json
import sys

import adoption
import path as paths
import wire
from path import OPEN, OUTBOUND

ENDING = {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED"}
REACTIONS = {"report"}
QUIET = {"report", "select", "select slots", "select deferred", "activate", "adopt", "lose"}


class Judge:
    def __init__(self, path):
        self.path = path
        self.broken = []
        self.rows = paths.Rows(path["rows"])
        self.at_start = path["leave"] == "at_start"
        self.events_max = path["events_per_user_max"]
        self.agreed = None        # of the path's policy, by any answer
        self.number_max = 0       # of decisions, ever
        self.drawn = {}           # number -> bytes, durable, ever
        self.sent = {}            # token -> bytes, ever
        self.users = {}           # number -> user
        self.debited_max = 0      # of all users, ever
        self.due_of = {}          # number -> leaving time, as it was at the decision
        self.jumped = False       # the wall clock was set
        self.offset = None
        self.adoption = adoption.Adoption(path, self.breaks)
        self.step = 0
        self.begin_process()

    def begin_process(self):
        self.connected = False    # some policy was agreed to in this process
        self.stopped = False
        self.refused_by = None    # the rule by which the last answer to GetModel is refused
        self.calls = {}           # id -> (method, request, when it is given up)
        self.answered = set()     # tokens whose reports have ended
        self.not_before = {}      # request -> elapsed
        self.wake = None
        self.waits = False        # a commit is not answered

    def breaks(self, rule, why):
        self.broken.append((rule, self.step, why))

    def row(self, number):
        cells = self.rows.durable.get(("reports", (f"i{number}",)))
        return cells and paths.report_row(cells)

    def open_rows(self):
        return [row for row in map(paths.report_row, self.rows.of("reports")) if row.state == OPEN]

    def debits(self, user):
        """Events of a user that are durable, and with the open transaction."""
        durable = sum(paths.cell(c[5]) for c in self.rows.of("ledger") if paths.cell(c[2]) == user)
        now = sum(paths.cell(c[5]) for _, c in self.rows.written("ledger") if c and paths.cell(c[2]) == user)
        return durable, durable + now

    def lost(self):
        return max((paths.cell(c[5]) for c in self.rows.of("store")), default=0)

    # ------------------------------------------------------------------------------- events

    def run(self):
        for self.step, step in enumerate(self.path["steps"]):
            self.begin(step)
            for at, hook in enumerate(step["hooks"]):
                getattr(self, "on_" + hook[0].replace(" ", "_"))(step, at, *hook[1:])
            self.end(step)
        return self.broken

    def begin(self, step):
        do = step["do"]
        offset = int(step["wall_us"]) - int(step["elapsed_ns"]) // 1000
        self.jumped |= self.offset is not None and abs(offset - self.offset) > 1
        self.offset = offset
        self.now = int(step["wall_us"])
        self.words = []           # of entropy, since the last put that used one
        self.failed = False       # entropy, in this transaction
        self.made_durable = []    # rows, in this step
        self.put_in_step = False
        self.order = []           # leaving times of draws
        self.window_open = any(row.due_at > self.now for row in self.open_rows())
        if do.startswith("crash"):
            if "rows" in step:
                self.rows = paths.Rows(step["rows"])
            self.rows.fall()
            self.begin_process()
        self.adoption.begin(step, self.now)
        if do == "answer commit":
            self.commit(step["stands"])
        if do == "answer" and step["call"] in self.calls:
            self.answer(step)
        if do == "connect" and self.at_start:
            for cells in self.rows.of("kept"):
                if paths.cell(cells[1]) == b"model" and self.window_open:
                    self.agree(paths.cell(cells[2]))

    def agree(self, message):
        try:
            found = paths.Agreed(message, paths.double(self.path["epsilon_max"]))
        except paths.Broken as broken:
            self.refused_by = broken.rule
            return
        self.refused_by = None
        if self.connected and self.agreed and found.hash != self.agreed.hash:
            self.stopped = True
            return
        self.agreed, self.connected = found, True

    def answer(self, step):
        method, request, until = self.calls.pop(step["call"])
        if method == "GetModel" and "response" in step:
            self.agree(bytes.fromhex(step["response"]))
            if self.refused_by and self.connected:
                self.stopped = True
        if method != "Submit":
            return
        reports = wire.all_of(request, 3)
        if "response" in step:
            if len(wire.all_of(bytes.fromhex(step["response"]), 1)) == len(reports):
                self.answered.update(wire.one_of(report, 1) for report in reports)
        elif step["status"] in ENDING:
            if len(reports) == 1:
                self.answered.add(wire.one_of(reports[0], 1))
        elif int(step["elapsed_ns"]) < until:  # else the device has given it up
            pause = max(10 * 10**6, min(int(step.get("pushback_ns") or 0), 60 * 10**9))
            self.not_before[request] = int(step["elapsed_ns"]) + pause

    def end(self, step):
        if step["do"] in REACTIONS and self.agreed and self.agreed.windowed:
            if self.made_durable and step["wake_ns"] != self.wake:
                self.breaks(20, "a reaction moved the alarm")
        self.wake = step["wake_ns"]
        if "rows" in step and self.open_rows() and any(h[0] == "commit" and h[1] == "stands" for h in step["hooks"]):
            self.breaks(37, "decisions of older rows are still open")
        if "rows" in step and self.lost() + sum(paths.cell(c[5]) for c in self.rows.of("ledger")) < self.debited_max:
            self.breaks(37, "older rows are not charged")

    # -------------------------------------------------------------------------------- hooks

    def on_entropy(self, step, at, source, bytes_):
        if source != "draw":
            return
        if self.agreed and self.agreed.windowed and step["do"] in QUIET:
            self.breaks(23, "a draw when the application asked")
        if len(bytes_) not in (0, 16):
            self.breaks(26, "a draw takes one word")
        self.failed |= not bytes_
        if bytes_:
            self.words.append(int.from_bytes(bytes.fromhex(bytes_), "little"))

    def on_erase(self, step, at, table, key):
        if table == "reports":
            self.erase_report(step, int(key[0][1:]))
        if table == "kept":
            self.adoption.erased(self.rows.durable.get((table, tuple(key))), self.now)
        self.rows.erase(table, key)

    def erase_report(self, step, number):
        row = self.row(number)
        if row is None or self.stopped or "rows" in step:
            return
        if row.state == OPEN and not self.overtaken(row) and self.agreed:
            self.breaks(24, "an open decision ended without a draw")
        token = wire.one_of(row.report, 1)
        if row.state == OUTBOUND and token not in self.answered:
            self.breaks(32, "a report was forgotten before it was answered")

    def overtaken(self, row):
        return self.at_start and row.due_at <= self.now - self.agreed.policy["token_lifetime_ns"] // 1000

    def on_put(self, step, at, table, cells):
        if table == "reports":
            self.put_report(step, paths.report_row(cells))
            self.put_in_step = True
        if table == "drawn":
            self.put_drawn(step, paths.cell(cells[0]))
        if table == "ledger" and self.agreed and step["do"] in REACTIONS and self.agreed.windowed:
            self.breaks(20, "a reaction was paid for")
        self.rows.put(table, cells)

    def put_drawn(self, step, number):
        if number in self.drawn:
            self.breaks(26, "a decision was drawn twice")
        if self.failed:
            self.breaks(25, "a draw without entropy")

    def put_report(self, step, row):
        before = self.row(row.number)
        self.users[row.number] = row.user
        if not self.agreed:
            return
        if before is None and row.number not in self.users_before():
            self.opened(step, row)
        elif before is not None and before.state == OPEN and row.state == OPEN:
            self.changed(step, before, row)
        if row.state != OPEN and (before is None or before.state == OPEN):
            self.drew(step, before, row)
        elif before is not None and before.state != OPEN and row.report != before.report and not token_came(before, row):
            self.breaks(29, "a drawn report was changed")

    def users_before(self):
        return self.seen

    seen = frozenset()

    def opened(self, step, row):
        self.seen = self.seen | {row.number}
        if row.state != OPEN:
            return  # of a decision without a window, which got its number when it was made
        if row.number <= self.number_max and not any(n == row.number for n in self.pending_numbers()):
            self.breaks(14, "a number that was there before, or a smaller one")
        if step["do"] != "activate" and row.number >> 32 != max(paths.cell(c[2]) for c in self.rows.of("store")):
            self.breaks(14, "a number of another run")
        if step["do"] in REACTIONS:
            self.breaks(43, "a decision was opened by a reaction")
        self.number_max = max(self.number_max, row.number)
        if row.reacted or row.step() != self.agreed.step(None, row.window):
            self.breaks(16, "a row that does not hold the default")
        window_us = self.agreed.policy["reward_window_ns"] // 1000
        jitter_max = min(self.agreed.policy["reward_window_ns"] // 8, 60 * 10**9) // 1000
        if not 0 <= row.due_at - row.close - 50_000 <= jitter_max + 1 or row.wake_at != row.due_at:
            self.breaks(15, "a leaving time that is not close, guard and jitter")
        if not self.jumped and abs(row.close - self.now - window_us) > 1:
            self.breaks(15, "a close that is not the decision's time and its window")
        self.due_of[row.number] = row.due_at

    def pending_numbers(self):
        return [int(key[0][1:]) for key, cells in self.rows.written("reports") if cells]

    def changed(self, step, before, row):
        if (row.wake_at, row.due_at, row.close) != (before.wake_at, before.due_at, before.close):
            self.breaks(15, "close or leaving time of an open decision moved")
        if (row.shown, row.token, row.epoch, row.window) != (before.shown, before.token, before.epoch, before.window):
            self.breaks(21, "rank, token, epoch or window of an open decision changed")
        if row.size != before.size or len(row.held) != len(before.held):
            self.breaks(20, "a row changed its size")
        if row.held == before.held and row.reacted == before.reacted:
            return
        if before.reacted:
            self.breaks(19, "a second reaction was taken")
        if step["do"] not in REACTIONS:
            self.breaks(20, "what is held changed without a reaction")
            return
        if not self.jumped and self.now >= row.close:
            self.breaks(19, "a reaction was taken after the close")
        reward = None if step["reward"] is None else paths.double(step["reward"])
        if row.step() != self.agreed.step(reward, row.window):
            self.breaks(18, "a reaction that was not clipped")

    def drew(self, step, before, row):
        token, shown = wire.one_of(row.report, 1), wire.one_of(row.report, 2, 0)
        output, whole = wire.one_of(row.report, 3, 0), bool(wire.one_of(row.report, 4, 0))
        if row.held or row.token:
            self.breaks(27, "a drawn row still holds the reward")
        if ("drawn", (f"i{row.number}",)) not in self.rows.open and row.number not in self.drawn:
            self.breaks(27, "a report without its mark")
        ends = before.window if before else None
        if before is not None and before.state == OPEN:
            if (shown, token) != (before.shown, before.token):
                self.breaks(12, "another rank or token than the decision's")
            if whole != self.agreed.window(ends)[1]:
                self.breaks(18, "whole_range is not of the decision's window")
            if not self.jumped and before.due_at > self.now:
                self.breaks(23, "a draw before its leaving time")
            self.order.append((before.due_at, row.number))
            if self.order != sorted(self.order):
                self.breaks(23, "draws out of the order of their leaving times")
            if self.stopped:
                self.breaks(24, "a draw under another policy")
            held = before.step()
        elif step["do"] in REACTIONS:
            reward = None if step["reward"] is None else paths.double(step["reward"])
            held = self.agreed.step(reward, ends if self.agreed.centred else None)
        else:
            held = None
        word = self.words.pop(0) if self.words else None
        if word is None:
            self.breaks(25, "a report without a word of entropy")
        elif held is not None and self.agreed.table.output(held, word) != output:
            self.breaks(25, "an output that table, step and word do not give")
        if self.debits(row.user)[0] < 1 + self.drawn_of(row.user, row.number):
            self.breaks(16, "a draw before its debit was durable")

    def drawn_of(self, user, number):
        gone = self.lost() > 0  # what older rows forgot is charged as a whole
        return 0 if gone else sum(1 for n in self.drawn if n != number and self.users.get(n) == user)

    def on_commit(self, step, at, fate):
        self.transaction(step)
        if fate == "waits":
            self.waits = True
        else:
            self.commit(fate == "stands")

    def transaction(self, step):
        written = [(int(key[0][1:]), cells) for key, cells in self.rows.written("reports")]
        opened = [paths.report_row(c) for n, c in written if c and self.row(n) is None]
        for user in {row.user for row in opened if row.state == OPEN}:
            durable, now = self.debits(user)
            if now - durable < sum(1 for row in opened if row.user == user):
                self.breaks(16, "a decision whose debit is not in its commit")
            debits = sum(1 for _, c in self.rows.written("ledger") if c and paths.cell(c[2]) == user)
            leaving = len({(row.close, row.due_at) for row in opened if row.user == user})
            if debits > leaving:
                self.breaks(17, "more than one debit of a decision")
            elif debits < leaving:
                self.breaks(17, "slots of a decision have leaving times of their own")
        self.adoption.committing([row for row in opened if row.state == OPEN], self.rows.written("kept"), self.agreed, self.now)
        if self.events_max:
            for user in {paths.cell(c[2]) for _, c in self.rows.written("ledger") if c}:
                if self.debits(user)[1] + self.lost() > self.events_max:
                    self.breaks(6, "a user's events are more than agreed")
        for key, cells in self.rows.written("drawn"):
            if cells and (("reports", key) not in self.rows.open):
                self.breaks(27, "a mark without its report")
        if self.agreed and self.agreed.windowed and not self.failed and not self.jumped:
            self.left_behind(written)

    # A transaction that ends a decision by a draw or without one ends none that is due later than one left open.
    def left_behind(self, written):
        ended = {n for n, cells in written if self.row(n) and self.row(n).state == OPEN and (
            cells is None or paths.report_row(cells).state != OPEN)}
        due = [(row.due_at, row.number) for row in self.open_rows() if row.due_at <= self.now]
        left = [one for one in due if one[1] not in ended]
        if ended and left and min(left) < max(one for one in due if one[1] in ended):
            self.breaks(24 if self.stopped else 23, "a decision that was due before others stays open")

    def commit(self, stands):
        self.waits = False
        if not stands:
            self.forget_failed()
            return self.rows.fall()
        for key, cells in self.rows.written("drawn"):
            if cells:
                report = self.rows.open.get(("reports", key))
                self.drawn[int(key[0][1:])] = paths.report_row(report).report if report else b""
        self.made_durable += [cells for _, cells in self.rows.written("reports") if cells]
        self.adoption.stands([paths.report_row(cells) for _, cells in self.rows.written("reports") if cells])
        self.rows.stand()
        self.debited_max = max(self.debited_max, sum(paths.cell(c[5]) for c in self.rows.of("ledger")) + self.lost())
        self.failed = False
        return None

    def forget_failed(self):
        self.failed = False
        self.words = []
        self.order = []
        self.seen = self.seen - {n for n in self.pending_numbers() if self.row(n) is None}

    def on_rollback(self, step, at):
        self.rows.fall()

    def on_note_erasure(self, step, at):
        pass

    def on_call(self, step, at, id_, method, request, deadline, *_):
        request = bytes.fromhex(request)
        self.calls[id_] = (method, request, int(step["elapsed_ns"]) + int(deadline) + 5 * 10**9)
        windowed = self.agreed is not None and self.agreed.windowed
        if step["do"] in REACTIONS and windowed:
            self.breaks(20, "a reaction made a call")
        if method == "GetModel":
            return self.at_a_start(step)
        if not self.connected:
            return self.breaks(self.refused_by or 3, "a call before a policy was agreed to")
        if self.stopped:
            self.breaks(33, "a call under another policy")
        if any(one != self.agreed.hash for one in hashes(method, request)):
            self.breaks(3, "a call that names another policy")
        if method == "Select" and windowed and self.events_max:
            if self.debits(wire.one_of(request, 2))[0] + self.lost() >= self.events_max:
                self.breaks(10, "a selection of a user whose events are used up")
        if method == "Submit":
            self.submit(step, request)
        return None

    def at_a_start(self, step):
        if self.at_start and (step["do"] == "wake" or self.window_open and not self.jumped):
            self.breaks(34, "a call that is not of a start, or of one inside a window")

    def submit(self, step, request):
        self.at_a_start(step)
        if self.not_before.get(request, 0) > int(step["elapsed_ns"]):
            self.breaks(31, "a call was repeated without a pause")
        self.not_before.pop(request, None)
        durable = [paths.report_row(cells) for cells in self.rows.of("reports")]
        by_token = {wire.one_of(row.report, 1): row for row in durable if row.report}
        reports = wire.all_of(request, 3)
        if len(reports) > self.path["reports_per_delivery_max"]:
            self.breaks(30, "a batch that is larger than agreed")
        order = []
        for report in reports:
            token = wire.one_of(report, 1)
            row = by_token.get(token)
            if self.sent.setdefault(token, report) != report:
                self.breaks(29, "other bytes for a decision that was sent")
            if row is None or row.report != report:
                waiting = [one for one in durable if one.features and without_token(one.report) == without_token(report)]
                self.breaks(42 if waiting else 28, "a report that is not durable")
            else:
                order.append((self.due_of.get(row.number, row.due_at), row.number))
        if self.agreed.windowed and order != sorted(order):
            self.breaks(30, "a batch in another order than leaving times")

    def on_told(self, step, at, what, *rest):
        code = rest[0] if rest else None
        if what == "connected" and code == "OK" and not self.connected:
            self.breaks(self.refused_by or 3, "connected to a policy that is refused")
        if what == "connected" and code == "OK" and len({paths.report_row(c).owner for c in self.rows.of("reports")}) > 1:
            self.breaks(7, "rows of a process that ended were not all taken over")
        if what == "selected" and code == "OK" and self.agreed and self.agreed.windowed and step["do"] in ("answer", "select on device", "adopt"):
            if not self.made_durable and rest[1] is not None and not self.is_deferred(step):
                self.breaks(16, "the application got a decision that is not durable")
        if what == "queued" and code == "OK" and self.put_in_step and not self.made_durable:
            self.breaks(22, "a reaction was taken before it was durable")

    def is_deferred(self, step):
        """Deferred decisions have no row before Activate."""
        asked = [one for one in self.path["steps"][:self.step] if one["do"].startswith("select")]
        return bool(asked) and any(one["do"] == "select deferred" for one in asked)


def hashes(method, request):
    """The policy's hash in a request, once per decision of a batch; none in readings."""
    if method == "BatchSelect":
        return [wire.one_of(select, 15) for select in wire.all_of(request, 1)]
    return [wire.one_of(request, {"Select": 15, "Submit": 2}[method])] if method in ("Select", "Submit") else []


def without_token(report):
    return [wire.one_of(report, field, 0) for field in (2, 3, 4)]


def token_came(before, row):
    """A decision of the device got the token that it was fetched for."""
    return before.features and not row.features and without_token(before.report) == without_token(row.report)


def judge(path):
    """(rule, step, why) of each break."""
    return Judge(path).run()


def parse(text):
    """Paths of vectors, or one after another as make_vectors prints them."""
    if text.startswith('{"vectors"'):
        return json.loads(text)["paths"]
    # A path spans lines: it ends where its list of steps does.
    return [json.loads(part + "\n]}") for part in text.split("\n]}\n") if part.strip()]


def read(name):
    with open(name, encoding="utf-8") as file:
        return parse(file.read())


def main():
    bad = 0
    for name in sys.argv[1:]:
        for path in read(name):
            for rule, step, why in judge(path):
                bad += 1
                print(f"{path['name']}, step {step}: rule {rule}: {why}")
    print(f"judge: {bad} breaks")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
