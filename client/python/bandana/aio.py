"""The client for asyncio. Nothing blocks the loop but opening a Store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ._http import Tls, Token
from .client import Requests, Store
from .types import BackendAnswer, Delivery, Leave, ModelInfo, Options, Policy, Readings, Rules, Selection, Spent, Stats, Stream, Values


class Client:
    """As bandana.Client, by `await Client.connect(...)`."""

    def __init__(self, requests: Requests, own: Store | None):
        self._requests, self._own = requests, own
        self.model: ModelInfo = requests.model()

    @classmethod
    async def connect(
        cls,
        url: str,
        model: str,
        *,
        store: Store | str,
        policy: Policy = Policy(),
        leave: Leave = Leave.WHEN_DUE,
        options: Options = Options(),
        token: Token = None,
        tls: Tls = None,
    ) -> "Client":
        own = None if isinstance(store, Store) else await asyncio.to_thread(Store, store)
        try:
            requests = Requests(url, model, own or store, policy, leave, options, token, tls)  # type: ignore[arg-type]
            await asyncio.wrap_future(requests.connected)
        except BaseException:
            if own is not None:
                own.close()
            raise
        return cls(requests, own)

    async def select(
        self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None, rules: Rules | None = None
    ) -> Selection:
        return (await asyncio.wrap_future(self._requests.select(user, arms, top_k, shown, context, rules)))[0]

    async def select_slots(self, user: str, arms, slots: int, *, context: Values | None = None, rules: Rules | None = None) -> list[Selection]:
        return await asyncio.wrap_future(self._requests.select_slots(user, arms, slots, context, rules))

    async def select_deferred(
        self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None, rules: Rules | None = None
    ) -> Selection:
        return (await asyncio.wrap_future(self._requests.select_deferred(user, arms, top_k, shown, context, rules)))[0]

    async def activate(self, selection: Selection | bytes) -> None:
        await asyncio.wrap_future(self._requests.activate(selection))

    async def adopt(self, user: str, answer: BackendAnswer) -> Selection:
        return (await asyncio.wrap_future(self._requests.adopt(user, answer)))[0]

    async def select_on_device(self, user: str, arms, top_k: int = 1, shown: int = 0, *, context: Values | None = None) -> Selection:
        return (await asyncio.wrap_future(self._requests.select_on_device(user, arms, top_k, shown, context)))[0]

    async def refresh_posterior(self, user: str) -> bool:
        return await asyncio.wrap_future(self._requests.refresh_posterior(user))

    async def select_point(self, user: str) -> Selection:
        return (await asyncio.wrap_future(self._requests.select_point(user)))[0]

    async def report(
        self,
        selection: Selection | bytes,
        reward: float | None = None,
        *,
        shown: int | None = None,
        done: Callable[[Delivery], None] | None = None,
    ) -> None:
        """A task that is cancelled has reported all the same. `done` runs on a thread of the library."""
        await asyncio.wrap_future(self._requests.report(selection, reward, shown, done))

    def begin(self) -> None:
        self._requests.begin()

    async def flush(self, timeout: float) -> bool:
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._requests.flush()), timeout)
        except asyncio.TimeoutError:
            return False
        return True

    async def spent(self, user: str) -> Spent:
        return await asyncio.wrap_future(self._requests.spent(user))

    async def readings(self, user: str, delta: float = 0.0) -> Readings:
        return await asyncio.wrap_future(self._requests.readings(user, delta))

    async def streams(self, user: str) -> list[Stream]:
        return await asyncio.wrap_future(self._requests.streams(user))

    def stats(self) -> Stats:
        return self._requests.stats()

    async def close(self) -> None:
        self._requests.close()
        if self._own is not None:
            await asyncio.to_thread(self._own.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_) -> None:
        await self.close()
