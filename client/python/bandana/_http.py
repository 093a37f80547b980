"""Makes the device's calls: one POST each, on threads of its own, over connections that are kept where that is allowed."""

from __future__ import annotations

import http.client
import queue
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

from . import _abi
from .errors import InvalidArgument

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ANSWER_BYTES_MAX = 512 << 20
_READY_PAUSE = 0.05  # seconds between two looks for a server

Token = Union[str, Callable[[], str], None]
# Who is believed to sign the server's certificate: a context, or the path of a PEM file of authorities. None: the system's.
Tls = Union[ssl.SSLContext, str, None]


@dataclass(frozen=True)
class Target:
    """A server as a client reaches it."""

    scheme: str
    host: str
    port: int
    token: Token = None
    tls: ssl.SSLContext | None = None

    @staticmethod
    def of(url: str, token: Token = None, tls: Tls = None) -> "Target":
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(f"url: must be http://host:port or https://host:port, got {url!r}")
        if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username:
            raise InvalidArgument(f"url: must have a host and a port alone, got {url!r}")
        if token is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise InvalidArgument("token: is not sent over plaintext to another machine: use https")
        if tls is not None and parts.scheme == "http":
            raise InvalidArgument("tls: is for https")
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as why:
            raise InvalidArgument(f"url: {why}") from why
        return Target(parts.scheme, parts.hostname, port, token, _context(tls))

    def connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.scheme == "https":
            return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls or ssl.create_default_context())
        return http.client.HTTPConnection(self.host, self.port, timeout=seconds)

    def headers(self) -> dict[str, str]:
        token = self.token() if callable(self.token) else self.token
        return {"authorization": f"Bearer {token}"} if token else {}


def _context(tls: Tls) -> ssl.SSLContext | None:
    if not isinstance(tls, str):
        return tls
    try:
        return ssl.create_default_context(cafile=tls)
    except OSError as why:  # of ssl as well
        raise InvalidArgument(f"tls: {tls} is no PEM file of certificates: {getattr(why, 'reason', None) or why.strerror}") from why


@dataclass
class Call:
    id: int
    path: str
    headers: dict[str, str]
    body: bytes
    deadline: float  # by time.monotonic()
    wait_for_ready: bool
    keep_connection: bool
    target: Target


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def _no_answer(call: Call) -> Answer:
    timed_out = time.monotonic() >= call.deadline
    return Answer(_abi.TIMED_OUT if timed_out else _abi.NO_ANSWER, [], b"")


class Callers:
    """Threads that make calls; `answered` hears of each once, on one of them. `stop` ends them."""

    def __init__(self, answered: Callable[[int, Answer], None]):
        self._answered = answered
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._kept: dict[Target, list[http.client.HTTPConnection]] = {}
        self._stopped = False
        self._distrusted: dict[Target, str] = {}

    def distrust(self) -> str:
        """Why servers are not believed to be those that they should be; empty: all are."""
        with self._lock:
            return "; ".join(self._distrusted.values())

    def make(self, call: Call) -> None:
        with self._lock:
            if self._stopped:
                return
            if self._idle == 0:
                self._threads += 1
                threading.Thread(target=self._run, name="bandana-call", daemon=True).start()
            else:
                self._idle -= 1
        self._queue.put(call)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            threads, kept = self._threads, self._kept
            self._kept = {}
        for _ in range(threads):
            self._queue.put(None)
        for connections in kept.values():
            for connection in connections:
                connection.close()

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            try:
                answer = self._call(call)
            except Exception:  # noqa: BLE001: whatever a host's token or TLS does, the call is answered
                answer = _no_answer(call)
            self._answered(call.id, answer)
            with self._lock:
                self._idle += 1

    def _call(self, call: Call) -> Answer:
        while True:
            kept = self._take(call)
            connection = kept or call.target.connection(max(0.001, call.deadline - time.monotonic()))
            try:
                if kept is None:
                    connection.connect()
                    self._note(call.target, None)
            except OSError as why:
                distrusted = isinstance(why, ssl.SSLCertVerificationError)
                if isinstance(why, ssl.SSLError):
                    self._note(call.target, why.verify_message if distrusted else why.reason)
                if not distrusted and call.wait_for_ready and time.monotonic() + _READY_PAUSE < call.deadline:
                    time.sleep(_READY_PAUSE)
                    continue
                return _no_answer(call)
            try:
                return self._post(call, connection)
            except (OSError, http.client.HTTPException):
                connection.close()
                # A server ends connections that were idle; a fresh one says whether it is there.
                if kept is not None and time.monotonic() < call.deadline:
                    continue
                return _no_answer(call)

    def _note(self, target: Target, why: str | None) -> None:
        with self._lock:
            if why is None:
                self._distrusted.pop(target, None)
            else:
                self._distrusted[target] = f"tls: {target.host}:{target.port}: {why}"

    def _post(self, call: Call, connection: http.client.HTTPConnection) -> Answer:
        seconds = max(0.001, call.deadline - time.monotonic())
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        headers = {**call.headers, **call.target.headers()}
        if not call.keep_connection:
            headers["connection"] = "close"
        connection.request("POST", call.path, call.body, headers)
        response = connection.getresponse()
        body = response.read(_ANSWER_BYTES_MAX)
        answer = Answer(response.status, response.getheaders(), body)
        with self._lock:
            if call.keep_connection and not response.will_close and not self._stopped:
                self._kept.setdefault(call.target, []).append(connection)
                return answer
        connection.close()
        return answer

    def _take(self, call: Call) -> http.client.HTTPConnection | None:
        with self._lock:
            kept = self._kept.get(call.target)
            return kept.pop() if kept and call.keep_connection else None
