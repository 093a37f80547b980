"""Rules 47 to 50 of docs/wire_sdk.md: decisions that are shown later, or never, of models whose windows the server closes.

A path of such a model is judged by these rules alone. One call has one decision, so a token is known by its call.
"""

import path as paths
import policy
import wire

ENDING = {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED"}
PREFIX = b"activate "
OWNER_AND_NUMBER = 16  # bytes before the request


def closes_windows(path):
    """Whether the server of the path's model does."""
    said = policy.read(path["policy_text"])
    return said["reporting"] == "reward_window" and not said["mode"].startswith("LOCAL")


class Judge:
    def __init__(self, path):
        self.path = path
        self.broken = []
        said = policy.read(path["policy_text"])
        self.holds = said["mode"] != "NON_PRIVATE"  # rows that are open
        self.pays = said["events_per_user_max"] > 0
        self.rows = paths.Rows(path["rows"])
        self.tokens = []       # by selection
        self.shown = set()     # tokens that the application activated
        self.sent = {}         # token -> bytes, ever
        self.answered = set()  # tokens
        self.calls = {}        # id -> (method, request)
        self.step = 0

    def breaks(self, rule, why):
        self.broken.append((rule, self.step, why))

    def run(self):
        for self.step, step in enumerate(self.path["steps"]):
            self.begin(step)
            for hook in step["hooks"]:
                getattr(self, "on_" + hook[0].replace(" ", "_"), lambda *_: None)(step, *hook[1:])
        return self.broken

    def begin(self, step):
        if step["do"].startswith("crash"):
            self.rows.fall()
            self.calls = {}
        if step["do"] == "activate":
            self.shown.add(self.tokens[step["selection"]])
        self.selected = None
        if step["do"] == "answer" and step["call"] in self.calls:
            method, request = self.calls.pop(step["call"])
            response = bytes.fromhex(step.get("response", ""))
            if method == "Select" and response:
                self.selected = wire.one_of(response, 7)
            if method == "Activate" and (wire.all_of(response, 1) or step.get("status") in ENDING):
                self.answered.add(wire.one_of(request, 2))

    # -------------------------------------------------------------------------------- hooks

    def on_told(self, _, what, code, *rest):
        if what == "selected" and code == "OK" and rest[0] is not None:
            self.tokens.append(self.selected)

    def on_put(self, _, table, cells):
        self.rows.put(table, cells)

    def on_erase(self, _, table, key):
        before = self.rows.durable.get((table, tuple(key)))
        if table == "kept" and before and self.request_of(before) and wire.one_of(self.request_of(before), 2) not in self.answered:
            self.breaks(49, "a call was forgotten before it was answered")
        self.rows.erase(table, key)

    def on_rollback(self, _):
        self.rows.fall()

    def on_commit(self, _, fate):
        opened = {paths.report_row(c).token for key, c in self.rows.written("reports") if c and ("reports", key) not in self.rows.durable}
        new = {wire.one_of(self.request_of(c), 2) for key, c in self.rows.written("kept")
               if c and self.request_of(c) and ("kept", key) not in self.rows.durable}
        if self.holds and opened != new:
            self.breaks(49, "a decision's row and its call are not in one commit")
        if self.pays and new and not self.rows.written("ledger"):
            self.breaks(49, "a decision whose debit is not in its commit")
        self.rows.stand() if fate == "stands" else self.rows.fall()

    @staticmethod
    def request_of(cells):
        """The call that is kept; none of other rows."""
        return paths.cell(cells[2])[OWNER_AND_NUMBER:] if paths.cell(cells[1]).startswith(PREFIX) else b""

    def on_call(self, step, id_, method, request, *_):
        request = bytes.fromhex(request)
        self.calls[id_] = (method, request)
        if method == "Select" and step["do"] == "select deferred" and not wire.one_of(request, 9, 0):
            self.breaks(47, "a selection that may be late is not deferred")
        if method == "Activate":
            self.activate(step, request)
        if method == "Report":
            for outcome in wire.all_of(request, 2):
                if wire.one_of(outcome, 1) in self.tokens and wire.one_of(outcome, 1) not in self.answered:
                    self.breaks(50, "a report before the answer to its decision's Activate")

    def activate(self, step, request):
        token = wire.one_of(request, 2)
        if step["do"] == "report":
            self.breaks(47, "a reaction made the call")
        if token not in self.shown:
            self.breaks(48, "a call for what was not shown")
        if not any(self.request_of(cells) == request for cells in self.rows.of("kept")):
            self.breaks(49, "a call that is not durable")
        if self.sent.setdefault(token, request) != request:
            self.breaks(49, "other bytes for a decision whose call was sent")


def judge(path):
    """(rule, step, why) of each break."""
    return Judge(path).run()
