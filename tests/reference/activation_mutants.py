"""Paths as devices would leave them that break one of rules 47 to 50: each changes a path, or says that it cannot.

The name begins with the number of the rule that the judge must name.
"""

import path as paths
import wire
from mutants import hooks

MUTANTS = {}


def mutant(function):
    MUTANTS[function.__name__] = function
    return function


def calls(path, method):
    """(step, hook) of the calls of a method."""
    return [(step, hook) for step, _, hook in hooks(path, "call") if hook[2] == method]


def puts(path, table, is_it=lambda cells: True):
    """(step, place) of the puts of rows."""
    return [(step, at) for step, at, hook in hooks(path, "put", table) if is_it(hook[2])]


def is_call(cells):
    return paths.cell(cells[1]).startswith(b"activate ")


@mutant
def r47_does_not_defer(path):
    for _, hook in calls(path, "Select"):
        if b"\x48\x01" not in bytes.fromhex(hook[3]):
            return False
        hook[3] = hook[3].replace("4801", "", 1)
    return True


@mutant
def r47_activates_at_the_reaction(path):
    for step in path["steps"]:
        if step["do"] == "report":
            made = calls(path, "Activate")
            step["hooks"].append(made[-1][1])
            return bool(made)
    return False


@mutant
def r48_activates_what_was_late(path):
    late = [step["hooks"][0] for step in path["steps"] if step["do"] == "answer" and step["hooks"] and step["hooks"][0][:2] == ["told", "selected"]][1:]
    for _, hook in calls(path, "Activate"):
        if not late:
            return False
        # The answer that is named now comes with the next selection.
        other = next(one for one in path["steps"] if late[0] in one["hooks"])
        request = wire.block(1, wire.one_of(bytes.fromhex(hook[3]), 1)) + wire.block(2, wire.one_of(bytes.fromhex(other["response"]), 7))
        other["hooks"].append([*hook[:3], request.hex(), *hook[4:]])
        return True
    return False


@mutant
def r49_calls_before_the_commit(path):
    found = puts(path, "kept", is_call)
    for step, _ in found:
        made = [hook for hook in step["hooks"] if hook[0] == "call" and hook[2] == "Activate"]
        if made:
            step["hooks"].remove(made[0])
            step["hooks"].insert(0, made[0])
            return True
    return False


@mutant
def r49_keeps_no_call(path):
    found = puts(path, "kept", is_call)
    for step, at in reversed(found):
        del step["hooks"][at]
    return bool(found)


@mutant
def r49_opens_no_row(path):
    if "mode=NON_PRIVATE\n" in path["policy_text"]:
        return False
    step, at = puts(path, "reports")[0]
    del step["hooks"][at]
    return True


@mutant
def r49_does_not_pay(path):
    found = puts(path, "ledger")
    if not found:
        return False
    for step, at in reversed(found):
        del step["hooks"][at]
    return True


@mutant
def r49_sends_other_bytes(path):
    made = calls(path, "Activate")
    if len(made) < 2:
        return False
    token = wire.one_of(bytes.fromhex(made[0][1][3]), 2)
    made[-1][1][3] = (wire.block(1, b"other") + wire.block(2, token)).hex()
    return True


@mutant
def r49_forgets_the_call(path):
    ids = {hook[1] for _, hook in calls(path, "Activate")}
    for step in path["steps"]:
        if step["do"] == "answer" and step["call"] in ids:
            step["response"] = ""
    return any(hook[:2] == ["erase", "kept"] for one in path["steps"] for hook in one["hooks"])


@mutant
def r50_reports_before_the_answer(path):
    made = calls(path, "Report")
    if not made:
        return False
    ids = {hook[1] for _, hook in calls(path, "Activate")}
    for step in path["steps"]:
        if step["do"] == "answer" and step["call"] in ids:
            step.pop("response", None)
            step["status"] = "UNAVAILABLE"
    return True
