"""Policy text to policy: docs/wire_sdk/bytes.md, Policy text."""

import hashlib
import math
import re

REAL = re.compile(r"-?(0|[1-9]\d*)(\.(\d+))?(e[+-]\d{1,3})?", re.ASCII)
WHOLE = re.compile(r"0|[1-9]\d*", re.ASCII)
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
MODES = ("MODE_UNSPECIFIED", "NON_PRIVATE", "LOCAL_REWARD", "CENTRAL_REWARD", "JOINT", "LOCAL_CONTEXT")
MECHANISMS = ("MECHANISM_UNSPECIFIED", "AUTO", "REWARD_RANDOMIZER", "COUNTER", "CENTRED_RANDOMIZER", "SHAPED_COUNTER",
              "POOLED_COUNTER", "PRIVUNIT", "JOINT_GAUSSIAN", "SPARSE_RELEASE")
EVERY = ("model", "dimension", "feature_l2_max", "feature_out_of_range", "reward_min", "reward_max", "reward_binary", "mode",
         "mechanism", "epsilon", "delta", "unit_of_privacy", "guarantee", "events_per_user_max", "research", "reporting",
         "reward_window_ns", "default_reward", "token_lifetime_ns")
PARTS = {2: ("counter_kind", "counter_horizon", "counter_steps_max"), 3: ("context_grid_bits", "context_parameters"),
         4: ("link",), 5: ("reward_grace_ns",), 6: ("features",)}
INT64_MAX = 2**63 - 1


class Refused(Exception):
    """The device does not agree to this."""


def need(true, why):
    if not true:
        raise Refused(why)


def real(text):
    match = REAL.fullmatch(text)
    need(match, f"no real number: {text!r}")
    digits = (match.group(1) + (match.group(3) or "")).lstrip("0")
    need(len(digits) <= 17, "more than 17 digits")
    value = float(text)  # correctly rounded, ties to even
    need(math.isfinite(value), "no finite number")
    return value


def whole(text, largest=INT64_MAX):
    need(WHOLE.fullmatch(text) and int(text) <= largest, f"no whole number: {text!r}")
    return int(text)


def one_of(text, names):
    need(text in names, f"{text!r} is none of {names}")
    return text


def hexadecimal(text):
    need(re.fullmatch(r"[0-9a-f]{64}", text), "no digest")
    return bytes.fromhex(text)


VALUES = {
    "model": lambda v: (need(NAME.fullmatch(v), "no name of a model"), v)[1],
    "dimension": lambda v: whole(v, 2**32 - 1),
    "feature_l2_max": real,
    "feature_out_of_range": lambda v: one_of(v, ("CLIP", "REJECT")),
    "reward_min": real,
    "reward_max": real,
    "reward_binary": lambda v: whole(v, 1),
    "mode": lambda v: one_of(v, MODES),
    "mechanism": lambda v: one_of(v, MECHANISMS),
    "epsilon": real,
    "delta": real,
    "unit_of_privacy": str,
    "guarantee": str,
    "events_per_user_max": lambda v: whole(v, 2**64 - 1),
    "research": lambda v: whole(v, 1),
    "reporting": lambda v: one_of(v, ("immediate", "one_per_decision", "reward_window")),
    "reward_window_ns": whole,
    "default_reward": real,
    "token_lifetime_ns": whole,
    "counter_kind": lambda v: one_of(v, ("BLT", "TREE", "HONAKER", "EPOCHS")),
    "counter_horizon": whole,
    "counter_steps_max": whole,
    "context_grid_bits": lambda v: whole(v, 64),
    "context_parameters": hexadecimal,
    "link": lambda v: one_of(v, ("LOGISTIC",)),
    "reward_grace_ns": whole,
    "features": lambda v: one_of(v, ("1",)),
}


def check(p):
    """Ranges and what goes together."""
    private = p["mode"] not in ("MODE_UNSPECIFIED", "NON_PRIVATE")
    need(p["mode"] != "MODE_UNSPECIFIED", "no mode")
    need(1 <= p["dimension"] <= (4096 if p["mechanism"] == "SPARSE_RELEASE" else 256), "dimension")
    need(0 < p["feature_l2_max"] <= 1e6, "feature_l2_max")
    need(-1e9 <= p["reward_min"] < p["reward_max"] <= 1e9, "reward range")
    if private:
        need(0 < p["epsilon"] <= (1000 if p["research"] else 20), "epsilon")
        need(p["unit_of_privacy"] == "event" and p["guarantee"] == "proven", "unit or guarantee")
        need(p["reporting"] != "immediate", "reporting")
        pure = p["mechanism"] in ("REWARD_RANDOMIZER", "CENTRED_RANDOMIZER", "PRIVUNIT")
        need(p["delta"] == 0 if pure else 0 < p["delta"] < 1, "delta")
    else:
        need(p["epsilon"] == 0 and p["delta"] == 0 and not p["unit_of_privacy"] and not p["guarantee"]
             and p["mechanism"] == "MECHANISM_UNSPECIFIED", "a promise without privacy")
    window = p["reporting"] == "reward_window"
    need(("reward_grace_ns" in p) == (private and window), "reward_grace_ns")
    grace = p.get("reward_grace_ns", 0)
    need(grace == 0 or p["mode"] in ("CENTRAL_REWARD", "JOINT") and grace <= 3600 * 10**9, "grace")
    if window:
        need(10**6 <= p["reward_window_ns"] <= 604800 * 10**9, "reward_window_ns")
        need(p["reward_min"] <= p["default_reward"] <= p["reward_max"], "default_reward")
    else:
        need(p["reward_window_ns"] == 0 and p["default_reward"] == 0, "a window without one")
    need(10**9 <= p["token_lifetime_ns"] <= 2592000 * 10**9, "token_lifetime_ns")
    need(p["token_lifetime_ns"] >= p["reward_window_ns"] + grace, "a window that outlives its tokens")
    need(("context_parameters" in p) == (p["mode"] == "LOCAL_CONTEXT"), "context")


def read(text, digest=None):
    """The policy as a dictionary, its schema's lines under "blocks". Raises Refused."""
    need(digest is None or hashlib.sha256(text.encode()).digest() == digest, "policy_hash is not of the text")
    need(text.endswith("\n"), "no end of the last line")
    first, *lines = text[:-1].split("\n")
    need(re.fullmatch(r"bandana-policy-[1-6]", first), "no format that is known")
    policy, blocks = {}, []
    order = EVERY + sum(PARTS.values(), ())
    place = 0
    for line in lines:
        if "features" in policy:
            need(line.startswith("feature_"), f"no block: {line!r}")
            blocks.append(line[len("feature_"):])
            continue
        name, equals, value = line.partition("=")
        need(equals and name in order[place:], f"unknown, twice or out of place: {line!r}")
        place = order.index(name) + 1
        policy[name] = VALUES[name](value)
    need(all(name in policy for name in EVERY), "a line is missing")
    for names in PARTS.values():
        need(len({name in policy for name in names}) == 1, "a line is missing")
    formats = [part for part, names in PARTS.items() if names[0] in policy]
    need(first == f"bandana-policy-{max(formats, default=1)}", "another format than its lines'")
    check(policy)
    policy["blocks"] = blocks
    return policy
