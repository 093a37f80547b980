#!/usr/bin/env python3
"""Microsoft's published client of Personalizer, unchanged, against a server: every call that it has, and a session that learns.

Usage: personalizer_client_test.py SERVER MODULES, where MODULES has node_modules by `npm ci` (./dev setup --full). Exits with 77
(skipped) where node or the modules are missing.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402

KEY = "personalizer-key-0a1b2c3d4e5f6071"
OTHER_KEY = "another-key-5f3c9f0de1b24c7a"
ONLINE = 'models { name: "loop" dimension: 64 shared {} mode: NON_PRIVATE exploration { alpha: 0.5 } reward_stddev: 0.5 %s }'
WINDOW = "reporting { reward_window { duration { seconds: 600 } } }"
PRIVATE = ('models { name: "loop" dimension: 16 shared {} mode: CENTRAL_REWARD privacy { epsilon: 2 delta: 1e-6 } '
           "reporting { reward_window { duration { seconds: 600 } } } }")
LOCAL = ('models { name: "loop" dimension: 16 shared {} mode: LOCAL_REWARD privacy { epsilon: 2 } '
         "reporting { one_per_decision: true } }")
CONFIG = """listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"
api {{ personalizer {{ {personalizer} }} }}
access {{ principals {{ name: "loop" token_sha256: "{digest}" roles: ROLE_SELECT roles: ROLE_REPORT models: "loop" }}
  principals {{ name: "other" token_sha256: "{other}" roles: ROLE_SELECT roles: ROLE_REPORT models: "loop" }} }}
{model}
"""
ACTIONS = [{"id": name, "features": [{"tag": name}]} for name in "abc"]


class Server:
    """A server with one model. Use it in a `with`."""

    def __init__(self, program, model, personalizer=""):
        self._folder = tempfile.TemporaryDirectory()
        self._children = processes.Children()
        folder = self._folder.name
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(personalizer=personalizer, digest=hashlib.sha256(KEY.encode()).hexdigest(),
                                     other=hashlib.sha256(OTHER_KEY.encode()).hexdigest(), model=model))
        log = f"{folder}/server.log"
        server = self._children.start(log, [program, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        self.endpoint = "http://" + processes.await_ready(server, log)["api"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._children.close()
        self._folder.cleanup()

    def call(self, path, body, method="POST", key=KEY):
        """Status and text of an answer of the Personalizer API. `body`: an object, or text as it is."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.endpoint}/personalizer/{path}", data if method != "GET" else None,
                                         {"Ocp-Apim-Subscription-Key": key, "Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Checks:
    """Collects what is not as it should be."""

    def __init__(self):
        self.problems = []

    def equal(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: {got!r} instead of {wanted!r}")

    def true(self, what, holds):
        if not holds:
            self.problems.append(what)


def by_client(server, modules, task):
    out = subprocess.run(["node", f"{HERE}/personalizer_client.mjs", modules, server.endpoint, KEY, task], check=True, capture_output=True, text=True)
    return json.loads(out.stdout.splitlines()[-1])


def check_calls(program, modules, checks):
    with Server(program, ONLINE % WINDOW) as server:
        seen = by_client(server, modules, "calls")
    print("calls:", json.dumps(seen))
    ids = [action["id"] for action in seen["ranking"]]
    checks.equal("status of rank", seen["status"], 201)
    checks.equal("event id", seen["eventId"], "event-1")
    checks.equal("ranked ids", sorted(ids), ["music", "politics", "sport", "weather"])
    checks.equal("the reward action", seen["rewardActionId"], ids[0])
    checks.equal("the excluded action", seen["ranking"][-1], {"id": "music", "probability": 0})
    checks.true("probabilities add up to one", abs(sum(a["probability"] for a in seen["ranking"]) - 1) < 1e-9)
    checks.equal("digits of a drawn event id", seen["randomId"], 32)
    checks.equal("rank with deferActivation", seen["deferred"], None)
    checks.equal("activate", seen["activated"], None)
    checks.equal("the same event again", seen["again"], seen["rewardActionId"])
    for name, status, code in (("reused", 409, "Conflict"), ("duplicate", 400, "BadRequest"), ("unknown", 404, "ResourceNotFound"),
                               ("unknownActivate", 404, "ResourceNotFound"), ("stranger", 401, "Unauthorized")):
        answer = seen[name] or {}
        checks.equal(name, (answer.get("status"), answer.get("code")), (status, code))
        checks.true(f"{name}: a message", bool(answer.get("message")))


def check_session(program, modules, checks):
    with Server(program, ONLINE % "") as server:
        seen = by_client(server, modules, "session")
    print("session of 500 rounds, mean reward:", json.dumps(seen), "random choice: 0.3")
    # Right code fails with probability below 1e-6 (100 rewards of 0.9, less its last errors); a loop that does not learn has 0.3.
    checks.true(f"the last 100 rounds have {seen['last']}", seen["last"] >= 0.65)


def check_apprentice(program, checks):
    with Server(program, ONLINE % WINDOW, "apprentice: true") as server:
        for _ in range(20):
            status, text = server.call("v1.0/rank", {"actions": ACTIONS, "excludedActions": ["a"]})
            checks.equal("the apprentice answers the first action that is not excluded", (status, json.loads(text).get("rewardActionId")),
                         (201, "b"))
        status, text = server.call("v1.0/configurations/service", b"", "GET")
        checks.equal("learning mode", (status, json.loads(text).get("learningMode")), (200, "Apprentice"))
        server.call("v1.0/rank", {"eventId": "mine", "actions": ACTIONS})
        checks.equal("a reward by another key", server.call("v1.0/events/mine/reward", {"value": 1}, key=OTHER_KEY)[0], 404)
        checks.equal("a reward by the same key", server.call("v1.0/events/mine/reward", {"value": 1})[0], 204)
        checks.equal("wait time", json.loads(text).get("rewardWaitTime"), "PT600S")


def check_slots(program, checks):
    path = "v1.1-preview.3/multislot"
    rank = {"eventId": "page-1", "deferActivation": True, "contextFeatures": [{"device": "ios"}], "actions": ACTIONS,
            "slots": [{"id": "top", "features": [{"size": "big"}], "baselineAction": "a", "excludedActions": ["b"]},
                      {"id": "side", "features": [], "baselineAction": "b"}]}
    with Server(program, ONLINE % WINDOW) as server:
        status, text = server.call(f"{path}/rank", rank)
        slots = json.loads(text).get("slots", [])
        checks.equal("status of a rank with slots", status, 201)
        checks.equal("its slots", [slot["id"] for slot in slots], ["top", "side"])
        chosen = [slot["rewardActionId"] for slot in slots]
        checks.true(f"slots have different actions, {chosen}", len(set(chosen)) == 2 and chosen[0] != "b")
        checks.equal("the same again", json.loads(server.call(f"{path}/rank", rank)[1]).get("slots"), slots)
        checks.equal("activate", server.call(f"{path}/events/page-1/activate", b"")[0], 204)
        checks.equal("activate what is not known", server.call(f"{path}/events/page-2/activate", b"")[0], 404)
        reward = {"reward": [{"slotId": "top", "value": 1}, {"slotId": "side", "value": 0}]}
        checks.equal("rewards of slots", server.call(f"{path}/events/page-1/reward", reward)[0], 204)
        reward["reward"][0]["slotId"] = "middle"
        checks.equal("reward of an unknown slot", server.call(f"{path}/events/page-1/reward", reward)[0], 404)
    with Server(program, PRIVATE.replace("CENTRAL_REWARD", "JOINT")) as server:
        status, text = server.call(f"{path}/rank", rank)
        checks.equal("slots in mode JOINT", (status, "JOINT hides a whole round" in text), (400, True))


def check_private(program, checks):
    with Server(program, PRIVATE) as server:
        answers = set()
        odd = [b'{"value": 1}', b'{"value": NaN}', b'{"value": null}', b'{"value": "much"}', b"{}", b"", b"{", b'{"value": 1e400}', b"\xff"]
        for number, body in enumerate(odd):
            server.call("v1.0/rank", {"eventId": f"e-{number}", "actions": ACTIONS})
            answers.add(server.call(f"v1.0/events/e-{number}/reward", body))
        # The answer to a report is the same whatever is in it, and whether one is held already.
        answers.add(server.call("v1.0/events/e-0/reward", b'{"value": 0}'))
        checks.equal("answers to rewards of a private model", answers, {(204, "")})
        status, text = server.call("v1.0/configurations/policy", b"", "GET")
        checks.equal("what is not served", (status, json.loads(text)["error"]["code"]), (404, "ResourceNotFound"))
        checks.equal("another method", server.call("v1.0/configurations/service", {}, "PUT")[0], 405)
    with Server(program, LOCAL) as server:
        for path in ("v1.0/rank", "v1.0/events/e/reward"):
            status, text = server.call(path, {"actions": ACTIONS, "value": 1})
            checks.equal(f"{path} of a local model", (status, "use the SDK" in text), (400, True))


def main():
    program, modules = sys.argv[1:]
    processes.need("node")
    if not os.path.isdir(f"{modules}/node_modules/@azure/cognitiveservices-personalizer"):
        processes.skip("the client's modules are missing; ./dev setup --full installs them")
    checks = Checks()
    check_calls(program, modules, checks)
    check_session(program, modules, checks)
    check_apprentice(program, checks)
    check_slots(program, checks)
    check_private(program, checks)
    for problem in checks.problems:
        print("wrong or missing:", problem)
    return 1 if checks.problems else 0


if __name__ == "__main__":
    sys.exit(main())
