#!/usr/bin/env python3
"""The examples of README.md, docs/http.md and examples/, as they are written, against a server of the configuration that they name.

Usage: http_examples_test.py SERVER SOURCE_FOLDER.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402

# The public key of RFC 8037, appendix A.
KEYS = '{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "alg": "EdDSA", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'
DEFAULT_API = "http://127.0.0.1:7073"


class Examples:
    def __init__(self, server, source, folder, children):
        self.server, self.source, self.folder, self.children = server, source, folder, children
        self.started = 0
        self.problems = []

    def start(self, config):
        """A server of this file on free ports; its API's address."""
        self.started += 1
        log = f"{self.folder}/server{self.started}.log"
        process = self.children.start(log, [self.server, "--config", config, "--listen", "127.0.0.1:0", "--http_listen", "127.0.0.1:0",
                                            "--api_listen", "127.0.0.1:0", "--data_dir", f"{self.folder}/data{self.started}"])
        addresses = processes.await_ready(process, log)
        return f"http://{addresses['api']}", f"http://{addresses['http']}"

    def shell(self, *command):
        return subprocess.run(["sh", *command], check=False, capture_output=True, text=True, timeout=120)

    def expect(self, what, holds, seen):
        if not holds:
            self.problems.append(f"{what}: {seen}")

    def expect_applied(self, what, done):
        self.expect(what, done.returncode == 0 and '"token"' in done.stdout and done.stdout.rstrip().endswith('{"results":[{"code":"APPLIED"}]}'),
                    done)

    def guide(self):
        """The first blocks of the guide, and the script that it names."""
        text = processes.read(f"{self.source}/docs/http.md")
        section = text[text.index("## By curl"):]
        start, calls = re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)[:2]
        config = re.fullmatch(r"bandana-server --config (\S+) --data_dir \S+\n", start).group(1)
        model = re.search(r"Its model is `(.*?)`\.", section, re.S).group(1)
        self.expect("the model of the guide is that of its file", " ".join(model.split()) in processes.read(f"{self.source}/{config}"), model)
        api, _ = self.start(f"{self.source}/{config}")
        self.expect("the guide names the default address", DEFAULT_API in calls, calls)
        self.expect_applied("docs/http.md, By curl", self.shell("-c", calls.replace(DEFAULT_API, api)))
        script = f"{self.source}/examples/curl/shop.sh"
        self.expect_applied("examples/curl", self.shell(script, api))
        refused = self.shell(script, api, "nobody")
        self.expect("examples/curl says why", refused.returncode != 0 and "NOT_FOUND" in refused.stderr and not refused.stdout, refused)

    def configurations(self):
        """The blocks of configuration in the guide, each with a model."""
        with open(f"{self.folder}/id-keys.json", "w", encoding="utf-8") as file:
            file.write(KEYS)
        blocks = re.findall(r"^```\n((?:api_listen|access).*?)^```$", processes.read(f"{self.source}/docs/http.md"), re.M | re.S)
        self.expect("the guide has two blocks of configuration", len(blocks) == 2, blocks)
        for number, block in enumerate(blocks):
            path = f"{self.folder}/block{number}.textproto"
            with open(path, "w", encoding="utf-8") as file:
                file.write(block + 'models { name: "articles" dimension: 2 shared {} mode: NON_PRIVATE }\n')
            done = subprocess.run([self.server, "--config", path, "--data_dir", f"{self.folder}/unused", "--check_config"],
                                  check=False, capture_output=True, text=True)
            self.expect("docs/http.md, configuration", done.returncode == 0, done)

    def summary(self):
        """The private model of README.md, and the lines about it."""
        text = processes.read(f"{self.source}/README.md")
        config, words = re.search(r"^```\n(models \{\n.*?)^```\n```\n(.*?)^```$", text, re.M | re.S).groups()
        path = f"{self.folder}/readme.textproto"
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        done = subprocess.run([self.server, "--config", path, "--data_dir", "/tmp/data", "--check_config"],
                              check=False, capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if not line.startswith("  note ")]
        self.expect("README.md, --check_config", done.returncode == 0 and said == words.splitlines(), done.stdout + done.stderr)

    def shop(self):
        api, _ = self.start(f"{self.source}/examples/shop/server.textproto")
        done = self.shell(f"{self.source}/examples/shop/shop.sh", api)
        rounds = done.stdout.splitlines()
        sold = sum(line.endswith(" 1") for line in rounds[100:])
        self.expect("examples/shop learns what sells", done.returncode == 0 and len(rounds) == 200 and sold >= 60, (done.stderr, sold))

    def recipe(self, name):
        return subprocess.run([self.server, "--new_model", name, "--try"], check=True, capture_output=True, text=True).stdout

    def personalizer(self):
        """The documented loop: an apprentice at first, it learns while one looks on, and without `apprentice` it explores."""
        text = self.recipe("personalizer")
        apprentice = self.loop("apprentice", text)
        self.expect("the apprentice answers the first action", apprentice["rewardActionId"] == "sports", apprentice)
        live = self.loop("live", text.replace(" apprentice: true", ""))
        probabilities = sorted(action["probability"] for action in live["ranking"])
        self.expect("the live loop explores", abs(probabilities[0] - 0.1) < 1e-6 and abs(probabilities[1] - 0.9) < 1e-6, probabilities)

    def loop(self, name, config):
        """Ranks, rewards and waits until something is learnt; the answer to the Rank after it."""
        path = f"{self.folder}/{name}.textproto"
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        api, pages = self.start(path)

        def call(path, body):
            request = urllib.request.Request(f"{api}/personalizer/v1.0{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()

        def rank(event):
            actions = [{"id": action, "features": [{"topic": action}]} for action in ("sports", "music")]
            status, text = call("/rank", {"eventId": event, "contextFeatures": [{"hour": 9}], "actions": actions})
            self.expect(f"{name}: rank answers 201", status == 201, status)
            return json.loads(text)

        def version():
            with urllib.request.urlopen(f"{pages}/metrics", timeout=30) as answer:
                return int(float(re.search(r"^bandana_model_posterior_version\{[^}]*\} (\S+)$", answer.read().decode(), re.M).group(1)))
        for number in range(5):
            shown = rank(f"event-{number}")["rewardActionId"]
            status, _ = call(f"/events/event-{number}/reward", {"value": 1 if shown == "sports" else 0})
            self.expect(f"{name}: reward answers 204", status == 204, status)
        before, began = version(), time.monotonic()
        processes.wait_for(f"{name}: something is learnt", lambda: version() > before, 30)
        print(f"{name}: learnt within {time.monotonic() - began:.1f} s")
        return rank("event-after")


def main():
    processes.need("curl")
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        examples = Examples(sys.argv[1], sys.argv[2], folder, children)
        examples.guide()
        examples.configurations()
        examples.summary()
        examples.shop()
        examples.personalizer()
    for problem in examples.problems:
        print(problem)
    sys.exit(1 if examples.problems else 0)


if __name__ == "__main__":
    main()
