"""From decisions at a server to answers: evaluate_server_test.py SERVER CTL.

Two models behind an alias, of which one ranks the better arm first more often. Their decision logs are exported and judged, and the split
is judged over users.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402
import sdk_server  # noqa: E402

SERVER, CTL = sys.argv[1:3]
USERS = 460
MODEL = 'models {{ name: "{0}" dimension: 2 shared {{}} reward_binary: true mode: NON_PRIVATE decision_log {{}} policy {{ {1} }} }}\n'
CONFIG = MODEL.format("a", "uniform_mix { uniform_share: 1 }") + MODEL.format("b", "uniform_mix { uniform_share: 0.2 }")


def post(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, (answer.status, text)
    return json.loads(text)


def ctl(*words, code=0):
    done = subprocess.run([CTL, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (words, done)
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        server = sdk_server.start(SERVER, folder, children, CONFIG)
        target = ("--target", server.grpc)
        ctl(*target, "models", "alias", "put", "front", "a", "b")
        # One connection: a server takes so many new ones per second.
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
        for number in range(USERS):
            arms = {"inlineArms": {"features": [1, 0, 0, 1]}}
            chosen = post(connection, "/v1/models/front:select", {"user": f"u{number}", "arms": arms})
            good = chosen["positions"][0] == 0
            reward = int(number % 10 < (6 if good else 2))
            done = post(connection, "/v1/models/front:report", {"outcomes": [{"token": chosen["token"], "reward": reward}]})
            assert done["results"][0]["code"] == "APPLIED", done
        # A model is not judged by lines that it has learnt from: all of its lines are older than its export.
        exported_model = f"{folder}/a.bandana"
        ctl(*target, "export", exported_model, "--model", "a")
        ctl(*target, "decisions", "export", f"{folder}/a.jsonl", "--model", "a")
        answer = json.loads(ctl("evaluate", "--log", f"{folder}/a.jsonl", "--policy", f"model:{exported_model}", "--json", "-", code=1))
        assert "the model has learnt from" in answer["rows"][0]["note"], answer
        assert answer["rows"][0]["value"] is None, answer
        horizon = "1s"
        time_closed = time.monotonic() + 1.5
        logged = 0
        for model in "ab":
            path = f"{folder}/{model}.jsonl.gz"
            ctl(*target, "decisions", "export", path, "--model", model)
            # Some 230 users have had a model: too few for an anytime interval, and for other policies than its own.
            answer = json.loads(ctl("evaluate", "--log", path, "--policy", "logging", "--estimator", "ips", "--interval", "large_sample",
                                    "--json", "-"))
            assert answer["log"]["propensities"] in ("right", "not tested"), answer
            logged += answer["log"]["used"]
            assert all(row["low"] <= row["value"] <= row["high"] for row in answer["rows"]), answer
        assert logged == USERS, logged
        while time.monotonic() < time_closed:
            time.sleep(0.05)  # until every user's horizon is over
        split = json.loads(ctl(*target, "evaluate", "split", "--alias", "front", "--horizon", horizon, "--decisions", "1", "--json=-"))
        assert [value["model"] for value in split["models"]] == ["a", "b"], split
        assert split["difference"]["users"] == USERS == sum(value["users"] for value in split["models"]), split
        assert split["difference"]["low"] <= split["difference"]["value"] <= split["difference"]["high"], split
        assert split["error"] is None, split
        longer = json.loads(ctl(*target, "evaluate", "split", "--alias", "front", "--json=-", code=1))
        assert longer["open"] == USERS and "users are closed" in longer["error"], longer
        ctl(*target, "evaluate", "split", "--alias", "nobody", code=1)
        processes.stop(server.process)
        # The folder of a stopped server says the same as its export.
        for model in "ab":
            words = ("--policy", "logging", "--estimator", "ips", "--interval", "large_sample", "--json", "-")
            exported = json.loads(ctl("evaluate", "--log", f"{folder}/{model}.jsonl.gz", *words))
            kept = json.loads(ctl("evaluate", "--log", f"{folder}/data/models/{model}/decisions", *words))
            assert kept == exported, (kept, exported)
    print("ok")


if __name__ == "__main__":
    main()
