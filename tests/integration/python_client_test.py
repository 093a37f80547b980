#!/usr/bin/env python3
"""The Python package against a real server: what it promises, and bad input in its own terms.

Usage: python_client_test.py SERVER PACKAGE_FOLDER QUICKSTART SOURCE_FOLDER [TEST...].
"""

import asyncio
import ctypes
import dataclasses
import os
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402
import sdk_server  # noqa: E402

SERVER, PACKAGE, QUICKSTART, SOURCE = sys.argv[1:5]
sys.path.insert(0, PACKAGE)
import bandana  # noqa: E402
from bandana import _abi, aio  # noqa: E402

ROWS = [[1.0, 0.0], [0.0, 1.0]]
QUICK = processes.read(f"{SOURCE}/examples/quickstart/server.textproto")


def content(path):
    with open(path, "rb") as file:
        return file.read()


class PythonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.children = processes.Children()
        cls.server_folder = tempfile.TemporaryDirectory()
        cls.server = sdk_server.start(SERVER, cls.server_folder.name, cls.children)
        cls.url = cls.server.url

    @classmethod
    def tearDownClass(cls):
        cls.children.close()
        cls.server_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/device.db"

    def client(self, model, store=None, **options):
        client = bandana.Client(self.url, model, store=store or self.path, **options)
        self.addCleanup(client.close)
        return client

    def raw(self, model="raw"):
        return self.client(model, bandana.Store.in_memory(), policy=bandana.Policy.accept_anything())

    # --- what it does ----------------------------------------------------------------------------

    def test_a_window_reports_reactions_and_their_absence_alike(self):
        client = self.client("window")
        self.assertTrue(client.model.local)
        self.assertEqual((client.model.epsilon, client.model.reward_window), (2.0, 1.0))
        delivered = []
        shown = client.select("ann", ROWS)
        self.assertEqual(len(shown.arms), 1)
        client.select("ann", ROWS)
        client.report(shown, 1.0, done=delivered.append)
        self.assertEqual(client.stats().delivery_attempts, 0)
        processes.wait_for("both are applied", lambda: client.stats().reports_applied == 2)
        stats = client.stats()
        self.assertEqual((stats.reports_queued, stats.reports_defaulted), (2, 1))
        processes.wait_for("the delivery is told", lambda: delivered == [bandana.Delivery.APPLIED], 5)
        self.assertEqual(client.spent("ann"), bandana.Spent(2.0, 0.0, 2, 0, 4.0))
        self.assertAlmostEqual(client.readings("ann").epsilon_pure, 4.0)
        self.assertEqual(client.streams("ann"), [])

    def test_every_kind_of_decision(self):
        client = self.client("long")
        slots = client.select_slots("bob", ROWS, 2)
        self.assertEqual(sorted(slot.arms[0].position for slot in slots), [0, 1])
        self.assertEqual(client.spent("bob").events, 2)
        deferred = client.select_deferred("bob", ROWS, 2, 1)
        self.assertEqual(client.spent("bob").events, 2)
        with self.assertRaisesRegex(bandana.FailedPrecondition, "activate|deferred"):
            client.report(deferred, 1.0)
        client.activate(deferred)
        client.report(deferred, 1.0)
        self.assertEqual(client.spent("bob").events, 3)
        effects = self.client("effects", client._own)
        self.assertTrue(effects.refresh_posterior("bob"))
        here = effects.select_on_device("bob", bandana.Arms.inline(ROWS, [3, 4]), 2)
        effects.report(here.handle, 0.5)
        self.assertTrue(effects.flush(20))
        self.assertEqual(effects.stats().reports_applied, 1)

    def backend_answer(self, model, user, **changed):
        """As a backend does while it makes a page."""
        return bandana.BackendAnswer(**{**sdk_server.backend_answer(self.url, model, user, ROWS), **changed})

    def test_a_decision_that_a_backend_fetched_is_adopted_once(self):
        for model in ("window", "centred"):
            with self.subTest(model), bandana.Client(self.url, model, store=f"{self.path}.{model}") as client:
                answer = self.backend_answer(model, "ann")
                shown = client.adopt("ann", answer)
                self.assertEqual([arm.position for arm in shown.arms], answer.selection["positions"])
                self.assertEqual(client.spent("ann").events, 1)
                client.report(shown, 1.0)
                with self.assertRaisesRegex(bandana.FailedPrecondition, "answer.token was adopted before"):
                    client.adopt("ann", answer)
                processes.wait_for("it is applied", lambda: client.stats().reports_applied == 1)
                stats = client.stats()
                self.assertEqual((stats.selections, stats.reports_defaulted, stats.reports_pending), (1, 0, 0))

    def test_an_answer_is_refused_by_its_field(self):
        client = self.client("window")
        answer = self.backend_answer("window", "ann")
        selection = answer.selection
        for changed, pattern in (
            ({"user": "bob"}, "answer.user is another user"),
            ({"user": 1}, "answer.user: must be a text"),
            ({"model": "long"}, "answer.model must be window"),
            ({"policy_hash": "AAAA"}, "answer.policy_hash is not that of the policy"),
            ({"policy_hash": "?"}, "answer.policy_hash: must be base64"),
            ({"decided_ms": "now"}, "answer.decided_ms: must be a whole number"),
            ({"decided_ms": 2**70}, "answer.decided_ms: must have at most 63 bits"),
            ({"shown": 2}, r"answer.shown must be in \[0, 2\)"),
            ({"selection": None}, "answer: must be a BackendAnswer"),
            ({"selection": {**selection, "token": None}}, "answer.selection.token: must be base64"),
            ({"selection": {**selection, "scores": [1]}}, "answer.selection: its lists must have 2 entries"),
            ({"selection": {**selection, "means": ["x", 1]}}, "answer.selection.means: must be a list of numbers"),
            ({"selection": {**selection, "rewardWindows": [0, 1]}}, "answer.reward_windows must have 0 numbers"),
        ):
            with self.assertRaisesRegex(bandana.InvalidArgument, pattern):
                client.adopt("ann", dataclasses.replace(answer, **changed))
        with self.assertRaisesRegex(bandana.FailedPrecondition, "the decision is too old"):
            client.adopt("ann", dataclasses.replace(answer, decided_ms=answer.decided_ms - 90_000_000))
        self.assertEqual(client.spent("ann").events, 0)
        client.adopt("ann", answer)

    def test_arms_by_name_with_a_context(self):
        client = self.raw("names")
        arms = bandana.Arms.named({"cheap": {"price": 1, "kind": "a"}, "dear": {"price": 9.5, "kind": "b"}})
        shown = client.select("cleo", arms, 2, context={"evening": True})
        self.assertEqual(sorted(arm.name for arm in shown.arms), ["cheap", "dear"])
        self.assertEqual(shown.notes, ())
        with self.assertRaisesRegex(bandana.InvalidArgument, 'price: must be a number, got "x"'):
            client.select("cleo", bandana.Arms.named({"odd": {"price": "x"}}))
        client.report(shown, 0.25)
        self.assertTrue(client.flush(20))

    def test_asyncio(self):
        async def run():
            async with await aio.Client.connect(self.url, "now", store=self.path) as client:
                shown = await asyncio.gather(*(client.select(f"u{i}", ROWS) for i in range(20)))
                await asyncio.gather(*(client.report(one, 0.5) for one in shown))
                self.assertTrue(await client.flush(20))
                with self.assertRaises(bandana.InvalidArgument):
                    await client.select("u", [[1.0]])
                cancelled = asyncio.ensure_future(client.select("u", ROWS))
                await asyncio.sleep(0)
                cancelled.cancel()
                await client.select("u", ROWS)
                return client.stats().reports_applied

        self.assertEqual(asyncio.run(run()), 20)

    def test_asyncio_adopts(self):
        async def run():
            async with await aio.Client.connect(self.url, "window", store=self.path) as client:
                answer = self.backend_answer("window", "ann")
                await client.report(await client.adopt("ann", answer), 1.0)
                with self.assertRaisesRegex(bandana.FailedPrecondition, "answer.token was adopted before"):
                    await client.adopt("ann", answer)
                return (await client.spent("ann")).events

        self.assertEqual(asyncio.run(run()), 1)

    def test_threads_share_a_client(self):
        client, failed = self.client("now"), []

        def work(user):
            try:
                for _ in range(25):
                    client.report(client.select(user, ROWS), 1.0)
            except bandana.Error as why:
                failed.append(why)

        threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertTrue(client.flush(20))
        self.assertEqual(client.stats().reports_applied, 100)

    def test_at_starts_nothing_leaves_because_of_a_reaction(self):
        with bandana.Client(self.url, "window", store=self.path, leave=bandana.Leave.AT_START) as client:
            client.report(client.select("dora", ROWS), 1.0)
            time.sleep(1.5)
            self.assertEqual(client.stats().delivery_attempts, 0)
            client.begin()
            processes.wait_for("the start sends it", lambda: client.stats().reports_applied == 1)

    # --- the store -------------------------------------------------------------------------------

    def test_reports_survive_a_kill_and_leave_once(self):
        code = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1]); import bandana\n"
            "c = bandana.Client(sys.argv[2], 'long', store=sys.argv[3])\n"
            "for i in range(3): c.report(c.select('eve', [[1.0, 0.0]]), 1.0)\n"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )
        done = subprocess.run([sys.executable, "-c", code, PACKAGE, self.url, self.path], check=False, env=os.environ)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        client = self.client("long")
        self.assertFalse(client._own.rolled_back)
        self.assertEqual(client.spent("eve").events, 3)
        self.assertEqual(client.stats().reports_pending, 3)

    def test_one_process_at_a_time_has_the_file(self):
        self.client("now")
        with self.assertRaisesRegex(bandana.Unavailable, "owned by another Store of this process"):
            bandana.Store(self.path)
        code = "import sys; sys.path.insert(0, sys.argv[1]); import bandana\ntry: bandana.Store(sys.argv[2])\nexcept bandana.Unavailable as why: print(why)"
        done = subprocess.run([sys.executable, "-c", code, PACKAGE, self.path], check=True, capture_output=True, text=True)
        self.assertIn("owned by another process", done.stdout)

    def test_a_process_that_waited_for_the_file_is_not_noticed(self):
        """It knows the model without asking: what it does first must not tell when the other one ended."""
        nobody = f"http://127.0.0.1:{processes.free_port()}"
        options = bandana.Options(connect_timeout=0.3)

        def connect(url):
            with bandana.Client(url, "window", store=self.path, leave=bandana.Leave.AT_START, options=options):
                pass

        connect(self.url)
        with self.assertRaises(bandana.Unavailable):
            connect(nobody)
        with bandana.Store(self.path), self.assertRaises(bandana.Unavailable):
            bandana.Store(self.path)
        connect(nobody)
        with self.assertRaises(bandana.Unavailable):
            connect(nobody)

    def test_the_file_is_the_cpp_sdks(self):
        with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
            server = sdk_server.start(SERVER, folder, children, QUICK)
            model = re.search(r'name: "(.*?)"', QUICK).group(1)

            def quickstart():
                done = subprocess.run([QUICKSTART, server.grpc, self.path], check=False, capture_output=True, text=True, timeout=60)
                return done.stdout + done.stderr

            self.assertIn("100 reports applied", quickstart())
            with bandana.Client(server.url, model, store=self.path) as client:
                self.assertFalse(client._own.rolled_back)
                before = client.spent("user-1").events
                rows = [[0.1] * client.model.dimension]
                for _ in range(5):
                    client.report(client.select("user-1", rows), 1.0)
                self.assertEqual(client.spent("user-1").events, before + 5)
            # The reactions of one, drawn and sent by the other.
            self.assertIn("105 reports applied, 0 of them by default\nepsilon 2 per event, 205 events", quickstart())
            with bandana.Store(self.path) as store:
                self.assertFalse(store.rolled_back)

    def test_the_block_of_the_page_makes_a_private_report(self):
        block = re.search(r"```python\n(.*?)```", processes.read(f"{SOURCE}/docs/sdk.md"), re.S).group(1)
        with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
            url = sdk_server.start(SERVER, folder, children, QUICK).url
            code = f"import sys; sys.path.insert(0, {os.path.abspath(PACKAGE)!r})\n" + block.replace("http://127.0.0.1:7073", url)
            done = subprocess.run([sys.executable, "-c", code], check=False, cwd=folder, capture_output=True, text=True, timeout=60)
            self.assertIn("reports_applied=1,", done.stdout, done.stderr)

    def test_an_older_copy_is_noticed_and_charged(self):
        with bandana.Client(self.url, "long", store=self.path) as client:
            client.select("fay", ROWS)
        files = {name: content(name) for name in (self.path, self.path + ".key")}
        with bandana.Client(self.url, "long", store=self.path) as client:
            for _ in range(3):
                client.select("fay", ROWS)
        for name, older in files.items():
            with open(name, "wb") as file:
                file.write(older)
        client = self.client("long")
        self.assertTrue(client._own.rolled_back)
        self.assertGreaterEqual(client.spent("fay").events, 4)

    def test_damage_is_refused_and_the_file_stays(self):
        with bandana.Client(self.url, "long", store=self.path) as client:
            client.select("gus", ROWS)

        def refused(kind, pattern, **options):
            before = content(self.path)
            with self.assertRaisesRegex(kind, pattern):
                bandana.Store(self.path, **options)
            self.assertEqual(content(self.path), before)

        refused(bandana.FailedPrecondition, "made without a key", key=b"k" * 32)
        refused(bandana.InvalidArgument, "key must have 32 bytes, got 3", key=b"abc")
        key, anchor = self.path + ".key", self.path + ".anchor"
        os.rename(key, key + "x")
        refused(bandana.FailedPrecondition, "key is needed")
        os.rename(key + "x", key)
        os.rename(anchor, anchor + "x")
        refused(bandana.DataLoss, "anchor is missing")
        os.rename(anchor + "x", anchor)
        with sqlite3.connect(self.path) as database:
            sealed = database.execute("SELECT content FROM reports").fetchone()[0]
            database.execute("UPDATE reports SET content = ?", (sealed[:-1] + bytes([sealed[-1] ^ 1]),))
        database.close()
        refused(bandana.DataLoss, "a row is damaged .reports.")
        with open(self.path, "wb") as file:
            file.write(b"no store" * 100)
        refused(bandana.DataLoss, "is not a bandana device store")
        os.unlink(self.path)
        with self.assertRaisesRegex(bandana.DataLoss, "is gone, and with it the ledger"):
            bandana.Store(self.path)

    def test_a_store_that_cannot_write_refuses_and_nothing_is_sent(self):
        client = self.client("now")
        shown = client.select("hal", ROWS)
        client._own.device._rows._database.execute("PRAGMA query_only=ON")
        with self.assertRaisesRegex(bandana.Unavailable, "store"):
            client.report(shown, 1.0)
        self.assertEqual(client.stats().delivery_attempts, 0)
        client._own.device._rows._database.execute("PRAGMA query_only=OFF")
        client.report(shown, 1.0)
        self.assertTrue(client.flush(20))
        self.assertEqual((client.stats().reports_applied, client.spent("hal").events), (1, 1))

    def test_private_bytes_are_sealed(self):
        client = self.client("long")
        shown = client.select("ida", [[0.125, 0.25]])
        client.report(shown, 1.0)
        client.close()
        database = sqlite3.connect(self.path)
        stored = database.execute("SELECT content FROM reports").fetchone()[0]
        database.close()
        self.assertEqual(stored[0], 1)
        self.assertNotIn(b"\0\0\0\0\0\0\xc0\x3f", stored)  # a feature, 0.125

    def test_a_child_of_fork_is_refused(self):
        client = self.client("now")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                client.select("jo", ROWS)
                os.write(writer, b"it went on")
            except bandana.FailedPrecondition as why:
                os.write(writer, str(why).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self.assertIn("before a fork", os.read(reader, 1000).decode())
        client.select("jo", ROWS)

    # --- bad input -------------------------------------------------------------------------------

    def test_a_weaker_model_is_refused(self):
        store = bandana.Store(self.path)
        self.addCleanup(store.close)
        with self.assertRaisesRegex(bandana.FailedPrecondition, "require_local"):
            self.client("raw", store)
        with self.assertRaisesRegex(bandana.FailedPrecondition, "epsilon"):
            self.client("now", store, policy=bandana.Policy(epsilon_max=1))
        with self.assertRaisesRegex(bandana.FailedPrecondition, "durable"):
            self.client("now", bandana.Store.in_memory())
        with self.assertRaises(bandana.NotFound):
            self.client("none", store)

    def test_mistakes_name_the_field(self):
        client = self.raw()
        for arms, pattern in (
            ([[1.0]], "arms.features must hold n x 2"),
            ([[1.0, 2.0], [1.0]], "as many numbers"),
            ("text", "rows of features"),
            ([["x", "y"]], "rows of numbers"),
            (bandana.Arms.inline(ROWS, [1]), "ids"),
        ):
            with self.assertRaisesRegex(bandana.InvalidArgument, pattern):
                client.select("kim", arms)
        with self.assertRaisesRegex(bandana.InvalidArgument, "top_k"):
            client.select("kim", ROWS, 1000)
        with self.assertRaisesRegex(bandana.InvalidArgument, "reward: must be a number"):
            client.report(client.select("kim", ROWS), "good")
        with self.assertRaises(bandana.InvalidArgument):
            client.report(b"no handle", 1.0)
        with self.assertRaisesRegex(bandana.InvalidArgument, "rules.exclude"):
            client.select("kim", bandana.Arms.query(), rules=bandana.Rules(exclude="all"))
        with self.assertRaises(bandana.ResourceExhausted):
            window = self.client("window")
            for _ in range(6):
                window.select("kim", ROWS)
        store = bandana.Store.in_memory()
        for url in ("127.0.0.1:1", "ftp://a", "http://a/b", "http://"):
            with self.assertRaisesRegex(bandana.InvalidArgument, "url"):
                bandana.Client(url, "raw", store=store)
        with self.assertRaisesRegex(bandana.InvalidArgument, "token"):
            bandana.Client("http://192.0.2.1:1", "raw", store=store, token="secret")

    def test_no_server(self):
        options = bandana.Options(connect_timeout=0.3)
        began = time.monotonic()
        with self.assertRaises(bandana.Unavailable):
            bandana.Client(f"http://127.0.0.1:{processes.free_port()}", "raw", store=bandana.Store.in_memory(), options=options)
        self.assertLess(time.monotonic() - began, 10)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_a_server_is_believed_by_its_certificate_alone(self):
        with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
            url = sdk_server.start_tls(SERVER, folder, children).url
            options = bandana.Options(connect_timeout=0.3)

            def refused(url, tls, pattern):
                with self.assertRaisesRegex(bandana.Unavailable, pattern):
                    bandana.Client(url, "now", store=self.path, tls=tls, options=options)

            refused(url, f"{folder}/other.pem", "tls: localhost:.*: unable to get local issuer certificate")
            refused(url, None, "tls: localhost:.*: unable to get local issuer certificate")
            refused(url.replace("localhost", "127.0.0.1"), f"{folder}/ca.pem", "tls: 127.0.0.1:.*: IP address mismatch")
            refused(self.url.replace("http:", "https:"), f"{folder}/ca.pem", "tls: 127.0.0.1:.*: ")
            refused(url.replace("https:", "http:"), None, "^((?!tls).)*$")
            for name in ("none.pem", "server.key"):
                with self.assertRaisesRegex(bandana.InvalidArgument, f"tls: .*{name} is no PEM file of certificates: "):
                    bandana.Client(url, "now", store=self.path, tls=f"{folder}/{name}")
            for tls in (f"{folder}/ca.pem", ssl.create_default_context(cafile=f"{folder}/ca.pem")):
                with bandana.Client(url, "now", store=self.path, tls=tls) as client:
                    for _ in range(3):
                        client.report(client.select("mia", ROWS), 1.0)
                    self.assertTrue(client.flush(20))
                    self.assertEqual(client.stats().reports_applied, 3)

    def test_a_closed_client_is_refused(self):
        store = bandana.Store(self.path)
        client = self.client("now", store)
        shown = client.select("lou", ROWS)
        client.close()
        with self.assertRaises(bandana.InvalidArgument):
            client.report(shown, 1.0)
        store.close()
        with self.assertRaises(bandana.Cancelled):
            client.select("lou", ROWS)

    def test_structs_are_those_of_the_header(self):
        structs = {
            "bytes": _abi.Bytes, "cell": _abi.Cell, "table": _abi.Table, "change": _abi.Change, "commit": _abi.Commit, "mark": _abi.Mark,
            "header": _abi.Header, "call": _abi.Call, "answer_of_call": _abi.Answer, "ranked_arm": _abi.Ranked, "selection": _abi.Selection,
            "spent": _abi.Spent, "readings": _abi.Readings, "stream": _abi.Stream, "result": _abi.Result, "hooks": _abi.Hooks,
            "options": _abi.Options, "value": _abi.Value, "named_arm": _abi.NamedArm, "range": _abi.Range, "boost": _abi.Boost,
            "pin": _abi.Pin, "limit": _abi.Limit, "rules": _abi.Rules, "arms": _abi.Arms, "request": _abi.Request,
            "backend_answer": _abi.BackendAnswer, "report_of": _abi.Report, "model_info": _abi.ModelInfo, "stats": _abi.Stats, "start_of": _abi.Start,
        }  # fmt: skip
        seen = set()
        for line in processes.read(f"{SOURCE}/client/abi/abi.txt").splitlines():
            words = line.split()
            if words[0] != "struct":
                continue
            kind = structs[words[1].removeprefix("bandana_")]
            if kind not in seen:  # the first line of each is its size
                seen.add(kind)
                self.assertEqual(ctypes.sizeof(kind), int(words[3]), line)
            else:
                self.assertEqual(getattr(kind, words[2]).offset, int(words[3]), line)
        self.assertEqual(seen, set(structs.values()))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:])
