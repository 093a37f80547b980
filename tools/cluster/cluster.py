#!/usr/bin/env python3
"""PostgreSQL with a synchronous standby and some bandana-servers that serve its models together, all on loopback.

  ./dev cluster [--replicas 3] [--seconds N] [--config FILE]

Prints a line per process with its addresses, then `cluster ready`, and stops all of them after N seconds, or at Ctrl-C. FILE has
the models (text of a ServerConfig without addresses); without it there is one, `demo`. Everything is in a folder that goes with it.
"""

import argparse
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
DEMO = """models {
  name: "demo" dimension: 2 mode: NON_PRIVATE shared {}
  reporting { one_per_decision: true }
}
"""
READY = re.compile(r"bandana-server ready listen=(\S+) http=(\S+).* peers=(\S+)")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def as_postgres(command):
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] + command


def run(program, *arguments):
    done = subprocess.run(as_postgres([str(POSTGRES / program), *map(str, arguments)]), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr.strip()}")


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.processes = []

    def start(self, command, log):
        process = subprocess.Popen(command, stdout=open(log, "wb"), stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):  # servers first
            if process.poll() is None:
                process.send_signal(signal.SIGINT if process in self.processes[:2] else signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
        self.processes = []

    def postgres(self, name, port):
        folder = self.folder / name
        process = self.start(as_postgres([str(POSTGRES / "postgres"), "-D", str(folder / "data"), "-p", str(port),
                                          "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]),
                             self.folder / f"{name}.log")
        for _ in range(600):
            if subprocess.run([str(POSTGRES / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0:
                return
            if process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit(f"postgres did not come up: {(self.folder / f'{name}.log').read_text()}")

    def database(self):
        """The ports of a primary and its synchronous standby."""
        ports = free_port(), free_port()
        for name in ("primary", "standby"):
            (self.folder / name).mkdir()
            if os.geteuid() == 0:
                shutil.chown(self.folder / name, "postgres", "postgres")
        run("initdb", "-D", self.folder / "primary/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C", "-N")
        self.postgres("primary", ports[0])
        sql = lambda text: run("psql", "-q", "-h", "127.0.0.1", "-p", ports[0], "-U", "postgres", "-d", "postgres", "-c", text)
        sql("CREATE ROLE bandana LOGIN")
        sql("CREATE DATABASE bandana OWNER bandana")
        run("pg_basebackup", "-h", "127.0.0.1", "-p", ports[0], "-U", "postgres", "-D", self.folder / "standby/data", "-R", "-X",
            "stream", "-c", "fast")
        self.postgres("standby", ports[1])
        sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        sql("SELECT pg_reload_conf()")
        return ports

    def server(self, program, number, connection, models):
        folder = self.folder / f"server-{number}"
        folder.mkdir()
        config = folder / "server.textproto"
        config.write_text(f"""log {{
  postgresql {{
    connection: "{connection}"
    key_file: "{self.folder}/key" noise_key_file: "{self.folder}/noise_key"
    lease {{ seconds: 2 }} server: "server-{number}"
  }}
}}
peers {{ listen: "127.0.0.1:0" }}
{models}""")
        log = folder / "log"
        process = self.start([str(program), f"--config={config}", f"--data_dir={folder}/data", "--listen=127.0.0.1:0",
                              "--http_listen=127.0.0.1:0"], log)
        for _ in range(600):
            ready = READY.search(log.read_text())
            if ready:
                print(f"server={number} listen={ready[1]} http={ready[2]} peers={ready[3]} pid={process.pid}", flush=True)
                return
            if process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"server {number} did not come up: {log.read_text()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=3, help="servers, 1 to 16")
    parser.add_argument("--seconds", type=float, default=0, help="how long; 0: until Ctrl-C")
    parser.add_argument("--config", help="models, as text of a ServerConfig")
    parser.add_argument("--bin", default="build/release/bin", help="folder of bandana-server")
    options = parser.parse_args()
    if not 1 <= options.replicas <= 16:
        sys.exit("--replicas: must be in [1, 16]")
    if not (POSTGRES / "initdb").exists():
        sys.exit("PostgreSQL 15 is missing: ./dev setup --test")
    models = pathlib.Path(options.config).read_text() if options.config else DEMO
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(prefix="bandana-cluster-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for key in ("key", "noise_key"):
            (folder / key).touch(0o600)
            (folder / key).write_text(secrets.token_hex(32) + "\n")
        cluster = Cluster(folder)
        try:
            primary, standby = cluster.database()
            print(f"postgresql primary=127.0.0.1:{primary} standby=127.0.0.1:{standby} user=bandana "
                  f"key_file={folder}/key", flush=True)
            connection = (f"host=127.0.0.1,127.0.0.1 port={primary},{standby} dbname=bandana user=bandana "
                          "target_session_attrs=read-write")
            for number in range(options.replicas):
                cluster.server(pathlib.Path(options.bin) / "bandana-server", number, connection, models)
            print("cluster ready", flush=True)
            time.sleep(options.seconds if options.seconds > 0 else 10**8)
        except KeyboardInterrupt:
            pass
        finally:
            cluster.stop()
    print("cluster stopped")


if __name__ == "__main__":
    main()
