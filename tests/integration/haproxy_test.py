"""A real haproxy before api_listen, with a connection of its own for each request.

usage: haproxy_test.py BANDANA_SERVER CALLS
"""

import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77
CLIENTS = 4

CONFIG = """
log_level: INFO
models {{ name: 'news' dimension: 2 shared {{}} mode: NON_PRIVATE }}
{limits}
"""

PROXY = """
global
  maxconn 256
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option httpclose
  retries 0
listen api
  bind 127.0.0.1:{port}
  server bandana {server}
"""

BODY = json.dumps({"user": "ann", "arms": {"inlineArms": {"features": [1, 0, 0, 1]}}})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, folder, limits):
        config = folder / "server.textproto"
        config.write_text(CONFIG.format(limits=limits))
        self.process = subprocess.Popen(
            [program, f"--config={config}", f"--data_dir={folder}/data", "--listen=127.0.0.1:0",
             "--http_listen=127.0.0.1:0", "--api_listen=127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=open(folder / "err", "w"), text=True)
        ready = self.process.stdout.readline().split()
        self.at = dict(word.split("=", 1) for word in ready if "=" in word)
        self.err = folder / "err"

    def metric(self, begin):
        host, port = self.at["http"].split(":")
        pages = http.client.HTTPConnection(host, int(port), timeout=10)
        pages.request("GET", "/metrics")
        lines = pages.getresponse().read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(begin))

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)


def call(port, calls):
    """How many of so many calls were answered, by status; haproxy says 502 where a connection was reset."""
    counts = {}
    lock = threading.Lock()

    def client(mine):
        for _ in range(mine):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request("POST", "/v1/models/news:select", BODY, {"Host": "localhost"})
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
            connection.close()
            with lock:
                counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=client, args=(calls // CLIENTS,)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def run(program, haproxy, limits, calls):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = Server(program, folder, limits)
        port = free_port()
        (folder / "haproxy.cfg").write_text(PROXY.format(port=port, server=server.at["api"]))
        proxy = subprocess.Popen([haproxy, "-f", str(folder / "haproxy.cfg"), "-db"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            start = time.monotonic()
            counts = call(port, calls)
            seconds = time.monotonic() - start
            accepted = server.metric('bandana_connections_accepted_total{listener="api_listen"}')
            refused = server.metric('bandana_connections_refused_total{listener="api_listen"')
            time.sleep(1.5)  # the server looks at its listeners once a second
            said = "api_listen: refused new connections" in server.err.read_text()
        finally:
            proxy.terminate()
            proxy.wait(30)
            assert server.stop() == 0
    print(f"limits {{{limits}}}: {calls} calls in {seconds:.1f} s, {calls / seconds:.0f} per second: {counts}; "
          f"connections: {accepted:.0f} taken, {refused:.0f} refused; said in the log: {said}")
    return counts, accepted, refused, said


def main():
    program, calls = sys.argv[1], int(sys.argv[2])
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    if haproxy is None:
        print("skipped: there is no haproxy")
        return SKIPPED
    counts, accepted, refused, said = run(
        program, haproxy, "limits { connections_per_address_per_second_max: 10000 }", calls)
    assert counts == {200: calls}, counts
    assert accepted >= calls, accepted  # one connection for each call
    assert refused == 0 and not said
    # A rate that does not fit is refused where operators look.
    counts, accepted, refused, said = run(
        program, haproxy, "limits { connections_per_address_per_second_max: 20 }", 80)
    assert counts[200] < 80 and refused > 0 and said, counts
    return 0


if __name__ == "__main__":
    sys.exit(main())
