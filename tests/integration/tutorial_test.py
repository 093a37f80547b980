#!/usr/bin/env python3
"""The pages that a newcomer follows, run as they are printed: docs/tutorial.md and docs/personalizer.md.

Every block ```sh of a page runs in its order, in a folder that has the project's `examples`. A block that starts a server starts it on
free ports, in the place of the one before, and the addresses in later blocks are replaced by them.

Usage: tutorial_test.py SERVER PYTHON_FOLDER SOURCE_FOLDER. PYTHON_FOLDER has the Python package, which the page installs as a wheel.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402

DEFAULTS = {"listen": "127.0.0.1:7070", "http": "127.0.0.1:7071", "api": "127.0.0.1:7073"}


class Page:
    """A page that is followed from top to bottom; `shell` keeps its variables from block to block."""

    def __init__(self, path, server, python, source, folder, children):
        self.blocks = re.findall(r"^```sh\n(.*?)^```$", processes.read(path), re.M | re.S)
        self.server, self.folder, self.children = server, folder, children
        self.running, self.at, self.before = None, {}, ""
        os.symlink(f"{source}/examples", f"{folder}/examples")
        self.env = {**os.environ, "PATH": f"{os.path.dirname(server)}:{os.environ['PATH']}", "PYTHONPATH": python}

    def next(self):
        """Runs the next block; what it printed."""
        block = self.blocks.pop(0)
        if re.match(r"bandana-server (?!.*--(check_config|new_model))", block):
            return self.serve(block.split()[1:])
        for name, address in self.at.items():
            block = block.replace(DEFAULTS[name], address)
        done = subprocess.run(["sh", "-euc", self.before + block], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        self.before += "".join(line + "\n" for line in block.splitlines() if re.fullmatch(r"\w+=http\S+", line))
        token = re.search(r'"token":"([^"]*)"', done.stdout)
        self.before += f"token='{token.group(1)}'\n" if token else ""
        return done.stdout

    def serve(self, arguments):
        if self.running:
            processes.stop(self.running)
        log = f"{self.folder}/server.log"
        ports = [word for name in ("listen", "http_listen", "api_listen") for word in (f"--{name}", "127.0.0.1:0")]
        self.running = self.children.start(log, [self.server, *arguments, *ports], cwd=self.folder)
        self.at = {name: address for name, address in processes.await_ready(self.running, log).items() if name in DEFAULTS}
        return ""

    def metric(self, name):
        """The sum of a metric of the server."""
        with urllib.request.urlopen(f"http://{self.at['http']}/metrics", timeout=30) as answer:
            return sum(map(float, re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", answer.read().decode(), re.M)))

    def done(self):
        assert not self.blocks, f"nobody looked at {self.blocks}"


def sold(lines):
    return sum(line.endswith(" 1") for line in lines)


def tutorial(page):
    page.next()
    decision = json.loads(page.next())
    assert sorted(decision["armNames"][:1])[0] in ("disc-7", "disc-8") and decision["token"], decision
    assert page.next() == '{"results":[{"code":"APPLIED"}]}', "the sale was not learnt"
    lines = page.next().splitlines()
    assert len(lines) == 20 and sold(lines) >= 15, lines
    ranked = re.findall(r'"armNames":\["(\S+?)","\S+?"\]', page.next())
    assert ranked == ["disc-8", "disc-7"], f"web and ios have {ranked} first"
    assert "mode       LOCAL_REWARD: the server never sees a reward" in page.next()
    page.next()
    refused = json.loads(page.next())
    assert refused["status"] == "FAILED_PRECONDITION" and "use the SDK" in refused["message"], refused
    visits = [int(count) for count in re.findall(r"sold to (\d+) of 100 visitors", page.next())]
    assert len(visits) == 4 and visits[3] >= 80, visits
    assert "NON_PRIVATE" in page.next()
    page.done()


def personalizer(page):
    assert "NON_PRIVATE" in page.next()
    page.next()
    answer = json.loads(page.next())
    assert answer["rewardActionId"] == "sports", f"an apprentice answers the first action, not {answer}"
    assert page.next() == "204\n"
    before = page.metric("bandana_model_posterior_version")
    assert "agrees with caller" in page.next()
    processes.wait_for("the window of the event has closed", lambda: page.metric("bandana_model_posterior_version") > before)
    page.next()
    page.next()
    ranking = json.loads(page.next())["ranking"]
    probabilities = sorted(action["probability"] for action in ranking)
    assert [round(number, 6) for number in probabilities] == [0.1, 0.9], f"the live loop explores, but answers {ranking}"
    page.done()


def main(server, python, source):
    processes.need("curl")
    for name, follow in (("tutorial", tutorial), ("personalizer", personalizer)):
        with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
            follow(Page(f"{source}/docs/{name}.md", server, python, source, folder, children))


if __name__ == "__main__":
    main(*[os.path.abspath(path) for path in sys.argv[1:]])
