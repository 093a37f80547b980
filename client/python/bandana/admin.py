"""Administration of a server, by HTTP. It needs no library: whoever only administers may use this file's class alone.

    admin = bandana.Admin("http://127.0.0.1:7073", token=lambda: open("admin.token").read().strip())
    admin.create_model({"name": "ads", "dimension": 2, "shared": {}, "mode": "NON_PRIVATE"})
    admin.put_arms("ads", [{"id": 7, "name": "Boots", "features": [0.1, 0.9]}])

Configurations, arms, users and answers are dicts, as protobuf's JSON mapping writes the messages of admin.proto:
64-bit integers come as strings. docs/http.md#administration is the reference.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ._http import Target, Tls, Token
from .errors import Error, Unavailable, error_of

_JSON, _LINES, _CSV, _BYTES = "application/json", "application/x-ndjson", "text/csv", "application/octet-stream"
# The server takes 64 MiB at a time.
_UPLOAD_BYTES = 48 << 20
_PART_BYTES = 64 << 10


class Admin:
    """A server's operator. Every method is a call over a connection of its own, and safe from every thread.

    `url`: of the listener that has Admin: `api_listen`, or `admin_listen` where that is set. `seconds`: the time of a
    call. Errors: those of bandana.errors, with the server's text; Unavailable nobody answers.
    """

    def __init__(self, url: str, token: Token = None, tls: Tls = None, seconds: float = 60.0):
        self._target = Target.of(url, token, tls)
        self._seconds = seconds

    # Models and aliases.

    def models(self) -> list[dict]:
        """Each with `model`, `config`, `nodes`, `arms`, `instanceId` and `epoch`."""
        return self._server("listModels").get("models", [])

    def create_model(self, config: dict) -> dict:
        """Makes and serves a model. Errors: AlreadyExists; InvalidArgument names the field of `config`."""
        return self._server("createModel", {"config": config})

    def update_model(self, name: str, config: dict, mask: Iterable[str] = ()) -> dict:
        """Changes the fields that `config` has, or those of `mask`, with their defaults where `config` lacks them."""
        body: dict[str, Any] = {"config": config}
        if paths := ",".join(mask):
            body["updateMask"] = paths
        return self._model(name, "update", body)

    def delete_model(self, name: str) -> None:
        self._model(name, "delete")

    def aliases(self) -> list[dict]:
        return self._server("listAliases").get("aliases", [])

    def put_alias(self, name: str, weights: dict[str, int]) -> dict:
        """Lets a name stand for models, which share its users by these weights."""
        shares = [{"model": model, "weight": weight} for model, weight in weights.items()]
        return self._server("putAlias", {"alias": {"name": name, "shares": shares}})

    def delete_alias(self, name: str) -> None:
        self._server("deleteAlias", {"name": name})

    # Arms and users.

    def put_arms(self, model: str, arms: Iterable[dict]) -> dict:
        """Adds or replaces arms. Up to 48 MiB of them are one change; more are several, in order.

        Answers `added`, `replaced` (over all changes) and `arms`, as many as there are afterwards.
        """
        return self._put(model, "putArms", arms)

    def put_arms_csv(self, model: str, text: str) -> dict:
        """As put_arms, of a table with a header (docs/http.md#administration), in one change."""
        return self._json(self._path(model, "putArms"), text.encode(), _CSV)

    def arms(self, model: str) -> Iterator[dict]:
        """The catalogue, as it is sent."""
        return self._lines(self._path(model, "listArms"))

    def remove_arms(self, model: str, ids: Iterable[int]) -> dict:
        return self._model(model, "removeArms", {"ids": list(ids)})

    def put_graph(self, model: str, graph: dict) -> int:
        """Replaces the graph of users, and says how many nodes it has."""
        return int(self._model(model, "putGraph", {"graph": graph})["nodes"])

    def put_users(self, model: str, users: Iterable[dict]) -> dict:
        """Adds or replaces users, with their groups or nodes; changes as those of put_arms."""
        return self._put(model, "putUsers", users)

    def users(self, model: str) -> Iterator[dict]:
        return self._lines(self._path(model, "listUsers"))

    def delete_users(self, model: str, ids: Iterable[str]) -> dict:
        """Forgets 1 to 1000 users."""
        return self._model(model, "deleteUsers", {"ids": list(ids)})

    def export_user(self, model: str, user: str) -> dict:
        """All that is kept of one user. Errors: NotFound."""
        return self._model(model, "exportUser", {"id": user})

    # Statistics, privacy, epochs, files.

    def stats(self, model: str) -> dict:
        return self._model(model, "stats")

    def ledger(self, model: str) -> dict:
        return self._model(model, "ledger")

    def open_epoch(self, model: str) -> int:
        """Closes the epoch, and says which one is open now."""
        return int(self._model(model, "openEpoch")["epoch"])

    def confirm_clock(self, model: str) -> None:
        """The clock that the model doubts is right."""
        self._model(model, "confirmClock")

    def checkpoint(self, model: str) -> dict:
        return self._model(model, "checkpoint")

    def export_model(self, model: str, file: BinaryIO) -> None:
        """Writes configuration and state; import_model reads them. Errors: Unavailable it was cut; delete the file."""
        with self._call(self._path(model, "export"), b"", _JSON) as response:
            self._read(shutil.copyfileobj, response, file)

    def import_model(self, name: str, file: BinaryIO) -> dict:
        """Makes a model of an export of up to 64 MiB; bandana-ctl takes any."""
        path = "/v1/admin:import?model=" + urllib.parse.quote(name, safe="")
        return self._json(path, file.read(), _BYTES)

    # How.

    @staticmethod
    def _path(model: str, verb: str) -> str:
        return f"/v1/models/{urllib.parse.quote(model, safe='')}:{verb}"

    def _server(self, verb: str, body: dict | None = None) -> dict:
        return self._json("/v1/admin:" + verb, json.dumps(body or {}).encode(), _JSON)

    def _model(self, model: str, verb: str, body: dict | None = None) -> dict:
        return self._json(self._path(model, verb), json.dumps(body or {}).encode(), _JSON)

    def _put(self, model: str, verb: str, rows: Iterable[dict]) -> dict:
        total: dict[str, int] = {}
        for part in _parts(rows):
            answer = self._json(self._path(model, verb), part, _LINES)
            for count in ("added", "replaced"):
                answer[count] = answer.get(count, 0) + total.get(count, 0)
            total = answer
        return total

    def _json(self, path: str, body: bytes, kind: str) -> dict:
        with self._call(path, body, kind) as response:
            return json.loads(self._read(response.read))

    def _lines(self, path: str) -> Iterator[dict]:
        with self._call(path, b"", _JSON, accept=_LINES) as response:
            rest = b""
            # readline takes a body that was cut for whole.
            while part := self._read(response.read, _PART_BYTES):
                *lines, rest = (rest + part).split(b"\n")
                yield from map(json.loads, lines)

    @contextlib.contextmanager
    def _call(self, path: str, body: bytes, kind: str, accept: str = _JSON) -> Iterator[http.client.HTTPResponse]:
        connection = self._target.connection(self._seconds)
        headers = {"content-type": kind, "accept": accept, "connection": "close", **self._target.headers()}

        def ask() -> http.client.HTTPResponse:
            connection.request("POST", path, body, headers)
            return connection.getresponse()

        with contextlib.closing(connection):
            response = self._read(ask)
            with response:
                if response.status != 200:
                    raise self._error(path, response)
                yield response

    def _error(self, path: str, response: http.client.HTTPResponse) -> Error:
        try:
            said = json.loads(self._read(response.read))
            return error_of(said["code"], said["message"])
        except (ValueError, KeyError, TypeError):
            return Unavailable(f"{path}: no answer of a bandana server, HTTP {response.status}")

    def _read(self, function, *arguments):
        try:
            return function(*arguments)
        except (OSError, http.client.HTTPException) as why:
            raise Unavailable(f"{self._target.host}:{self._target.port}: {why}") from why


def _parts(rows: Iterable[dict]) -> Iterator[bytes]:
    """JSON Lines in uploads; one without rows, so that the server says what it thinks of none."""
    part: list[bytes] = []
    size = 0
    for row in rows:
        line = json.dumps(row).encode() + b"\n"
        if part and size + len(line) > _UPLOAD_BYTES:
            yield b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    yield b"".join(part)
