#!/usr/bin/env python3
"""The compose stack as processes on loopback: PostgreSQL, two servers that share it, haproxy, Prometheus and the fleet, with the files of
deploy/.

Every query of the Grafana board has an answer in the real Prometheus, every alert is loaded and sound, the proxy's access log has no line
of a report, nobody gets in without a token or a password. Then the owner of a model is killed under load: calls through the proxy go on,
and every report is counted once.

Usage: stack_test.py ROOT SERVER FLEET CTL. Exits with 77 (skipped) where PostgreSQL 15, haproxy, prometheus or openssl is missing.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

POSTGRES = "/usr/lib/postgresql/15/bin"
SERVERS = ["a", "b"]
MODELS = ["private", "plain"]
ROUNDS = 400
RATE = 40
# The time that a takeover may take, the lease included, on a machine that has other work.
TAKEOVER_SECONDS = 30
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


def as_postgres(command):
    """PostgreSQL does not run as root."""
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", *command] if os.geteuid() == 0 else command


class Database:
    """PostgreSQL as the image sets it up: its rules of admission, then the role, then the role's password."""

    def __init__(self, root, folder, secrets, children):
        self.folder, self.port = os.path.join(folder, "database"), processes.free_port()
        compose = os.path.join(root, "deploy/compose")
        os.makedirs(self.folder, mode=0o700)
        password = shutil.copy(os.path.join(secrets, "database/bandana.password"), self.folder)
        # Its own user comes in by the name of the system's user, which is `postgres` only where this runs as root.
        hba = processes.read(os.path.join(compose, "pg_hba.conf"))
        write(self.path("pg_hba.conf"), hba if os.geteuid() == 0 else change(hba, ("peer", "trust")))
        write(self.path("password.sql"), change(processes.read(os.path.join(compose, "password.sql")),
                                                ("/run/database/bandana.password", password)))
        shutil.copy(os.path.join(root, "deploy/postgresql/role.sql"), self.folder)
        if os.geteuid() == 0:
            os.chmod(folder, 0o711)
            for name in ["", *os.listdir(self.folder)]:
                shutil.chown(self.path(name), "postgres", "postgres")
        self.run("initdb", "-D", self.path("data"), "-U", "postgres", "--locale=C", "--encoding=UTF8", "--data-checksums", "-N")
        children.start(os.path.join(folder, "database.log"), as_postgres([
            f"{POSTGRES}/postgres", "-D", self.path("data"), "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
            "-c", f"unix_socket_directories={self.folder}", "-c", f"hba_file={self.path('pg_hba.conf')}"]))
        processes.wait_for("PostgreSQL answers", lambda: subprocess.run(
            [f"{POSTGRES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode == 0)
        for script in ("role.sql", "password.sql"):
            self.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-d", "postgres",
                     "-f", self.path(script))

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def run(program, *words):
        done = subprocess.run(as_postgres([f"{POSTGRES}/{program}", *words]), capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, f"{program}: {done.stderr}"

    def login(self, user, database, passfile):
        """Whether the role gets into the database over TCP with what the passfile says."""
        done = subprocess.run([f"{POSTGRES}/psql", "-w", f"host=127.0.0.1 port={self.port} user={user} dbname={database} passfile={passfile}",
                               "-Atc", "SELECT current_user"], capture_output=True, text=True, check=False)
        return done.returncode == 0 and done.stdout.strip() == user


class Stack:
    def __init__(self, root, programs, folder, children):
        self.root, self.folder, self.children = root, folder, children
        self.server, self.fleet, self.ctl = programs
        self.secrets = os.path.join(folder, "secrets")
        subprocess.run([os.path.join(root, "deploy/compose/prepare.sh"), self.secrets], check=True, capture_output=True)
        # A server that comes back has the addresses that it had: proxy and Prometheus know no others.
        self.ports = {name: {of: processes.free_port() for of in ("listen", "http", "admin", "peers")} for name in SERVERS}
        self.at, self.servers = {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        self.database = Database(self.root, self.folder, self.secrets, self.children)
        for name in SERVERS:
            self.start_server(name)
        self.await_owners()
        self.start_proxy()
        self.start_prometheus()

    def config(self, name):
        """The file of the compose stack, with the addresses of loopback. It lies beside the keys, as there."""
        ports = self.ports[name]
        config = change(processes.read(os.path.join(self.secrets, "server/server.textproto")),
                        ('"0.0.0.0:7070"', f'"127.0.0.1:{ports["listen"]}"'), ('"0.0.0.0:7071"', f'"127.0.0.1:{ports["http"]}"'),
                        ('"127.0.0.1:7072"', f'"127.0.0.1:{ports["admin"]}"'), ('"0.0.0.0:7074"', f'"127.0.0.1:{ports["peers"]}"'),
                        ('"/data"', f'"{self.path(f"data-{name}")}"'), ("host=database ", f"host=127.0.0.1 port={self.database.port} "),
                        ("/etc/bandana/database.pass", os.path.join(self.secrets, "server/database.pass")))
        return write(os.path.join(self.secrets, f"server/{name}.textproto"), config)

    def start_server(self, name):
        log = self.path(f"server-{name}.log")
        self.servers[name] = self.children.start(log, [self.server, "--config", self.config(name),
                                                       f"--peers_address=127.0.0.1:{self.ports[name]['peers']}"])
        self.at[name] = processes.await_ready(self.servers[name], log)
        assert self.at[name]["peers"] == f"127.0.0.1:{self.ports[name]['peers']}", "the ready line does not say where the other server calls"

    def metric(self, name, metric, model):
        """The metric on the server's own page for the model; -1: nothing."""
        try:
            with urllib.request.urlopen(f"http://{self.at[name]['http']}/metrics", timeout=10) as response:
                page = response.read().decode()
        except OSError:
            return -1
        found = re.search(rf'^{metric}\{{model="{model}"\}} (\S+)$', page, re.M)
        return float(found.group(1)) if found else -1

    def owners(self, model):
        return [name for name in SERVERS if self.metric(name, "bandana_model_owned", model) == 1]

    def await_owners(self):
        for model in MODELS:
            processes.wait_for(f"one server owns {model}", lambda model=model: len(self.owners(model)) == 1, TAKEOVER_SECONDS)

    def reports(self, model):
        """The reports that the model's owner has counted since the model was made; -1 while nobody owns it."""
        owners = self.owners(model)
        return self.metric(owners[0], "bandana_model_reports_applied_total", model) if owners else -1

    def check_reports(self, reports):
        """Every model has exactly so many, and every server is up to date."""
        for model in MODELS:
            counted = processes.wait_for(f"somebody owns {model}", lambda model=model: self.reports(model) + 1) - 1
            assert counted == reports, f"{counted} reports of {model} are counted, {reports} were acknowledged"
            for name in SERVERS:
                processes.wait_for(f"server {name} has followed {model}", lambda name=name, model=model:
                                   0 <= self.metric(name, "bandana_model_staleness_seconds", model) < 2)

    def start_proxy(self):
        self.proxy = f"127.0.0.1:{processes.free_port()}"
        environment = {**os.environ, "PROXY_BIND": self.proxy, "PROXY_CERTIFICATE": os.path.join(self.secrets, "proxy/proxy.pem"),
                       **{f"BANDANA_SERVER_{name.upper()}": self.at[name]["listen"] for name in SERVERS},
                       **{f"BANDANA_HTTP_PORT_{name.upper()}": str(self.ports[name]["http"]) for name in SERVERS}}
        config = os.path.join(self.root, "deploy/compose/haproxy.cfg")
        subprocess.run(["haproxy", "-c", "-q", "-f", config], env=environment, check=True)
        self.children.start(self.path("proxy.log"), ["haproxy", "-f", config], env=environment)
        processes.wait_for("the proxy answers", lambda: self.run_ctl("health").returncode == 0)

    def start_prometheus(self):
        port = processes.free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        config = change(processes.read(os.path.join(self.root, "deploy/compose/prometheus.yml")),
                        *((f"server-{name}:7071", self.at[name]["http"]) for name in SERVERS), ("interval: 5s", "interval: 1s"),
                        ("/etc/prometheus/bandana.rules.yml", os.path.join(self.root, "deploy/prometheus/bandana.rules.yml")))
        self.children.start(self.path("prometheus.log"), [
            "prometheus", f"--config.file={write(self.path('prometheus.yml'), config)}", f"--web.listen-address=127.0.0.1:{port}",
            f"--storage.tsdb.path={self.path('prometheus')}"])
        processes.wait_for("Prometheus scrapes the servers", lambda: len(self.query('up{job="bandana"} == 1')) == len(SERVERS))

    def client_flags(self, token="app/app.token"):
        flags = [f"--target={self.proxy}", f"--tls_ca={self.secrets}/app/ca.pem", "--tls_server_name=proxy"]
        return flags + ([f"--token_file={self.secrets}/{token}"] if token else [])

    def run_ctl(self, *words, token="app/app.token"):
        return subprocess.run([self.ctl, *self.client_flags(token), *words], capture_output=True, text=True, check=False)

    def run_admin(self, name, *words, listener="admin"):
        return subprocess.run([self.ctl, f"--target={self.at[name][listener]}", f"--token_file={self.secrets}/server/ops.token", *words],
                              capture_output=True, text=True, check=False)

    def start_load(self, model, rounds=ROUNDS, token="app/app.token", patience="1s"):
        return self.children.start(self.path(f"fleet-{model}.log"), [
            self.fleet, *self.client_flags(token), "--environment=sphere", "--users=200", f"--rounds={rounds}", f"--rate={RATE}",
            f"--model={model}", f"--reconnect_timeout={patience}"])

    def check_loads(self, loads):
        assert all(load.returncode == 0 for load in loads), "".join(processes.read(self.path(f"fleet-{m}.log")) for m in MODELS)

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


def check_access(stack):
    refused = stack.run_ctl("models", "list", token=None)
    assert refused.returncode == 1, refused
    stranger = stack.start_load("private", rounds=1, token=None)
    assert stranger.wait(60) == 1, "a caller without a token was served"
    said = processes.read(stack.path("fleet-private.log"))
    assert "needs a bearer token" in said, said
    for name in SERVERS:
        assert stack.run_admin(name, "models", "list").returncode == 0
        # The listener for the other server hears nobody who has not the key file, which no client has.
        peer = stack.run_admin(name, "models", "list", listener="peers")
        assert peer.returncode == 1 and "UNAVAILABLE" in peer.stderr, peer
    through_proxy = stack.run_ctl("models", "list", token="server/ops.token")
    assert through_proxy.returncode == 1 and "UNIMPLEMENTED" in through_proxy.stderr, through_proxy
    check_database(stack)


def check_database(stack):
    """One role gets into one database, and only with its password. The superuser does not come over the network."""
    passfile = os.path.join(stack.secrets, "server/database.pass")
    wrong = write(stack.path("wrong.pass"), "*:*:*:*:wrong\n")
    os.chmod(wrong, 0o600)
    database = stack.database
    assert database.login("bandana", "bandana", passfile)
    for user, name, file in (("bandana", "bandana", wrong), ("bandana", "bandana", "/dev/null"), ("bandana", "postgres", passfile),
                             ("postgres", "bandana", passfile), ("postgres", "postgres", "/dev/null")):
        assert not database.login(user, name, file), f"{user} came into {name} with {file}"


def check_kill(stack):
    """An owner is killed under load. Its calls go to the other server, which takes the model over; then it comes back and follows."""
    dies = stack.owners("private")[0]
    lives = next(name for name in SERVERS if name != dies)
    loads = [stack.start_load(model, patience=f"{TAKEOVER_SECONDS}s") for model in MODELS]
    processes.wait_for("the load has begun", lambda: all(
        stack.reports(model) > ROUNDS + ROUNDS / 10 for model in MODELS))
    stack.servers[dies].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    assert all(load.poll() is None for load in loads), "the load was over before the server was killed"
    # Longer than the proxy needs to find out, and than a takeover takes: calls go on from the first moment.
    takeover = None
    while takeover is None or time.monotonic() < killed + 4:
        asked = stack.run_ctl("health")
        since = time.monotonic() - killed
        assert asked.returncode == 0, f"{since:.1f} s after one server was killed: {asked.stderr}"
        if takeover is None and all(stack.owners(model) == [lives] for model in MODELS):
            takeover = since
        assert takeover is not None or since < TAKEOVER_SECONDS, f"after {since:.1f} s the other server does not own all models"
    stack.servers[dies].wait(10)
    for load in loads:
        load.wait(120)
    stack.check_loads(loads)
    for model in MODELS:
        assert stack.reports(model) == 2 * ROUNDS, f"{stack.reports(model)} reports of {model} are counted, {2 * ROUNDS} were acknowledged"
    stack.start_server(dies)
    stack.check_reports(2 * ROUNDS)
    check_log(stack)
    return takeover


def main(root, *programs):
    processes.need("haproxy", "prometheus", "openssl", "setpriv", f"{POSTGRES}/initdb")
    board = json.loads(processes.read(os.path.join(root, "deploy/grafana/bandana.json")))
    check_board(board)
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        stack = Stack(root, programs, folder, children)
        stack.start()
        check_access(stack)
        loads = [stack.start_load(model) for model in MODELS]
        queries = check_panels(stack, board, loads)
        stack.check_loads(loads)
        rules = check_rules(stack)
        check_log(stack)
        stack.check_reports(ROUNDS)
        takeover = check_kill(stack)
        print(f"{queries} queries of {len(board['panels'])} panels have an answer, {rules} alerts are sound and quiet; empty: {EMPTY}")
        print(f"one of {len(SERVERS)} servers killed: {2 * ROUNDS} reports of each model counted, the other one owns both after {takeover:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
