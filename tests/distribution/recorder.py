"""A relay between hosts and a server that keeps what hosts said, and the reports in it: HTTP/1 and gRPC over HTTP/2, both without TLS."""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reference"))
import wire  # noqa: E402

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SUBMIT = "/bandana.v1.Recommender/Submit"


class Recorder:
    """Listens on loopback; every connection goes on to `server`, "IPv4:PORT"."""

    def __init__(self, server):
        host, port = server.rsplit(":", 1)
        self._server = (host, int(port))
        self._said = []  # one bytearray a connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(self._server)
            kept = bytearray()
            self._said.append(kept)
            for pair in ((client, server, kept), (server, client, None)):
                threading.Thread(target=self._relay, args=pair, daemon=True).start()

    @staticmethod
    def _relay(source, sink, kept):
        try:
            while part := source.recv(1 << 16):
                if kept is not None:
                    kept += part
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either side has gone

    def reports(self, model):
        """(token, output) of each report of the model, in the order of connections; a report that was sent twice is there twice."""
        found = []
        for kept in list(self._said):
            for message in submits(bytes(kept)):
                if wire.one_of(message, 1) == model.encode():
                    found += [(wire.one_of(report, 1), wire.one_of(report, 3, 0)) for report in wire.all_of(message, 3)]
        return found


def submits(said):
    """The messages of Submit in what one connection said."""
    return grpc_submits(said[len(PREFACE):]) if said.startswith(PREFACE) else http_submits(said)


def http_submits(said):
    found, at = [], 0
    while at < len(said):
        end = said.index(b"\r\n\r\n", at)
        lines = said[at:end].decode().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        at = end + 4
        if headers.get("transfer-encoding") == "chunked":
            raise AssertionError("hosts say how long their requests are")
        size = int(headers.get("content-length", 0))
        if lines[0].split(" ")[1] == SUBMIT:
            found.append(unframed(said[at:at + size]))
        at += size
    return found


def grpc_submits(said):
    """Headers are compressed, so the call is known by its message: a model, the 32 bytes of a policy hash, and reports with tokens."""
    streams, at = {}, 0
    while at + 9 <= len(said):
        size, kind, flags = int.from_bytes(said[at:at + 3], "big"), said[at + 3], said[at + 4]
        stream = int.from_bytes(said[at + 5:at + 9], "big")
        content = said[at + 9:at + 9 + size]
        at += 9 + size
        if kind == 0:
            padding = content[0] + 1 if flags & 8 else 0
            streams.setdefault(stream, bytearray()).extend(content[1:len(content) - padding + 1] if padding else content)
    found = []
    for content in streams.values():
        message = unframed(bytes(content))
        parts = list(wire.fields(message))
        if {number for number, _ in parts} == {1, 2, 3} and all(len(value) == 32 for number, value in parts if number == 2):
            found.append(message)
    return found


def unframed(body):
    """The message of a frame of gRPC."""
    if body[0] != 0 or int.from_bytes(body[1:5], "big") != len(body) - 5:
        raise AssertionError("not one message without compression")
    return body[5:]
