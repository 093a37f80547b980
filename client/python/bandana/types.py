"""Values that go in and come out. Units and ranges are those of bandana/client.h and options.h."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

Value = Union[float, bool, str, Sequence[str], Sequence[float]]
Values = Mapping[str, Value]


class Leave(enum.IntEnum):
    """When reports leave the device; docs/sdk/decisions.md, "Which leave to choose"."""

    WHEN_DUE = 0
    AT_START = 1


class Delivery(enum.IntEnum):
    """The outcome of one report."""

    APPLIED = 0
    DUPLICATE = 1
    EXPIRED = 2
    REJECTED = 3
    DROPPED = 4


@dataclass(frozen=True)
class Policy:
    """The least privacy that the application accepts. A weaker model is refused."""

    epsilon_max: float = 2.0
    delta_max: float = 0.0
    events_per_user_max: int = 0
    require_local: bool = True
    require_proven: bool = True
    allow_research: bool = False

    @staticmethod
    def accept_anything() -> "Policy":
        """For applications that knowingly send raw rewards to an operator they trust."""
        return Policy(float("inf"), 1.0, 0, False, False, True)


@dataclass(frozen=True)
class Options:
    """Options that seldom need another value. Times in seconds."""

    when_full_drop: bool = False
    queue_reports_max: int = 10_000
    select_deadline: float = 1.0
    report_deadline: float = 5.0
    connect_timeout: float = 10.0
    backoff_min: float = 0.02
    backoff_max: float = 2.0
    posterior_interval: float = 1.0
    arm_effects_tag: str = ""
    deliveries_in_flight_max: int = 8
    reports_per_delivery_max: int = 32


@dataclass(frozen=True)
class Range:
    """Arms whose field lies in a range; at least one bound."""

    field: str
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class Boost:
    """Adds to the scores of a tag, an arm by id or name, or a value of a group."""

    add: float
    tag: str | None = None
    id: int | None = None
    name: str | None = None
    group: tuple[str, str] | None = None


@dataclass(frozen=True)
class Pin:
    """An arm at a fixed rank, 0 = best."""

    rank: int
    id: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class AtMost:
    """At most `count` arms of each value of a group, or with a tag."""

    count: int
    group: str | None = None
    tag: str | None = None


@dataclass(frozen=True)
class Rules:
    """Rules of one decision, for arms of the catalogue (docs/design/rules.md)."""

    where: Sequence[Range] = ()
    boosts: Sequence[Boost] = ()
    pins: Sequence[Pin] = ()
    at_most: Sequence[AtMost] = ()
    exclude: str | None = None  # "shown" or "rewarded"
    within: float = 0.0  # seconds; 0: as long as the model keeps them


@dataclass(frozen=True)
class Arms:
    """The arms of one decision. Make them by the functions below."""

    form: int
    features: Sequence[Sequence[float]] = ()
    ids: Sequence[int] = ()
    names: Sequence[str] = ()
    of_names: Sequence[tuple[str, Values]] = ()
    tags_any: Sequence[str] = ()
    tags_all: Sequence[str] = ()
    tags_none: Sequence[str] = ()
    excluded_ids: Sequence[int] = ()
    excluded_names: Sequence[str] = ()

    @staticmethod
    def inline(rows: Sequence[Sequence[float]], ids: Sequence[int] = ()) -> "Arms":
        """n rows of d numbers. `ids`: none, or one per arm."""
        return Arms(0, features=rows, ids=ids)

    @staticmethod
    def catalogue(arms: Sequence[int] | Sequence[str]) -> "Arms":
        """Ids of the model's catalogue, or names."""
        if arms and isinstance(arms[0], str):
            return Arms(2, names=arms)  # type: ignore[arg-type]
        return Arms(1, ids=arms)  # type: ignore[arg-type]

    @staticmethod
    def query(
        tags_any: Sequence[str] = (),
        tags_all: Sequence[str] = (),
        tags_none: Sequence[str] = (),
        excluded_ids: Sequence[int] = (),
        excluded_names: Sequence[str] = (),
    ) -> "Arms":
        """Every arm of the catalogue that matches; no tags: all of them."""
        return Arms(
            3,
            tags_any=tags_any,
            tags_all=tags_all,
            tags_none=tags_none,
            excluded_ids=excluded_ids,
            excluded_names=excluded_names,
        )

    @staticmethod
    def named(arms: Mapping[str, Values]) -> "Arms":
        """By id, values in the words of the model's schema."""
        return Arms(4, of_names=list(arms.items()))


@dataclass(frozen=True)
class RankedArm:
    """In reward units; bandana/client.h has the formulas."""

    position: int
    arm_id: int
    score: float
    mean: float
    width: float
    propensity: float
    name: str = ""


@dataclass(frozen=True)
class Selection:
    """One decision. Keep it, or its handle, until its reward is reported."""

    handle: bytes = field(repr=False)
    arms: tuple[RankedArm, ...] = ()
    posterior_version: int = 0
    point: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackendAnswer:
    """A decision that a backend fetched: `POST /v1/models/NAME:select` with `policyHash`, for this user alone."""

    user: str  # the request's, as are model, policy_hash and shown
    model: str
    policy_hash: str  # base64: that of `GET /v1/models/NAME`
    decided_ms: int  # when the answer came, by the backend's clock, since 1970
    selection: Mapping[str, Any] = field(repr=False)  # the answer, as json.loads reads it
    shown: int = 0


@dataclass(frozen=True)
class ModelInfo:
    """The model as it was checked against the policy. Times in seconds."""

    name: str
    dimension: int
    feature_l2_max: float
    reward_min: float
    reward_max: float
    reward_binary: bool
    local: bool
    local_context: bool
    link: str
    epsilon: float
    delta: float
    guarantee: str
    mechanism: str
    events_per_user_max: int
    reward_window: float | None
    default_reward: float
    token_lifetime: float


@dataclass(frozen=True)
class Spent:
    """The device's ledger of one user of this model."""

    epsilon_event: float
    delta_event: float
    events: int
    streams: int
    epsilon_user: float


@dataclass(frozen=True)
class Readings:
    """Each that is present is a valid epsilon for the user's debits."""

    epsilon_pure: float | None
    epsilon_gaussian: float | None
    epsilon_zcdp: float | None
    delta: float


@dataclass(frozen=True)
class Stream:
    """One counter of one user. `ended` is empty while it goes on."""

    epoch: int
    steps: int
    acknowledged: int
    ended: str


@dataclass(frozen=True)
class Stats:
    """Counts since the client was made; ClientStats says of what."""

    selections: int
    reports_queued: int
    reports_defaulted: int
    reports_applied: int
    reports_duplicate: int
    reports_expired: int
    reports_overtaken: int
    reports_rejected: int
    reports_dropped: int
    reports_pending: int
    delivery_attempts: int
    rewards_clipped: int
    streams_ended: int
    values_encoded: int
    values_missing: int
    values_unknown: int
    values_out_of_bounds: int
