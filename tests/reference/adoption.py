"""Rules 44 to 46 of docs/wire_sdk.md: decisions of a backend's that a device adopts, as a path shows them."""

import hashlib

import path as paths

HOUR_US = 3600 * 10**6
DIGEST = b"adopted "


class Adoption:
    """As one path shows it. `breaks` is told a rule and why. An answer is known by its token, which no other decision has."""

    def __init__(self, path, breaks):
        self.path, self.breaks = path, breaks
        self.given = {}       # token -> (whom it was given for, the answer)
        self.adopted = set()  # tokens, durable, ever
        self.older = False    # rows were put back
        self.since = None     # from when on answers are taken after that

    def begin(self, step, now):
        if "rows" in step:
            self.older, self.since = True, None
        if step["do"] == "adopt":
            self.given[bytes.fromhex(step["answer"]["token"])] = (step["user"], step["answer"])
            if self.older and self.since is None:
                self.since = now + HOUR_US

    def committing(self, opened, kept, agreed, now):
        """A transaction that is about to be made durable opens these rows."""
        for row in opened:
            if row.token not in self.given:
                continue
            user, answer = self.given[row.token]
            lifetime_us, decided = agreed.policy["token_lifetime_ns"] // 1000, 1000 * answer["decided_ms"]
            if row.token in self.adopted:
                self.breaks(44, "a token was adopted twice")
            name = DIGEST + hashlib.sha256(row.token).hexdigest().encode()
            until = max((until_of(cells) for _, cells in kept if cells and paths.cell(cells[1]) == name), default=0)
            if until + 1 < now + lifetime_us + HOUR_US:  # within a microsecond, as leaving times
                self.breaks(44, "a token's digest is not kept in the commit, or not long enough")
            if decided > now + HOUR_US or decided + lifetime_us < row.due_at:
                self.breaks(44, "an answer of another time was adopted")
            expected = (user, self.path["model"], agreed.hash.hex())
            if row.user != user.encode() or (answer["user"], answer["model"], answer["policy_hash"]) != expected:
                self.breaks(45, "an answer of another user, model or policy was adopted")
            if self.since is not None and decided < self.since:
                self.breaks(46, "an answer was adopted that rows which were put back may have forgotten")

    def stands(self, rows):
        self.adopted.update(row.token for row in rows if row.token in self.given)

    def erased(self, cells, now):
        if cells and paths.cell(cells[1]).startswith(DIGEST) and until_of(cells) > now:
            self.breaks(44, "a token's digest was forgotten too early")


def until_of(cells):
    return int.from_bytes(paths.cell(cells[2]), "little", signed=True)
