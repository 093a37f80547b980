#!/usr/bin/env python3
"""bandana.Admin of the Python package against a real server, and against what is none.

python_admin_test.py SERVER_BINARY PYTHON_FOLDER
"""

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

SERVER, PACKAGE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, PACKAGE)

import bandana  # noqa: E402

TOKEN = "operator-token-0123456789abcdef"
CONFIG = {"name": "ads", "dimension": 2, "shared": {}, "mode": "NON_PRIVATE"}


@contextlib.contextmanager
def serving(config):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "server.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        arguments = [SERVER, "--config", path, "--data_dir", os.path.join(folder, "data"), "--listen", "127.0.0.1:0",
                     "--http_listen", "127.0.0.1:0", "--api_listen", "127.0.0.1:0"]
        server = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready = server.stdout.readline()
        drained = threading.Thread(target=server.stderr.read, daemon=True)
        drained.start()
        try:
            if " api=" not in ready:
                raise AssertionError(f"not ready: {ready!r}")
            yield "http://" + ready.split(" api=")[1].split()[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            drained.join()
            server.stdout.close()
            server.stderr.close()


@contextlib.contextmanager
def answering(bytes_of_answer):
    """A server that sends these bytes and ends the connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(bytes_of_answer)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


class Administration(unittest.TestCase):
    def test_every_verb_has_a_method(self):
        with open(os.path.join(ROOT, "docs", "http.md"), encoding="utf-8") as page:
            rows = re.findall(r"^\| `POST /v1/[^`]*:VERB` \| (.*) \|$", page.read(), re.M)
        verbs = set(re.findall(r"`(\w+)`", " ".join(rows))) - {"exportDecisions"}  # of bandana-ctl alone
        self.assertIn("putArms", verbs)
        with open(bandana.admin.__file__, encoding="utf-8") as module:
            called = set(re.findall(r'"(?:/v1/admin:)?(\w+)(?:\?model=)?"', module.read()))
        self.assertEqual(verbs - called, set())

    def test_models_are_made_changed_and_taken_away(self):
        with serving("") as url:
            admin = bandana.Admin(url)
            self.assertEqual(admin.models(), [])
            self.assertEqual(admin.create_model(CONFIG)["config"]["name"], "ads")
            with self.assertRaises(bandana.AlreadyExists):
                admin.create_model(CONFIG)
            with self.assertRaisesRegex(bandana.InvalidArgument, "alpha"):
                admin.update_model("ads", {"exploration": {"alpha": -1}})
            admin.update_model("ads", {"exploration": {"alpha": 0.5}})
            self.assertEqual(admin.models()[0]["config"]["exploration"]["alpha"], 0.5)
            admin.update_model("ads", {}, ["exploration.alpha"])
            self.assertNotEqual(admin.models()[0]["config"].get("exploration", {}).get("alpha"), 0.5)
            self.assertEqual(admin.open_epoch("ads"), 2)
            self.assertIn("bytes", admin.checkpoint("ads"))
            self.assertIn("guarantee", {**admin.ledger("ads"), "guarantee": ""})
            admin.confirm_clock("ads")
            with self.assertRaisesRegex(bandana.Error, "graph"):
                admin.put_graph("ads", {"users": 1, "rows": [0], "columns": [0], "weights": [1]})
            admin.put_alias("front", {"ads": 1})
            self.assertEqual([alias["name"] for alias in admin.aliases()], ["front"])
            admin.delete_alias("front")
            admin.delete_model("ads")
            with self.assertRaises(bandana.NotFound):
                admin.stats("ads")

    def test_arms_and_exports_go_up_and_down(self):
        with serving("") as url:
            admin = bandana.Admin(url)
            admin.create_model(CONFIG)
            arms = [{"id": i, "name": f"arm {i}", "features": [i / 5000, 0.5], "fields": {"price": 3.5}} for i in range(1, 2500)]
            self.assertEqual(admin.put_arms("ads", iter(arms)), {"added": 2499, "arms": 2499, "replaced": 0})
            self.assertEqual(list(admin.arms("ads")), arms)
            self.assertEqual(admin.put_arms_csv("ads", "id,features\n1,1 1\n")["replaced"], 1)
            self.assertEqual(admin.remove_arms("ads", [1, 2])["removed"], 2)
            with self.assertRaisesRegex(bandana.InvalidArgument, "line 2"):
                admin.put_arms("ads", [arms[0], {"id": "x"}])
            file = io.BytesIO()
            admin.export_model("ads", file)
            file.seek(0)
            self.assertEqual(admin.import_model("copy", file)["arms"], 2497)

    def test_uploads_are_parted(self):
        parts = list(bandana.admin._parts({"x": "y" * (20 << 20)} for _ in range(5)))
        self.assertEqual([part.count(b"\n") for part in parts], [2, 2, 1])
        self.assertEqual(list(bandana.admin._parts([])), [b""])

    def test_users(self):
        config = 'models { name: "shop" dimension: 1 effects { standard {} user_groups: "town" } mode: NON_PRIVATE }'
        with serving(config) as url:
            admin = bandana.Admin(url)
            admin.put_users("shop", [{"id": "ann", "groups": {"town": "Ulm"}}, {"id": "bob/x"}])
            self.assertEqual([user["id"] for user in admin.users("shop")], ["ann", "bob/x"])
            self.assertEqual(admin.export_user("shop", "ann")["user"]["groups"], {"town": "Ulm"})
            admin.delete_users("shop", ["ann"])
            self.assertEqual([user["id"] for user in admin.users("shop")], ["bob/x"])

    def test_tokens(self):
        import hashlib

        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        with serving(f'access {{ principals {{ name: "ops" roles: ROLE_ADMIN token_sha256: "{digest}" }} }}') as url:
            with self.assertRaises(bandana.Unauthenticated):
                bandana.Admin(url).models()
            with self.assertRaises(bandana.Unauthenticated):
                bandana.Admin(url, token="wrong").models()
            self.assertEqual(bandana.Admin(url, token=lambda: TOKEN).models(), [])

    def test_what_is_no_server_of_ours(self):
        with self.assertRaises(bandana.InvalidArgument):
            bandana.Admin("http://example.org", token="t")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self.assertRaises(bandana.Unavailable):
            bandana.Admin(f"http://127.0.0.1:{port}").models()
        with answering(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>") as url:
            with self.assertRaisesRegex(bandana.Unavailable, "HTTP 502"):
                bandana.Admin(url).models()

    def test_an_answer_that_is_cut_is_no_answer(self):
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        with answering(head + b'9\r\n{"id": 1}\r\n') as url:
            with self.assertRaises(bandana.Unavailable):
                list(bandana.Admin(url).arms("ads"))
        with answering(head + b"4\r\nabcd\r\n") as url:
            with self.assertRaises(bandana.Unavailable):
                bandana.Admin(url).export_model("ads", io.BytesIO())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
