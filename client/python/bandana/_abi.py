"""bandana.h for ctypes: its structs, in its order, and its functions."""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

from .errors import error_of

INTEGER, REAL, BYTES = 0, 1, 2
STARTED, CONNECTED, SELECTED, ACTIVATED, REFRESHED, QUEUED, DELIVERED, FLUSHED, SPENT, LEDGER, STREAMS = range(1, 12)
NO_ANSWER, TIMED_OUT = 0, -1


class Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def get(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""

    def text(self) -> str:
        return self.get().decode("utf-8", "replace")


class Cell(Structure):
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("integer", c_int64), ("real", c_double), ("bytes", Bytes)]

    def get(self):
        return self.integer if self.kind == INTEGER else self.real if self.kind == REAL else self.bytes.get()


class Table(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("names", POINTER(c_char_p)), ("kinds", POINTER(c_int32)), ("columns", c_int32),
        ("keys", c_int32), ("sealed", c_int32), ("empty_in_clear", c_int32), ("digested", c_int32),
    ]  # fmt: skip


class Change(Structure):
    _fields_ = [("table", c_int32), ("erased", c_int32), ("cells", POINTER(Cell)), ("count", c_size_t)]


class Commit(Structure):
    _fields_ = [("size", c_size_t), ("id", c_uint64), ("changes", POINTER(Change)), ("count", c_size_t), ("erased_private", c_int32)]


class Mark(Structure):
    _fields_ = [
        ("size", c_size_t), ("identity", c_uint8 * 16), ("position", c_uint64), ("run", c_uint64), ("events", c_uint64),
        ("streams", c_uint64), ("ledger_hash", c_uint8 * 32),
    ]  # fmt: skip


class Header(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Call(Structure):
    _fields_ = [
        ("size", c_size_t), ("id", c_uint64), ("path", c_char_p), ("headers", POINTER(Header)), ("headers_count", c_size_t),
        ("body", Bytes), ("deadline_ms", c_int64), ("wait_for_ready", c_int32), ("keep_connection", c_int32), ("target", Bytes),
    ]  # fmt: skip


class Answer(Structure):
    _fields_ = [("size", c_size_t), ("http_status", c_int32), ("headers", POINTER(Header)), ("headers_count", c_size_t), ("body", Bytes)]


class Ranked(Structure):
    _fields_ = [
        ("position", c_int32), ("arm_id", c_uint32), ("score", c_double), ("mean", c_double), ("width", c_double),
        ("propensity", c_double), ("name", Bytes),
    ]  # fmt: skip


class Selection(Structure):
    _fields_ = [
        ("handle", Bytes), ("posterior_version", c_uint64), ("arms", POINTER(Ranked)), ("arms_count", c_size_t),
        ("point", POINTER(c_double)), ("point_count", c_size_t), ("notes", POINTER(Bytes)), ("notes_count", c_size_t),
    ]  # fmt: skip


class Spent(Structure):
    _fields_ = [("epsilon_event", c_double), ("delta_event", c_double), ("events", c_uint64), ("streams", c_uint64), ("epsilon_user", c_double)]


class Readings(Structure):
    _fields_ = [("epsilon_pure", c_double), ("epsilon_gaussian", c_double), ("epsilon_zcdp", c_double), ("delta", c_double)]


class Stream(Structure):
    _fields_ = [("epoch", c_uint64), ("steps", c_uint64), ("acknowledged", c_uint64), ("ended", Bytes)]


class Result(Structure):
    _fields_ = [
        ("size", c_size_t), ("tag", c_uint64), ("kind", c_int32), ("code", c_int32), ("message", Bytes), ("client", c_uint32),
        ("value", c_int32), ("selections", POINTER(Selection)), ("selections_count", c_size_t), ("spent", POINTER(Spent)),
        ("readings", POINTER(Readings)), ("streams", POINTER(Stream)), ("streams_count", c_size_t),
    ]  # fmt: skip


CALL = CFUNCTYPE(None, c_void_p, POINTER(Call))
COMMIT = CFUNCTYPE(None, c_void_p, POINTER(Commit))
RANDOM = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t)
CLOCK = CFUNCTYPE(c_int64, c_void_p)
WAKE = CFUNCTYPE(None, c_void_p, c_int64)
MARK = CFUNCTYPE(None, c_void_p, POINTER(Mark))
TELL = CFUNCTYPE(None, c_void_p, POINTER(Result))


class Hooks(Structure):
    _fields_ = [
        ("size", c_size_t), ("context", c_void_p), ("call", CALL), ("commit", COMMIT), ("random", RANDOM), ("wall_ns", CLOCK),
        ("elapsed_ns", CLOCK), ("wake", WAKE), ("mark", MARK), ("tell", TELL),
    ]  # fmt: skip


class Options(Structure):
    _fields_ = [
        ("size", c_size_t), ("target", Bytes), ("model", Bytes), ("require_local", c_int32), ("require_proven", c_int32),
        ("allow_research", c_int32), ("leave", c_int32), ("epsilon_max", c_double), ("delta_max", c_double),
        ("events_per_user_max", c_uint64), ("when_full", c_int32), ("queue_reports_max", c_int32),
        ("deliveries_in_flight_max", c_int32), ("reports_per_delivery_max", c_int32), ("select_deadline_ms", c_int64),
        ("report_deadline_ms", c_int64), ("connect_timeout_ms", c_int64), ("backoff_min_ms", c_int64), ("backoff_max_ms", c_int64),
        ("posterior_interval_ms", c_int64), ("arm_effects_tag", Bytes),
    ]  # fmt: skip


class Value(Structure):
    _fields_ = [
        ("name", Bytes), ("kind", c_int32), ("reserved", c_int32), ("number", c_double), ("text", Bytes), ("texts", POINTER(Bytes)),
        ("numbers", POINTER(c_double)), ("count", c_size_t),
    ]  # fmt: skip


class NamedArm(Structure):
    _fields_ = [("id", Bytes), ("values", POINTER(Value)), ("values_count", c_size_t)]


class Range(Structure):
    _fields_ = [("field", Bytes), ("min", c_double), ("max", c_double), ("above", c_double), ("below", c_double)]


class Boost(Structure):
    _fields_ = [("tag", Bytes), ("name", Bytes), ("group", Bytes), ("value", Bytes), ("has_id", c_int32), ("id", c_uint32), ("add", c_double)]


class Pin(Structure):
    _fields_ = [("name", Bytes), ("has_id", c_int32), ("id", c_uint32), ("rank", c_int32), ("reserved", c_int32)]


class Limit(Structure):
    _fields_ = [("group", Bytes), ("tag", Bytes), ("count", c_int32), ("reserved", c_int32)]


class Rules(Structure):
    _fields_ = [
        ("size", c_size_t), ("where", POINTER(Range)), ("where_count", c_size_t), ("boosts", POINTER(Boost)), ("boosts_count", c_size_t),
        ("pins", POINTER(Pin)), ("pins_count", c_size_t), ("at_most", POINTER(Limit)), ("at_most_count", c_size_t),
        ("exclude_seen", c_int32), ("reserved", c_int32), ("seen_within_ms", c_int64),
    ]  # fmt: skip


class Arms(Structure):
    _fields_ = [
        ("size", c_size_t), ("form", c_int32), ("reserved", c_int32), ("features", POINTER(c_double)), ("features_count", c_size_t),
        ("ids", POINTER(c_uint32)), ("ids_count", c_size_t), ("names", POINTER(Bytes)), ("names_count", c_size_t),
        ("named", POINTER(NamedArm)), ("named_count", c_size_t), ("tags_any", POINTER(Bytes)), ("tags_any_count", c_size_t),
        ("tags_all", POINTER(Bytes)), ("tags_all_count", c_size_t), ("tags_none", POINTER(Bytes)), ("tags_none_count", c_size_t),
        ("excluded_ids", POINTER(c_uint32)), ("excluded_ids_count", c_size_t), ("excluded_names", POINTER(Bytes)),
        ("excluded_names_count", c_size_t), ("context", POINTER(Value)), ("context_count", c_size_t), ("rules", POINTER(Rules)),
    ]  # fmt: skip


class Request(Structure):
    _fields_ = [
        ("size", c_size_t), ("by", c_int32), ("top_k", c_int32), ("shown", c_int32), ("slots", c_int32), ("user", Bytes),
        ("arms", POINTER(Arms)),
    ]  # fmt: skip


class BackendAnswer(Structure):
    _fields_ = [
        ("size", c_size_t), ("user", Bytes), ("model", Bytes), ("policy_hash", Bytes), ("decided_ms", c_int64), ("shown", c_int32),
        ("reserved", c_int32), ("posterior_version", c_uint64), ("arms", POINTER(Ranked)), ("arms_count", c_size_t),
        ("reward_windows", POINTER(c_double)), ("reward_windows_count", c_size_t), ("token", Bytes),
    ]  # fmt: skip


class Report(Structure):
    _fields_ = [("size", c_size_t), ("handle", Bytes), ("reward", c_double), ("has_shown", c_int32), ("shown", c_int32)]


class ModelInfo(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", Bytes), ("link", Bytes), ("guarantee", Bytes), ("mechanism", Bytes), ("dimension", c_int32),
        ("reward_binary", c_int32), ("local", c_int32), ("local_context", c_int32), ("feature_l2_max", c_double),
        ("reward_min", c_double), ("reward_max", c_double), ("epsilon", c_double), ("delta", c_double), ("default_reward", c_double),
        ("events_per_user_max", c_uint64), ("reward_window_ms", c_int64), ("token_lifetime_ms", c_int64),
    ]  # fmt: skip


STATS = (
    "selections reports_queued reports_defaulted reports_applied reports_duplicate reports_expired reports_overtaken reports_rejected "
    "reports_dropped reports_pending delivery_attempts rewards_clipped streams_ended values_encoded values_missing values_unknown "
    "values_out_of_bounds"
).split()


class Stats(Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in STATS]


class Start(Structure):
    _fields_ = [("size", c_size_t), ("durable", c_int32), ("taken_over", c_int32), ("seen", POINTER(Mark))]


_DEVICE, _CLIENT, _TAG = c_uint32, c_uint32, c_uint64
_FUNCTIONS = {
    "table_form": [c_int32, POINTER(Table)],
    "seal_name": [c_int32, POINTER(Cell), c_size_t, c_void_p, POINTER(c_size_t)],
    "row_digest": [c_int32, POINTER(Cell), c_size_t, c_void_p],
    "device_new": [POINTER(Hooks), POINTER(_DEVICE)],
    "device_free": [_DEVICE],
    "load": [_DEVICE, c_int32, POINTER(Cell), c_size_t],
    "start": [_DEVICE, POINTER(Start), _TAG],
    "connect": [_DEVICE, POINTER(Options), _TAG],
    "close": [_DEVICE, _CLIENT],
    "select": [_DEVICE, _CLIENT, POINTER(Request), _TAG],
    "activate": [_DEVICE, _CLIENT, POINTER(Bytes), _TAG],
    "adopt": [_DEVICE, _CLIENT, POINTER(Bytes), POINTER(BackendAnswer), _TAG],
    "report": [_DEVICE, _CLIENT, POINTER(Report), _TAG],
    "refresh_posterior": [_DEVICE, _CLIENT, POINTER(Bytes), _TAG],
    "begin": [_DEVICE, _CLIENT],
    "flush": [_DEVICE, _CLIENT, _TAG],
    "read_spent": [_DEVICE, _CLIENT, POINTER(Bytes), _TAG],
    "read_ledger": [_DEVICE, _CLIENT, POINTER(Bytes), c_double, _TAG],
    "read_streams": [_DEVICE, _CLIENT, POINTER(Bytes), _TAG],
    "get_stats": [_DEVICE, _CLIENT, POINTER(Stats)],
    "get_model": [_DEVICE, _CLIENT, POINTER(ModelInfo)],
    "wake": [_DEVICE],
    "answer": [_DEVICE, c_uint64, POINTER(Answer)],
    "committed": [_DEVICE, c_uint64, c_int32],
}


class Library:
    """The functions; each raises its error."""

    def __init__(self, path: str):
        self._dll = ctypes.CDLL(path)
        self._dll.bandana_version.restype = c_char_p
        self._dll.bandana_error.restype = c_char_p
        self._dll.bandana_options_init.argtypes = [POINTER(Options)]
        self._dll.bandana_options_init.restype = None
        for name, arguments in _FUNCTIONS.items():
            function = getattr(self._dll, f"bandana_{name}")
            function.argtypes, function.restype = arguments, c_int32
            setattr(self, name, self._checked(function))

    def _checked(self, function):
        def call(*arguments) -> None:
            code = function(*arguments)
            if code != 0:
                raise error_of(code, self._dll.bandana_error().decode("utf-8", "replace"))

        return call

    def version(self) -> str:
        return self._dll.bandana_version().decode()

    def options(self) -> Options:
        options = Options()
        self._dll.bandana_options_init(options)
        return options


def load() -> Library:
    """The library that lies in the package."""
    return Library(os.environ.get("BANDANA_LIBRARY") or os.path.join(os.path.dirname(__file__), "libbandana.so.0"))


def sized(kind):
    """A struct of this kind that has its size and zeros."""
    out = kind()
    out.size = ctypes.sizeof(kind)
    return out


class Memory:
    """Holds the memory that a call points to; keep it until the call has returned."""

    def __init__(self) -> None:
        self._kept: list = []

    def keep(self, thing):
        self._kept.append(thing)
        return thing

    def bytes(self, value: bytes | str) -> Bytes:
        raw = self.keep(value.encode() if isinstance(value, str) else bytes(value))
        return Bytes(ctypes.cast(c_char_p(raw), c_void_p), len(raw))

    def array(self, kind, values):
        made = self.keep((kind * len(values))(*values))
        return ctypes.cast(made, POINTER(kind)), len(values)

    def texts(self, values):
        return self.array(Bytes, [self.bytes(value) for value in values])

    def cells(self, values):
        cells = []
        for value in values:
            if isinstance(value, int):
                cells.append(Cell(INTEGER, 0, value, 0.0, Bytes()))
            elif isinstance(value, float):
                cells.append(Cell(REAL, 0, 0, value, Bytes()))
            else:
                cells.append(Cell(BYTES, 0, 0, 0.0, self.bytes(value)))
        return self.array(Cell, cells)
