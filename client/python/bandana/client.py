"""Blocking clients. Every method is safe from every thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

from . import _abi, _values
from ._device import Device
from ._http import Target, Tls, Token
from .errors import InvalidArgument
from .types import Arms, BackendAnswer, Delivery, Leave, ModelInfo, Options, Policy, Readings, Rules, Selection, Spent, Stats, Stream, Values

_SELECT, _SLOTS, _DEFERRED, _ON_DEVICE, _POINT = range(5)


class Store:
    """The durable memory of the device: privacy ledger, open decisions, reports on their way.

    One file, which the C++ SDK may open in turn; beside it lie `path`.anchor, and without `key` the
    store's own key `path`.key. Many clients of a process may share a store; one process at a time
    has the file. `key`: 32 random bytes that only the application has.

    Errors: Unavailable I/O, or somebody else has the file; DataLoss no store, damaged, or its anchor
    is missing; FailedPrecondition another key; InvalidArgument.
    """

    def __init__(self, path: str, key: bytes = b""):
        self.device = Device(str(path), key)

    @classmethod
    def in_memory(cls) -> "Store":
        """Nothing survives the process. Local models refuse it."""
        store = cls.__new__(cls)
        store.device = Device(None, b"")
        return store

    @property
    def rolled_back(self) -> bool:
        """Whether the file was an older copy of itself. Then every user is charged for what it may have forgotten."""
        return self.device.rolled_back

    def close(self) -> None:
        """Ends its clients. Queued reports stay in the file."""
        self.device.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _arms(given) -> Arms:
    if isinstance(given, Arms):
        return given
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return Arms.inline(given)
    raise InvalidArgument("arms: must be Arms, or rows of features")


class Requests:
    """Each call of a client as a future. Client and aio.Client are made of it."""

    def __init__(self, url: str, model: str, store: Store, policy: Policy, leave: Leave, options: Options, token: Token, tls: Tls):
        target = Target.of(url, token, tls)
        self._device, self._library = store.device, store.device.library
        self._device.reach(url, target)
        memory = _abi.Memory()
        given = _values.options_of(self._library, memory, url, model, policy, int(leave), options)
        self.connected: Future = self._device.ask(lambda tag: self._library.connect(self._device.handle, given, tag))
        self._closed = False

    @property
    def _client(self) -> int:
        return self.connected.result()

    def _ask(self, function, *arguments) -> Future:
        return self._device.ask(lambda tag: function(self._device.handle, self._client, *arguments, tag))

    def _select(self, by: int, user: str, arms, top_k=1, shown=0, slots=0, context=None, rules=None) -> Future:
        memory, request = _abi.Memory(), _abi.sized(_abi.Request)
        request.by, request.top_k, request.shown, request.slots = by, top_k, shown, slots
        request.user = memory.bytes(user)
        if by != _POINT:
            request.arms = _values.arms_of(memory, _arms(arms), context, rules)
        return self._ask(self._library.select, request)

    def select(self, user, arms, top_k, shown, context, rules) -> Future:
        return self._select(_SELECT, user, arms, top_k, shown, context=context, rules=rules)

    def select_deferred(self, user, arms, top_k, shown, context, rules) -> Future:
        return self._select(_DEFERRED, user, arms, top_k, shown, context=context, rules=rules)

    def select_on_device(self, user, arms, top_k, shown, context) -> Future:
        return self._select(_ON_DEVICE, user, arms, top_k, shown, context=context)

    def select_slots(self, user, arms, slots, context, rules) -> Future:
        return self._select(_SLOTS, user, arms, slots=slots, context=context, rules=rules)

    def select_point(self, user) -> Future:
        return self._select(_POINT, user, None)

    def activate(self, selection) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.activate, memory.keep(memory.bytes(_handle(selection))))

    def adopt(self, user, answer) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.adopt, memory.keep(memory.bytes(user)), _values.backend_answer_of(memory, answer))

    def report(self, selection, reward, shown, done) -> Future:
        memory, report = _abi.Memory(), _abi.sized(_abi.Report)
        report.handle = memory.bytes(_handle(selection))
        if reward is not None and not isinstance(reward, (int, float)):
            raise InvalidArgument("reward: must be a number or None")
        report.reward = math.nan if reward is None else float(reward)
        report.has_shown, report.shown = int(shown is not None), shown or 0
        device = self._device
        note = device.await_delivery(None if done is None else lambda code: done(Delivery(code)))

        def ask(tag: int) -> None:
            note(tag)
            self._library.report(device.handle, self._client, report, tag)

        return device.ask(ask)

    def refresh_posterior(self, user) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.refresh_posterior, memory.keep(memory.bytes(user)))

    def flush(self) -> Future:
        return self._ask(self._library.flush)

    def spent(self, user) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.read_spent, memory.keep(memory.bytes(user)))

    def readings(self, user, delta) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.read_ledger, memory.keep(memory.bytes(user)), delta)

    def streams(self, user) -> Future:
        memory = _abi.Memory()
        return self._ask(self._library.read_streams, memory.keep(memory.bytes(user)))

    def begin(self) -> None:
        self._device.run(lambda: self._library.begin(self._device.handle, self._client))

    def stats(self) -> Stats:
        stats = _abi.sized(_abi.Stats)
        self._device.run(lambda: self._library.get_stats(self._device.handle, self._client, stats))
        return _values.stats_of(stats)

    def model(self) -> ModelInfo:
        info = _abi.sized(_abi.ModelInfo)

        def read() -> ModelInfo:
            self._library.get_model(self._device.handle, self._client, info)
            return _values.model_of(info)

        return self._device.run(read)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._device.stopped or not self.connected.done() or self.connected.exception() is not None:
            return
        self._device.run(lambda: self._library.close(self._device.handle, self._client))


def _handle(selection: Selection | bytes) -> bytes:
    return selection.handle if isinstance(selection, Selection) else selection


class Client:
    """One model's client. Make one per model and process, and share it.

    `url` is the server's api_listen. `store` is a Store, or a path of which the client then has the
    only Store. `token`: a bearer token or a function that returns one. `tls`, for
    https: the path of a PEM file of the authorities that may have signed the server's certificate,
    or an ssl.SSLContext; by default the system's authorities. The methods are those of the C++ Client (bandana/client.h), whose comments hold.

    Errors: InvalidArgument; NotFound no such model; FailedPrecondition the model is weaker than the
    policy (the message names the point), or is local and the store is not durable; Unavailable no
    server within options.connect_timeout.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        store: Store | str,
        policy: Policy = Policy(),
        leave: Leave = Leave.WHEN_DUE,
        options: Options = Options(),
        token: Token = None,
        tls: Tls = None,
    ):
        self._own = None if isinstance(store, Store) else Store(store)
        try:
            self._requests = Requests(url, model, self._own or store, policy, leave, options, token, tls)  # type: ignore[arg-type]
            self._requests.connected.result()
        except BaseException:
            if self._own is not None:
                self._own.close()
            raise
        self.model: ModelInfo = self._requests.model()

    def select(
        self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None, rules: Rules | None = None
    ) -> Selection:
        """Ranks arms: Arms, or rows of features. With a reward window the decision is durable and paid for when it returns."""
        return self._requests.select(user, arms, top_k, shown, context, rules).result()[0]

    def select_slots(self, user: str, arms, slots: int, *, context: Values | None = None, rules: Rules | None = None) -> list[Selection]:
        """Arms that are shown at once, each with a reward of its own: `slots` events."""
        return self._requests.select_slots(user, arms, slots, context, rules).result()

    def select_deferred(
        self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None, rules: Rules | None = None
    ) -> Selection:
        """A decision that is no event until activate()."""
        return self._requests.select_deferred(user, arms, top_k, shown, context, rules).result()[0]

    def activate(self, selection: Selection | bytes) -> None:
        """Call it when the arm is shown, before anybody can react."""
        self._requests.activate(selection).result()

    def adopt(self, user: str, answer: BackendAnswer) -> Selection:
        """A decision that a backend fetched becomes this device's and counts from now on, once per store. When its page or screen is loaded,
        and never because of a reaction. Makes no call. Local models with a reward window."""
        return self._requests.adopt(user, answer).result()[0]

    def select_on_device(self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None) -> Selection:
        """Ranks inline or named arms by the posterior that refresh_posterior() fetched."""
        return self._requests.select_on_device(user, arms, top_k, shown, context).result()[0]

    def refresh_posterior(self, user: str) -> bool:
        """Whether it changed."""
        return self._requests.refresh_posterior(user).result()

    def select_point(self, user: str) -> Selection:
        """The next action of a model of points."""
        return self._requests.select_point(user).result()[0]

    def report(
        self,
        selection: Selection | bytes,
        reward: float | None = None,
        *,
        shown: int | None = None,
        done: Callable[[Delivery], None] | None = None,
    ) -> None:
        """Takes the reaction; returns once it is durable. None: none came. `done` hears of the delivery, on a thread of the library."""
        self._requests.report(selection, reward, shown, done).result()

    def begin(self) -> None:
        """The application comes to the front (Leave.AT_START)."""
        self._requests.begin()

    def flush(self, timeout: float) -> bool:
        """Waits until every report that is due has been answered; False after `timeout` seconds."""
        try:
            self._requests.flush().result(timeout)
        except FutureTimeout:
            return False
        return True

    def spent(self, user: str) -> Spent:
        return self._requests.spent(user).result()

    def readings(self, user: str, delta: float = 0.0) -> Readings:
        return self._requests.readings(user, delta).result()

    def streams(self, user: str) -> list[Stream]:
        return self._requests.streams(user).result()

    def stats(self) -> Stats:
        return self._requests.stats()

    def close(self) -> None:
        """Ends delivery. Queued reports stay in the store, and leave with the next client."""
        self._requests.close()
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()


