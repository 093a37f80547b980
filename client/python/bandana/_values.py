"""Values to the structs of bandana.h, and back."""

from __future__ import annotations

import base64
import binascii
import ctypes
import math
from collections.abc import Mapping

from . import _abi
from .errors import InvalidArgument
from .types import Arms, BackendAnswer, ModelInfo, Options, Policy, RankedArm, Readings, Rules, Selection, Spent, Stats, Stream, Values

_NUMBER, _FLAG, _TEXT, _TEXTS, _NUMBERS = range(5)
_EXCLUDE = {None: 0, "shown": 1, "rewarded": 2}


def _milliseconds(field: str, seconds: float) -> int:
    if not (isinstance(seconds, (int, float)) and math.isfinite(seconds)):
        raise InvalidArgument(f"{field}: must be a number of seconds, got {seconds!r}")
    return int(max(-(2**53), min(2**53, round(seconds * 1000))))


def options_of(library: _abi.Library, memory: _abi.Memory, target: str, model: str, policy: Policy, leave: int, given: Options) -> _abi.Options:
    to = library.options()
    to.target, to.model = memory.bytes(target), memory.bytes(model)
    to.require_local, to.require_proven, to.allow_research = policy.require_local, policy.require_proven, policy.allow_research
    to.epsilon_max, to.delta_max, to.events_per_user_max = policy.epsilon_max, policy.delta_max, policy.events_per_user_max
    to.leave, to.when_full = leave, int(given.when_full_drop)
    to.queue_reports_max, to.deliveries_in_flight_max = given.queue_reports_max, given.deliveries_in_flight_max
    to.reports_per_delivery_max = given.reports_per_delivery_max
    for name in ("select_deadline", "report_deadline", "connect_timeout", "backoff_min", "backoff_max", "posterior_interval"):
        setattr(to, f"{name}_ms", _milliseconds(name, getattr(given, name)))
    to.arm_effects_tag = memory.bytes(given.arm_effects_tag)
    return to


def _value(memory: _abi.Memory, place: str, name: str, given) -> _abi.Value:
    value = _abi.Value(name=memory.bytes(name))
    if isinstance(given, bool):
        value.kind, value.number = _FLAG, float(given)
    elif isinstance(given, (int, float)):
        value.kind, value.number = _NUMBER, float(given)
    elif isinstance(given, str):
        value.kind, value.text = _TEXT, memory.bytes(given)
    elif isinstance(given, (list, tuple)) and all(isinstance(item, str) for item in given):
        value.kind = _TEXTS
        value.texts, value.count = memory.texts(given)
    elif isinstance(given, (list, tuple)) and all(isinstance(item, (int, float)) for item in given):
        value.kind = _NUMBERS
        value.numbers, value.count = memory.array(ctypes.c_double, [float(item) for item in given])
    else:
        raise InvalidArgument(f"{place}.{name}: must be a number, a bool, a text, or a list of texts or numbers")
    return value


def _values(memory: _abi.Memory, place: str, given: Values):
    return memory.array(_abi.Value, [_value(memory, place, name, value) for name, value in given.items()])


def _bound(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _numbers_of(memory: _abi.Memory, ids):
    try:
        return memory.array(ctypes.c_uint32, [id.__index__() for id in ids])
    except (AttributeError, TypeError) as why:
        raise InvalidArgument("arms.ids: must be whole numbers") from why


def _rules(memory: _abi.Memory, given: Rules):
    rules = memory.keep(_abi.sized(_abi.Rules))
    rules.where, rules.where_count = memory.array(
        _abi.Range,
        [_abi.Range(memory.bytes(r.field), _bound(r.min), _bound(r.max), _bound(r.above), _bound(r.below)) for r in given.where],
    )
    boosts = []
    for b in given.boosts:
        group, value = b.group or ("", "")
        boosts.append(
            _abi.Boost(
                memory.bytes(b.tag or ""), memory.bytes(b.name or ""), memory.bytes(group), memory.bytes(value),
                int(b.id is not None), b.id or 0, float(b.add),
            )  # fmt: skip
        )
    rules.boosts, rules.boosts_count = memory.array(_abi.Boost, boosts)
    rules.pins, rules.pins_count = memory.array(
        _abi.Pin, [_abi.Pin(memory.bytes(p.name or ""), int(p.id is not None), p.id or 0, p.rank, 0) for p in given.pins]
    )
    rules.at_most, rules.at_most_count = memory.array(
        _abi.Limit, [_abi.Limit(memory.bytes(x.group or ""), memory.bytes(x.tag or ""), x.count, 0) for x in given.at_most]
    )
    if given.exclude not in _EXCLUDE:
        raise InvalidArgument(f"rules.exclude: must be 'shown' or 'rewarded', got {given.exclude!r}")
    rules.exclude_seen, rules.seen_within_ms = _EXCLUDE[given.exclude], _milliseconds("rules.within", given.within)
    return ctypes.pointer(rules)


def arms_of(memory: _abi.Memory, given: Arms, context: Values | None, rules: Rules | None):
    arms = memory.keep(_abi.sized(_abi.Arms))
    arms.form = given.form
    try:
        rows = [[float(x) for x in row] for row in given.features]
    except (TypeError, ValueError) as why:
        raise InvalidArgument("arms.features: must be rows of numbers") from why
    if any(len(row) != len(rows[0]) for row in rows):
        raise InvalidArgument("arms.features: all rows must have as many numbers")
    arms.features, arms.features_count = memory.array(ctypes.c_double, [x for row in rows for x in row])
    arms.ids, arms.ids_count = _numbers_of(memory, given.ids)
    arms.excluded_ids, arms.excluded_ids_count = _numbers_of(memory, given.excluded_ids)
    for name in ("names", "tags_any", "tags_all", "tags_none", "excluded_names"):
        texts, count = memory.texts(getattr(given, name))
        setattr(arms, name, texts)
        setattr(arms, f"{name}_count", count)
    named = []
    for id, values in given.of_names:
        array, count = _values(memory, f"arms[{id}]", values)
        named.append(_abi.NamedArm(memory.bytes(id), array, count))
    arms.named, arms.named_count = memory.array(_abi.NamedArm, named)
    if context is not None:
        arms.context, arms.context_count = _values(memory, "context", context)
    if rules is not None:
        arms.rules = _rules(memory, rules)
    return ctypes.pointer(arms)


def _base64(field: str, text) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise InvalidArgument(f"answer.{field}: must be base64")


def _whole(field: str, number, bits: int) -> int:
    """From a number of JSON; one of 64 bits is a text there."""
    try:
        whole = int(number) if isinstance(number, str) else number.__index__()
    except (AttributeError, TypeError, ValueError) as why:
        raise InvalidArgument(f"answer.{field}: must be a whole number") from why
    if not -(2 ** (bits - 1)) <= whole < 2**bits:
        raise InvalidArgument(f"answer.{field}: must have at most {bits} bits, got {whole}")
    return whole


def _list(selection, name: str, kind) -> list:
    """Numbers may be texts, as JSON has NaN."""
    try:
        return [kind(value) for value in selection.get(name, ())]
    except (TypeError, ValueError) as why:
        raise InvalidArgument(f"answer.selection.{name}: must be a list of {'texts' if kind is str else 'numbers'}") from why


def backend_answer_of(memory: _abi.Memory, given: BackendAnswer) -> _abi.BackendAnswer:
    if not isinstance(given, BackendAnswer) or not isinstance(given.selection, Mapping):
        raise InvalidArgument("answer: must be a BackendAnswer, whose selection is what json.loads read")
    for name in ("user", "model"):
        if not isinstance(getattr(given, name), str):
            raise InvalidArgument(f"answer.{name}: must be a text")
    read, selection = memory.keep(_abi.sized(_abi.BackendAnswer)), given.selection
    read.user, read.model = memory.bytes(given.user), memory.bytes(given.model)
    read.policy_hash = memory.bytes(_base64("policy_hash", given.policy_hash))
    read.token = memory.bytes(_base64("selection.token", selection.get("token")))
    read.decided_ms, read.shown = _whole("decided_ms", given.decided_ms, 63), _whole("shown", given.shown, 31)
    read.posterior_version = _whole("selection.posteriorVersion", selection.get("posteriorVersion", 0), 64)
    positions = _list(selection, "positions", lambda position: _whole("selection.positions", position, 31))
    numbers = [_list(selection, name, float) for name in ("scores", "means", "widths", "propensities")]
    ids = _list(selection, "armIds", lambda id: _whole("selection.armIds", id, 32)) or [0] * len(positions)
    names = _list(selection, "armNames", str) or [""] * len(positions)
    if any(len(values) != len(positions) for values in (*numbers, ids, names)):
        raise InvalidArgument(f"answer.selection: its lists must have {len(positions)} entries, as positions has")
    arms = [
        _abi.Ranked(position, id, *row, memory.bytes(name)) for position, id, name, *row in zip(positions, ids, names, *numbers, strict=True)
    ]
    read.arms, read.arms_count = memory.array(_abi.Ranked, arms)
    read.reward_windows, read.reward_windows_count = memory.array(ctypes.c_double, _list(selection, "rewardWindows", float))
    return read


def _selection(of: _abi.Selection) -> Selection:
    arms = tuple(
        RankedArm(a.position, a.arm_id, a.score, a.mean, a.width, a.propensity, a.name.text()) for a in (of.arms[i] for i in range(of.arms_count))
    )
    point = tuple(of.point[i] for i in range(of.point_count))
    notes = tuple(of.notes[i].text() for i in range(of.notes_count))
    return Selection(of.handle.get(), arms, of.posterior_version, point, notes)


def _reading(value: float) -> float | None:
    return None if math.isnan(value) else value


def result_of(result: _abi.Result):
    """The value of a result whose status is OK."""
    if result.kind in (_abi.STARTED, _abi.REFRESHED):
        return bool(result.value)
    if result.kind == _abi.CONNECTED:
        return result.client
    if result.kind == _abi.SELECTED:
        return [_selection(result.selections[i]) for i in range(result.selections_count)]
    if result.kind == _abi.SPENT:
        s = result.spent.contents
        return Spent(s.epsilon_event, s.delta_event, s.events, s.streams, s.epsilon_user)
    if result.kind == _abi.LEDGER:
        r = result.readings.contents
        return Readings(_reading(r.epsilon_pure), _reading(r.epsilon_gaussian), _reading(r.epsilon_zcdp), r.delta)
    if result.kind == _abi.STREAMS:
        streams = (result.streams[i] for i in range(result.streams_count))
        return [Stream(s.epoch, s.steps, s.acknowledged, s.ended.text()) for s in streams]
    return None


def model_of(m: _abi.ModelInfo) -> ModelInfo:
    return ModelInfo(
        name=m.name.text(),
        dimension=m.dimension,
        feature_l2_max=m.feature_l2_max,
        reward_min=m.reward_min,
        reward_max=m.reward_max,
        reward_binary=bool(m.reward_binary),
        local=bool(m.local),
        local_context=bool(m.local_context),
        link=m.link.text(),
        epsilon=m.epsilon,
        delta=m.delta,
        guarantee=m.guarantee.text(),
        mechanism=m.mechanism.text(),
        events_per_user_max=m.events_per_user_max,
        reward_window=None if m.reward_window_ms < 0 else m.reward_window_ms / 1000,
        default_reward=m.default_reward,
        token_lifetime=m.token_lifetime_ms / 1000,
    )


def stats_of(s: _abi.Stats) -> Stats:
    return Stats(**{name: getattr(s, name) for name in _abi.STATS})
