"""The core behind its hooks: rows in SQLite or in memory, calls over HTTP, one alarm, futures for results."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
import weakref
from concurrent.futures import Future

from . import _abi
from ._http import Answer, Call, Callers, Target
from ._rows import Rows
from .errors import Cancelled, DeadlineExceeded, Error, FailedPrecondition, Unavailable, error_of

_SCRUB_SECONDS = 0.25
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _elapsed_ns() -> int:
    return time.clock_gettime_ns(_BOOTTIME)


def _settle(future: Future, value=None, why: Error | None = None) -> None:
    if not future.set_running_or_notify_cancel():
        return  # whoever waited has gone
    if why is not None:
        future.set_exception(why)
    else:
        future.set_result(value)


class Device:
    """All methods are safe from every thread. Hooks run under the lock, on whichever thread has it."""

    def __init__(self, path: str | None, key: bytes):
        self.library = _abi.load()
        self._lock = threading.RLock()
        self._rows = Rows(self.library, path, key) if path is not None else None
        self._failed: Error | None = None
        self._waiting: dict[int, Future] = {}
        self._told_later: list = []  # callbacks of the application, once the lock is left
        self._deliveries: dict[int, object] = {}
        self._tags = itertools.count(1)
        self._targets: dict[str, Target] = {}
        self._wake_at: int | None = None
        self._scrub_at: float | None = None
        self._alarm = threading.Condition(threading.Lock())
        self._stopped = False
        self._callers = Callers(self._answered)
        self._pid = os.getpid()
        self._hooks = _abi.sized(_abi.Hooks)
        # Weak: a device that nobody uses goes, though the library has its hooks.
        self._hooks.call = _abi.CALL(self._weak(Device._on_call))
        self._hooks.commit = _abi.COMMIT(self._weak(Device._on_commit))
        self._hooks.wall_ns = _abi.CLOCK(lambda _: time.time_ns())
        self._hooks.elapsed_ns = _abi.CLOCK(lambda _: _elapsed_ns())
        self._hooks.wake = _abi.WAKE(self._weak(Device._on_wake))
        self._hooks.mark = _abi.MARK(self._weak(Device._on_mark))
        self._hooks.tell = _abi.TELL(self._weak(Device._on_tell))
        handle = ctypes.c_uint32()
        self.library.device_new(self._hooks, handle)
        self.handle = handle.value
        threading.Thread(target=_watch, args=(weakref.ref(self), self._alarm), name="bandana-alarm", daemon=True).start()
        try:
            self.rolled_back = self._start()
        except BaseException:
            self.close()
            raise

    def _weak(self, method):
        me = weakref.ref(self)

        def hook(_, given):
            device = me()
            if device is not None:
                try:
                    method(device, given)
                except Exception as why:  # noqa: BLE001: nothing may leave a hook
                    device._fail(Unavailable(f"device: a hook failed: {type(why).__name__}"))

        return hook

    # --- start and end ---------------------------------------------------------------------------

    def _start(self) -> bool:
        start, position = _abi.sized(_abi.Start), 0
        identity, run, hash_of = b"", 0, b""
        if self._rows is not None:
            for table, cells in self._rows.all():
                memory = _abi.Memory()
                array, count = memory.cells(cells)
                self.library.load(self.handle, table, array, count)
                if table == 0:
                    identity, run, position, hash_of = cells[1], cells[2], cells[4], cells[8]
            mark = self._rows.check_anchor(
                position,
                lambda: {"identity": identity, "position": 0, "run": run, "events": 0, "streams": 0, "ledger_hash": hash_of},
            )
            start.durable = 1
            start.taken_over = int(self._rows.taken_over)
            if mark is not None:
                seen = _abi.sized(_abi.Mark)
                seen.identity[:], seen.ledger_hash[:] = list(mark["identity"]), list(mark["ledger_hash"])
                seen.position, seen.run, seen.events, seen.streams = (mark[name] for name in ("position", "run", "events", "streams"))
                start.seen = ctypes.pointer(seen)
        return bool(self.ask(lambda tag: self.library.start(self.handle, start, tag)).result())

    def close(self) -> None:
        """Ends it. Queued reports stay in the rows."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._fail_waiting(Cancelled("device: it was closed"))
            if os.getpid() == self._pid:  # not the child of a fork, whose files are the parent's
                if self._failed is None:
                    self.library.device_free(self.handle)
                if self._rows is not None:
                    self._rows.close()
        self._callers.stop()
        with self._alarm:
            self._alarm.notify_all()
        self._tell()

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.close()

    def _fail(self, why: Error) -> None:
        """Nobody knows what the rows are any more: the device ends."""
        if self._failed is None:
            self._failed = why
            self.library.device_free(self.handle)
        self._fail_waiting(why)

    def _fail_waiting(self, why: Error) -> None:
        waiting, self._waiting = self._waiting, {}
        self._deliveries.clear()
        for future in waiting.values():
            self._told_later.append(lambda future=future: _settle(future, why=why))

    # --- calls into the core ---------------------------------------------------------------------

    def run(self, call):
        """Runs `call` inside, then tells the application what came of it."""
        if os.getpid() != self._pid:
            raise FailedPrecondition("device: it was made before a fork: make one in this process")
        try:
            with self._lock:
                if self._failed is not None:
                    raise self._failed
                if self._stopped:
                    raise Cancelled("device: it was closed")
                return call()
        finally:
            self._tell()

    def ask(self, call) -> Future:
        """`call` is given a tag; the future has the result of that tag."""
        future: Future = Future()

        def inside() -> None:
            tag = next(self._tags)
            self._waiting[tag] = future
            try:
                call(tag)
            except BaseException:
                self._waiting.pop(tag, None)
                raise

        self.run(inside)
        return future

    def await_delivery(self, done):
        """As an argument of ask(): `done` also hears of the delivery of that tag."""

        def note(tag: int) -> None:
            if done is not None:
                self._deliveries[tag] = done

        return note

    def reach(self, name: str, target: Target) -> None:
        self._targets[name] = target

    def _tell(self) -> None:
        while True:
            with self._lock:
                if not self._told_later:
                    return
                told, self._told_later = self._told_later, []
            for tell in told:
                try:
                    tell()
                except Exception:  # noqa: BLE001: an application's callback
                    import traceback

                    traceback.print_exc()

    # --- hooks -----------------------------------------------------------------------------------

    def _on_call(self, given) -> None:
        call = given.contents
        target = self._targets.get(call.target.text())
        headers = {call.headers[i].name.decode(): call.headers[i].value.decode() for i in range(call.headers_count)}
        if target is None:
            self._give(call.id, Answer(_abi.NO_ANSWER, [], b""))
            return
        deadline = time.monotonic() + call.deadline_ms / 1000
        self._callers.make(
            Call(call.id, call.path.decode(), headers, call.body.get(), deadline, bool(call.wait_for_ready), bool(call.keep_connection), target)
        )

    def _answered(self, call: int, answer: Answer) -> None:
        try:
            self.run(lambda: self._give(call, answer))
        except Error:
            pass  # closed meanwhile

    def _give(self, call: int, answer: Answer) -> None:
        memory, given = _abi.Memory(), _abi.sized(_abi.Answer)
        given.http_status = answer.status
        headers = [_abi.Header(memory.keep(name.encode()), memory.keep(value.encode("latin-1", "replace"))) for name, value in answer.headers]
        given.headers, given.headers_count = memory.array(_abi.Header, headers)
        given.body = memory.bytes(answer.body)
        self.library.answer(self.handle, call, given)

    def _on_commit(self, given) -> None:
        commit = given.contents
        if self._rows is None:
            self.library.committed(self.handle, commit.id, 0)
            return
        changes = []
        for i in range(commit.count):
            change = commit.changes[i]
            changes.append((change.table, bool(change.erased), [change.cells[k].get() for k in range(change.count)]))
        try:
            self._rows.commit(changes)
        except Unavailable as why:
            if self._rows.broken:
                return self._fail(why)
            return self.library.committed(self.handle, commit.id, Unavailable.code)
        self.library.committed(self.handle, commit.id, 0)
        if commit.erased_private:
            with self._alarm:
                if self._scrub_at is None:
                    self._scrub_at = time.monotonic() + _SCRUB_SECONDS
                    self._alarm.notify_all()

    def _on_mark(self, given) -> None:
        if self._rows is None:
            return
        mark = given.contents
        self._rows.write_mark(
            {
                "identity": bytes(mark.identity),
                "position": mark.position,
                "run": mark.run,
                "events": mark.events,
                "streams": mark.streams,
                "ledger_hash": bytes(mark.ledger_hash),
            }
        )

    def _on_wake(self, elapsed_ns: int) -> None:
        with self._alarm:
            self._wake_at = None if elapsed_ns < 0 else elapsed_ns
            self._alarm.notify_all()

    def _on_tell(self, given) -> None:
        from ._values import result_of

        result = given.contents
        if result.kind == _abi.DELIVERED:
            done = self._deliveries.pop(result.tag, None)
            if done is not None:
                value = result.value
                self._told_later.append(lambda: done(value))
            return
        future = self._waiting.pop(result.tag, None)
        if result.kind != _abi.QUEUED or result.code != 0:
            self._deliveries.pop(result.tag, None)
        if future is None:
            return
        if result.code != 0:
            message, distrust = result.message.text(), self._callers.distrust()
            if distrust and result.code in (DeadlineExceeded.code, Unavailable.code):
                message = f"{message} ({distrust})"
            why = error_of(result.code, message)
            self._told_later.append(lambda: _settle(future, why=why))
        else:
            value = result_of(result)
            self._told_later.append(lambda: _settle(future, value))

    # --- the alarm -------------------------------------------------------------------------------

    def next_alarm(self) -> float | None:
        """Seconds until the next; None: no alarm is set. The alarm's lock is held."""
        times = []
        if self._wake_at is not None:
            times.append((self._wake_at - _elapsed_ns()) / 1e9)
        if self._scrub_at is not None:
            times.append(self._scrub_at - time.monotonic())
        return min(times, default=None)

    def alarm_rings(self) -> None:
        with self._alarm:
            wake = self._wake_at is not None and self._wake_at <= _elapsed_ns()
            if wake:
                self._wake_at = None
            scrub = self._scrub_at is not None and self._scrub_at <= time.monotonic()
            if scrub:
                self._scrub_at = None
        try:
            if wake:
                self.run(lambda: self.library.wake(self.handle))
            if scrub and self._rows is not None:
                self.run(self._rows.scrub)
        except Error:
            pass  # closed meanwhile

    @property
    def stopped(self) -> bool:
        return self._stopped or self._failed is not None


def _watch(reference, alarm: threading.Condition) -> None:
    """The alarm's thread. It does not keep the device."""
    while True:
        device = reference()
        if device is None or device.stopped:
            return
        with alarm:
            seconds = device.next_alarm()
            if seconds is None or seconds > 0:
                del device
                # A clock that slept is looked at again in time.
                alarm.wait(10 if seconds is None else min(seconds, 10))
                continue
        device.alarm_rings()
