"""Paths as devices would leave them that break a rule: each takes a path and changes it, or says False where it cannot.

The name begins with the number of the rule that the judge must name.
"""

import hashlib
import struct

import path as paths
import randomizer
import wire

MUTANTS = {}


def mutant(function):
    MUTANTS[function.__name__] = function
    return function


def hooks(path, *begin):
    """(step, place, hook) of the hooks that begin so."""
    for step in path["steps"]:
        for at, hook in enumerate(step["hooks"]):
            if tuple(hook[:len(begin)]) == begin:
                yield step, at, hook


def policy_line(path, name):
    return next(line.split("=", 1)[1] for line in path["policy_text"].splitlines() if line.startswith(name + "="))


def windowed(path):
    return policy_line(path, "reporting") == "reward_window"


def content(cells, **change):
    """The cells with another content of the report row."""
    row = paths.report_row(cells)
    for name, value in change.items():
        setattr(row, name, value)

    def block(data):
        return len(data).to_bytes(8, "little") + data

    window = struct.pack("<2d", *row.window) if row.window else b""
    data = block(row.token) + block(row.features) + block(row.report)
    data += b"".join(n.to_bytes(8, "little") for n in (row.shown, row.epoch, row.close))
    data += block(window) + int(row.reacted).to_bytes(8, "little") + block(row.held)
    times = [f"i{row.wake_at}", f"i{row.due_at}"]
    return cells[:4] + times + [cells[6], "b" + data.hex()] + cells[8:]


def reactions(path):
    """Puts of a reaction that is taken."""
    if windowed(path):
        for step, at, hook in hooks(path, "put", "reports"):
            if step["do"] == "report" and paths.report_row(hook[2]).reacted and ["commit", "stands"] in step["hooks"]:
                yield step, at, hook


def openings(path):
    seen = set()
    for step, at, hook in hooks(path, "put", "reports"):
        row = paths.report_row(hook[2])
        if row.state == paths.OPEN and row.number not in seen and ["commit", "stands"] in step["hooks"]:
            seen.add(row.number)
            yield step, at, hook


def draws(path):
    """(step, place of the word, place of the mark, place of the report) of the draws that stand, of decisions with a window."""
    for step, at, hook in hooks(path, "put", "drawn") if windowed(path) else ():
        before, after = step["hooks"][at - 1], step["hooks"][at + 1:at + 2]
        if before[:2] == ["entropy", "draw"] and after and after[0][:2] == ["put", "reports"] and ["commit", "stands"] in step["hooks"][at:]:
            yield step, at - 1, at, at + 1


def submits(path):
    for step, at, hook in hooks(path, "call"):
        if hook[2] == "Submit":
            yield step, at, hook


def answers_model(path):
    asked = {}
    for step in path["steps"]:
        if step["do"] == "answer" and step.get("response") and asked.get(step["call"]) == "GetModel":
            if ["told", "connected", "OK"] in step["hooks"]:
                yield step
        asked.update({hook[1]: hook[2] for hook in step["hooks"] if hook[0] == "call"})


def remake(step, text=None, digest=None, table=None):
    message = bytes.fromhex(step["response"])
    text = wire.one_of(message, 24) if text is None else text
    digest = hashlib.sha256(text).digest() if digest is None else digest
    table = wire.one_of(message, 25) if table is None else table
    step["response"] = (wire.block(17, digest) + wire.block(24, text) + wire.block(25, table)).hex()


def text_of(step):
    return wire.one_of(bytes.fromhex(step["response"]), 24)


def first(found, change):
    for one in found:
        if change(*one) is not False:
            return True
    return False


# ------------------------------------------------------------------------------------ connect


@mutant
def r02_an_unknown_line_is_taken(path):
    return first(((s,) for s in answers_model(path)), lambda s: remake(s, text_of(s) + b"sensors=all\n"))


@mutant
def r03_a_text_that_is_not_its_hash_is_taken(path):
    return first(((s,) for s in answers_model(path)), lambda s: remake(s, text_of(s), digest=bytes(32)))


@mutant
def r04_a_weaker_policy_is_taken(path):
    path["epsilon_max"] = struct.pack(">d", float(policy_line(path, "epsilon")) / 2).hex()
    return any(True for _ in answers_model(path))


@mutant
def r06_a_policy_opens_the_budget_again(path):
    spent = {}
    for step, _, hook in hooks(path, "put", "ledger"):
        if ["commit", "stands"] in step["hooks"]:
            spent[hook[2][2]] = spent.get(hook[2][2], 0) + paths.cell(hook[2][5])
    path["events_per_user_max"] = max(spent.values(), default=0) - 1
    return path["events_per_user_max"] > 0


@mutant
def r07_a_row_stays_with_a_process_that_ended(path):
    for step in path["steps"]:
        puts = [h for h in step["hooks"] if h[:2] == ["put", "reports"]]
        if ["told", "connected", "OK"] in step["hooks"] and len({paths.report_row(h[2]).number for h in puts}) > 1:
            number = puts[0][2][0]
            step["hooks"] = [h for h in step["hooks"] if not (h[:2] == ["put", "reports"] and h[2][0] == number)]
            return True
    return False


@mutant
def r09_another_table_is_taken(path):
    return first(((s,) for s in answers_model(path)), lambda s: remake(s, table=bytes(32)))


# ------------------------------------------------------------------------------------- select


@mutant
def r10_a_user_without_events_selects(path):
    debits, asked = {}, {}
    for step in path["steps"] if windowed(path) else ():
        for hook in step["hooks"]:
            if hook[:2] == ["put", "ledger"] and ["commit", "stands"] in step["hooks"]:
                debits[hook[2][2]] = debits.get(hook[2][2], 0) + paths.cell(hook[2][5])
            if hook[0] == "call" and hook[2] == "Select":
                user = "b" + wire.one_of(bytes.fromhex(hook[3]), 2).hex()
                asked[user] = debits.get(user, 0)
    path["events_per_user_max"] = max(asked.values(), default=0)
    return path["events_per_user_max"] > 0


@mutant
def r12_a_report_names_another_decision(path):
    for step, _, _, at in draws(path):
        report = paths.report_row(step["hooks"][at][2]).report
        if report[:1] != b"\n":
            continue  # its token is fetched later
        other = report[:2] + b"T" + report[3:]
        for later in path["steps"][path["steps"].index(step):]:
            for hook in later["hooks"]:
                for place, value in enumerate(hook):
                    if isinstance(value, str):
                        hook[place] = value.replace(report.hex(), other.hex())
                    elif isinstance(value, list):
                        hook[place] = [one.replace(report.hex(), other.hex()) for one in value]
        return True
    return False


@mutant
def r14_a_number_comes_again(path):
    found = list(openings(path))
    if len(found) < 2:
        return False
    last, least = found[-1][2][2][0], f"i{min(int(hook[2][0][1:]) for _, _, hook in found) - 1}"
    for step in path["steps"]:
        for hook in step["hooks"]:
            if len(hook) > 2 and isinstance(hook[2], list) and hook[1] in ("reports", "drawn") and hook[2][0] == last:
                hook[2][0] = least
    return True


@mutant
def r15_a_reaction_moves_the_leaving_time(path):
    def change(step, at, hook):
        row = paths.report_row(hook[2])
        hook[2] = content(hook[2], wake_at=row.wake_at + 1, due_at=row.due_at + 1)
    return first(reactions(path), change)


@mutant
def r16_a_decision_is_not_paid_for(path):
    def change(step, at, hook):
        step["hooks"] = [h for h in step["hooks"] if h[:2] != ["put", "ledger"]]
    return first(openings(path), change)


@mutant
def r16_the_application_gets_a_decision_before_it_is_durable(path):
    def change(step, at, hook):
        told = [h for h in step["hooks"] if h[:3] == ["told", "selected", "OK"]]
        if not told or ["commit", "fails"] in step["hooks"] or step["hooks"].count(["commit", "stands"]) != 1:
            return False
        step["hooks"] = told + [h for h in step["hooks"] if h not in told]
    return first(openings(path), change)


@mutant
def r16_an_open_row_does_not_hold_the_default(path):
    def change(step, at, hook):
        hook[2] = content(hook[2], held=(paths.report_row(hook[2]).step() ^ 1).to_bytes(8, "little"))
    return first(openings(path), change)


@mutant
def r17_a_slot_has_a_jitter_of_its_own(path):
    def change(step, at, hook):
        after = step["hooks"][at + 1:at + 2]
        row = paths.report_row(hook[2])
        if not after or after[0][:2] != ["put", "reports"] or paths.report_row(after[0][2]).due_at != row.due_at:
            return False
        hook[2] = content(hook[2], wake_at=row.wake_at - 1, due_at=row.due_at - 1)
    return first(openings(path), change)


# -------------------------------------------------------------------------------------- react


@mutant
def r18_a_reaction_is_held_as_it_is(path):
    def change(step, at, hook):
        hook[2] = content(hook[2], held=(paths.report_row(hook[2]).step() ^ 1).to_bytes(8, "little"))
    return first(reactions(path), change)


@mutant
def r19_the_last_reaction_counts(path):
    def change(step, at, hook):
        held = (paths.report_row(hook[2]).step() ^ 1).to_bytes(8, "little")
        again = dict(step, hooks=[["put", "reports", content(hook[2], held=held)], ["commit", "stands"]])
        path["steps"].insert(path["steps"].index(step) + 1, again)
    return first(reactions(path), change)


@mutant
def r20_a_reaction_makes_a_call(path):
    def change(step, at, hook):
        step["hooks"].append(["call", 10**6, "GetModel", "", "0", False])
    return first(reactions(path), change)


@mutant
def r20_a_reaction_moves_the_alarm(path):
    def change(step, at, hook):
        step["wake_ns"] = str(int(step["wake_ns"] or step["elapsed_ns"]) + 1)
    return first(reactions(path), change)


@mutant
def r20_a_reaction_makes_the_row_longer(path):
    def change(step, at, hook):
        hook[2] = content(hook[2], held=paths.report_row(hook[2]).held + bytes(8))
    return first(reactions(path), change)


@mutant
def r21_a_reaction_names_the_rank(path):
    return first(reactions(path), lambda step, at, hook: hook.__setitem__(2, content(hook[2], shown=1)))


@mutant
def r22_a_reaction_is_taken_before_it_is_durable(path):
    def change(step, at, hook):
        if ["told", "queued", "OK"] not in step["hooks"] or step["hooks"].count(["commit", "stands"]) != 1:
            return False
        step["hooks"].remove(["told", "queued", "OK"])
        step["hooks"].insert(step["hooks"].index(["commit", "stands"]), ["told", "queued", "OK"])
    return first(reactions(path), change)


# --------------------------------------------------------------------------------------- draw


@mutant
def r23_a_reaction_is_drawn_at_once(path):
    return first(reactions(path), lambda step, at, hook: step["hooks"].insert(at, ["entropy", "draw", "00" * 8]))


@mutant
def r23_reactions_leave_first(path):
    for step, word, _, _ in draws(path):
        group = step["hooks"][word:word + 6]
        if [h[:2] for h in group] == [["entropy", "draw"], ["put", "drawn"], ["put", "reports"]] * 2:
            step["hooks"][word:word + 6] = group[3:] + group[:3]
            dues = [g[2][0] for g in (group[1], group[4])]
            return dues[0] != dues[1]
    return False


@mutant
def r24_a_decision_ends_without_a_draw(path):
    for step, word, _, report in draws(path):
        step["hooks"][word:report + 1] = [["erase", "reports", [step["hooks"][report][2][0]]]]
        return True
    return False


@mutant
def r25_another_output_than_the_words(path):
    table = randomizer.Table(float(policy_line(path, "epsilon")), False)
    for step, word, _, _ in draws(path):
        number = int.from_bytes(bytes.fromhex(step["hooks"][word][2]), "little")
        for bit in (62, 61, 60, 59):
            other = number ^ 1 << bit
            if all(table.output(s, number) != table.output(s, other) for s in range(0, randomizer.STEPS + 1, 2**14)):
                step["hooks"][word][2] = other.to_bytes(8, "little").hex()
                return True
    return False


@mutant
def r26_a_decision_is_drawn_twice(path):
    for step, word, mark, report in draws(path):
        again = dict(step, hooks=[list(h) for h in step["hooks"][word:report + 1]] + [["commit", "stands"]])
        path["steps"].insert(path["steps"].index(step) + 1, again)
        return True
    return False


@mutant
def r27_the_mark_is_durable_later(path):
    for step, _, mark, report in draws(path):
        step["hooks"].insert(report, ["commit", "stands"])
        return True
    return False


@mutant
def r27_a_drawn_row_still_holds_the_reward(path):
    for step, _, _, report in draws(path):
        step["hooks"][report][2] = content(step["hooks"][report][2], held=bytes(8))
        return True
    return False


@mutant
def r28_a_report_leaves_before_it_is_durable(path):
    for step, _, mark, report in draws(path):
        calls = [h for h in step["hooks"][report:] if h[0] == "call" and h[2] == "Submit"]
        sent = paths.report_row(step["hooks"][report][2]).report
        if calls and sent in wire.all_of(bytes.fromhex(calls[0][3]), 3):
            step["hooks"].remove(calls[0])
            step["hooks"].insert(mark, calls[0])
            return True
    return False


# ------------------------------------------------------------------------------------ deliver


@mutant
def r29_a_repeated_report_is_drawn_anew(path):
    sent = set()
    for _, _, hook in submits(path):
        request = bytes.fromhex(hook[3])
        for report in wire.all_of(request, 3):
            token, output = wire.one_of(report, 1), wire.one_of(report, 3, 0)
            if token in sent:
                other = wire.report(token, wire.one_of(report, 2, 0), output ^ 1, wire.one_of(report, 4, 0))
                reports = [other if one == report else one for one in wire.all_of(request, 3)]
                hook[3] = wire.submit(wire.one_of(request, 1).decode().encode(), wire.one_of(request, 2), reports).hex()
                return True
            sent.add(token)
    return False


@mutant
def r30_a_batch_has_reactions_first(path):
    for _, _, hook in submits(path) if windowed(path) else ():
        request = bytes.fromhex(hook[3])
        reports = wire.all_of(request, 3)
        if len(reports) > 1:
            hook[3] = wire.submit(wire.one_of(request, 1), wire.one_of(request, 2), reports[::-1]).hex()
            return True
    return False


@mutant
def r31_a_call_is_repeated_at_once(path):
    calls = {}
    for step in path["steps"]:
        if step["do"].startswith("crash"):
            calls = {}
        if step["do"] == "answer" and step.get("status") == "UNAVAILABLE" and step["call"] in calls:
            hook, until = calls[step["call"]]
            if int(step["elapsed_ns"]) < until:
                step["hooks"].append(["call", 10**6] + hook[2:])
                return True
        calls.update({h[1]: (h, int(step["elapsed_ns"]) + int(h[4])) for h in step["hooks"] if h[0] == "call" and h[2] == "Submit"})
    return False


@mutant
def r32_a_report_is_forgotten_before_its_answer(path):
    for step, _, hook in submits(path):
        rows = [h[2] for s in path["steps"][:path["steps"].index(step) + 1] for h in s["hooks"]
                if h[:2] == ["put", "reports"] and paths.report_row(h[2]).report]
        token = wire.one_of(wire.all_of(bytes.fromhex(hook[3]), 3)[0], 1)
        number = [row[0] for row in rows if wire.one_of(paths.report_row(row).report, 1) == token]
        if number:
            step["hooks"].append(["erase", "reports", [number[-1]]])
            return True
    return False


@mutant
def r33_a_call_goes_on_under_another_policy(path):
    calls = [hook for _, _, hook in hooks(path, "call") if hook[2] == "Select"]
    if path["name"] != "another policy" or not calls:
        return False
    path["steps"][-1]["hooks"].append(["call", 10**6] + calls[0][2:])
    return True


@mutant
def r34_a_report_leaves_between_starts(path):
    calls = list(submits(path))
    if path["leave"] != "at_start" or not calls:
        return False
    last = path["steps"][path["steps"].index(calls[0][0])]
    path["steps"].insert(path["steps"].index(last) + 1, dict(last, do="wake", hooks=[["call", 10**6] + calls[0][2][2:]]))
    return True


@mutant
def r42_a_report_goes_out_before_its_token_is_durable(path):
    calls = {}
    for step in path["steps"]:
        if step["do"] == "answer" and calls.get(step["call"]) == "BatchSelect":
            sent = [h for h in step["hooks"] if h[0] == "call" and h[2] == "Submit"]
            if sent and ["commit", "stands"] in step["hooks"]:
                step["hooks"].remove(sent[0])
                step["hooks"].insert(step["hooks"].index(["commit", "stands"]), sent[0])
                return True
        calls.update({h[1]: h[2] for h in step["hooks"] if h[0] == "call"})
    return False


@mutant
def r37_older_rows_are_not_charged(path):
    for step in path["steps"]:
        if "rows" in step:
            for hook in step["hooks"]:
                if hook[:2] == ["put", "store"]:
                    hook[2][5] = "i0"
            return True
    return False
