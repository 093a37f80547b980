#!/usr/bin/env python3
"""The compose stack as processes on loopback: server, haproxy, Prometheus and the fleet, with the files of deploy/.

Every query of the Grafana board has an answer in the real Prometheus, every alert is loaded and sound, the proxy's access log has no line
of a report, and nobody gets in without a token.

Usage: stack_test.py ROOT SERVER FLEET CTL. Exits with 77 (skipped) where haproxy, prometheus or openssl is missing.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

MODELS = ["private", "plain"]
ROUNDS = 400
RATE = 40
# Panels that have nothing to show in a sound stack, and why. A panel that is not here must show something.
EMPTY = {"Reports rejected": "has a series per reason from the first rejected report on, and none is rejected here"}


def change(text, *pairs):
    """Replaces each text that must be there."""
    for old, new in pairs:
        assert old in text, f"{old!r} is not in the file any more"
        text = text.replace(old, new)
    return text


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Stack:
    def __init__(self, root, programs, folder, children):
        self.root, self.folder, self.children = root, folder, children
        self.server, self.fleet, self.ctl = programs
        self.secrets = os.path.join(folder, "secrets")
        subprocess.run([os.path.join(root, "deploy/compose/prepare.sh"), self.secrets], check=True, capture_output=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        self.start_server()
        self.start_proxy()
        self.start_prometheus()

    def start_server(self):
        config = change(processes.read(os.path.join(self.secrets, "server/server.textproto")),
                        ('"0.0.0.0:7070"', '"127.0.0.1:0"'), ('"0.0.0.0:7071"', '"127.0.0.1:0"'),
                        ('"127.0.0.1:7072"', '"127.0.0.1:0"'), ('"/data"', f'"{self.path("data")}"'))
        process = self.children.start(self.path("server.log"), [self.server, "--config", write(self.path("server.textproto"), config)])
        self.at = processes.await_ready(process, self.path("server.log"))

    def start_proxy(self):
        self.proxy = f"127.0.0.1:{processes.free_port()}"
        environment = {**os.environ, "PROXY_BIND": self.proxy, "PROXY_CERTIFICATE": os.path.join(self.secrets, "proxy/proxy.pem"),
                       "BANDANA_SERVER": self.at["listen"], "BANDANA_HTTP_PORT": self.at["http"].rsplit(":", 1)[1]}
        config = os.path.join(self.root, "deploy/compose/haproxy.cfg")
        subprocess.run(["haproxy", "-c", "-q", "-f", config], env=environment, check=True)
        self.children.start(self.path("proxy.log"), ["haproxy", "-f", config], env=environment)
        processes.wait_for("the proxy answers", lambda: self.run_ctl("health").returncode == 0)

    def start_prometheus(self):
        port = processes.free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        config = change(processes.read(os.path.join(self.root, "deploy/compose/prometheus.yml")),
                        ("server:7071", self.at["http"]), ("interval: 5s", "interval: 1s"),
                        ("/etc/prometheus/bandana.rules.yml", os.path.join(self.root, "deploy/prometheus/bandana.rules.yml")))
        self.children.start(self.path("prometheus.log"), [
            "prometheus", f"--config.file={write(self.path('prometheus.yml'), config)}", f"--web.listen-address=127.0.0.1:{port}",
            f"--storage.tsdb.path={self.path('prometheus')}"])
        processes.wait_for("Prometheus scrapes the server", lambda: self.query('up{job="bandana"} == 1'))

    def client_flags(self, token="app/app.token"):
        flags = [f"--target={self.proxy}", f"--tls_ca={self.secrets}/app/ca.pem", "--tls_server_name=proxy"]
        return flags + ([f"--token_file={self.secrets}/{token}"] if token else [])

    def run_ctl(self, *words, token="app/app.token"):
        return subprocess.run([self.ctl, *self.client_flags(token), *words], capture_output=True, text=True, check=False)

    def run_admin(self, *words):
        return subprocess.run([self.ctl, f"--target={self.at['admin']}", f"--token_file={self.secrets}/server/ops.token", *words],
                              capture_output=True, text=True, check=False)

    def start_load(self, model, rounds=ROUNDS, token="app/app.token"):
        return self.children.start(self.path(f"fleet-{model}.log"), [
            self.fleet, *self.client_flags(token), "--environment=sphere", "--users=200", f"--rounds={rounds}", f"--rate={RATE}",
            f"--model={model}", "--reconnect_timeout=1s"])

    def query(self, expression):
        """The values of an instant query that are numbers."""
        try:
            url = f"{self.prometheus}/api/v1/query?query={urllib.parse.quote(expression)}"
            with urllib.request.urlopen(url, timeout=10) as response:
                answer = json.load(response)
        except OSError:
            return []
        return [series for series in answer["data"]["result"] if not math.isnan(float(series["value"][1]))]

    def rules(self):
        with urllib.request.urlopen(f"{self.prometheus}/api/v1/rules", timeout=10) as response:
            return [rule for group in json.load(response)["data"]["groups"] for rule in group["rules"]]


def check_board(board):
    """The board is one that Grafana takes: panels with an id of their own, a place of their own, and the chosen data source."""
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels), "two panels have one id"
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"], f"{panel['title']} covers {taken[(x, y)]}"
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        assert panel["targets"] and all(target["expr"] for target in panel["targets"]), panel["title"]
    assert {variable["name"] for variable in board["templating"]["list"]} == {"datasource", "instance", "model"}


def fill(expression):
    """A query with every variable at `All`."""
    filled = re.sub(r"\$(instance|model)\b", ".*", expression)
    assert "$" not in filled, f"{expression}: a variable that the board does not have"
    return filled


def check_panels(stack, board, loads):
    """While the load runs and shortly after, every query of every panel has had an answer. Panels of EMPTY have none."""
    queries = {(panel["title"], fill(target["expr"])) for panel in board["panels"] for target in panel["targets"]}
    assert set(EMPTY) <= {title for title, _ in queries}
    open_queries = set(queries)

    def all_answered():
        open_queries.difference_update([query for query in open_queries if stack.query(query[1])])
        return all(load.poll() is not None for load in loads) and {title for title, _ in open_queries} <= set(EMPTY)
    try:
        processes.wait_for("the load ends, and every query has an answer", all_answered, 240)
    except AssertionError as late:
        raise AssertionError("the board shows nothing here:\n  " + "\n  ".join(map(str, sorted(open_queries)))) from late
    filled = set(EMPTY) - {title for title, _ in open_queries}
    assert not filled, f"these panels show something; take them out of EMPTY: {filled}"
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric = fill(re.fullmatch(r"label_values\((.*), \w+\)", variable["query"]["query"]).group(1))
            assert stack.query(metric), f"the board's variable {variable['name']} has no values"
    return len(queries) - len(open_queries)


def check_rules(stack):
    rules = processes.wait_for("every rule has been evaluated", lambda: all(r["health"] != "unknown" for r in stack.rules()) and stack.rules())
    names = set(re.findall(r"- alert: (\w+)", processes.read(os.path.join(stack.root, "deploy/prometheus/bandana.rules.yml"))))
    assert {rule["name"] for rule in rules} == names
    assert all(rule["health"] == "ok" for rule in rules), rules
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    assert not firing, f"alerts of a sound stack: {firing}"
    return len(rules)


def check_log(stack):
    log = processes.read(stack.path("proxy.log"))
    assert "/bandana.v1.Recommender/Select" in log, log
    for method in ("Report", "Submit"):
        assert f"Recommender/{method}" not in log, f"the access log has a line of {method}"
    def applied():
        return sum(float(series["value"][1]) for series in stack.query("bandana_model_reports_applied_total"))

    # Prometheus has what it scraped last.
    processes.wait_for("every report is counted", lambda: applied() >= len(MODELS) * ROUNDS)


def check_access(stack):
    refused = stack.run_ctl("models", "list", token=None)
    assert refused.returncode == 1, refused
    stranger = stack.start_load("private", rounds=1, token=None)
    assert stranger.wait(60) == 1, "a caller without a token was served"
    assert "needs a bearer token" in processes.read(stack.path("fleet-private.log"))
    assert stack.run_admin("models", "list").returncode == 0
    through_proxy = stack.run_ctl("models", "list", token="server/ops.token")
    assert through_proxy.returncode == 1 and "UNIMPLEMENTED" in through_proxy.stderr, through_proxy


def main(root, *programs):
    processes.need("haproxy", "prometheus", "openssl")
    board = json.loads(processes.read(os.path.join(root, "deploy/grafana/bandana.json")))
    check_board(board)
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        stack = Stack(root, programs, folder, children)
        stack.start()
        check_access(stack)
        loads = [stack.start_load(model) for model in MODELS]
        queries = check_panels(stack, board, loads)
        assert all(load.returncode == 0 for load in loads), "".join(processes.read(stack.path(f"fleet-{m}.log")) for m in MODELS)
        rules = check_rules(stack)
        check_log(stack)
        print(f"{queries} queries of {len(board['panels'])} panels have an answer, {rules} alerts are sound and quiet; empty: {EMPTY}")


if __name__ == "__main__":
    main(*sys.argv[1:])
