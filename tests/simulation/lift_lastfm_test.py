"""Estimates and lift on Last.fm beside the truth: lift_lastfm_test.py PROGRAM_DIR [DECISIONS] [SEED].

Models of effects that draw by uniform_mix 0.1, without privacy and at epsilon 2, decide through server, SDK and fleet. The fleet
writes what every arm was worth. `bandana-ctl evaluate` judges the exported log, and the server judges itself: each interval must
hold the truth of the very decisions that it is of. Found through BANDANA_DATA_DIR; skipped without.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

BIN = sys.argv[1]
DECISIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
SEED = sys.argv[3] if len(sys.argv) > 3 else "7"
SKIPPED = 77
MONITOR_FIRST = 500  # decisions that choose the form of the monitor's intervals


def run(program, *arguments, timeout=3600):
    done = subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def configure(folder, model):
    """The written configuration with this one model, which draws its arms and keeps its decisions."""
    with open(os.path.join(folder, "server.textproto"), encoding="utf-8") as file:
        models = file.read().split("\nmodels {")
    chosen = next(text for text in models if f'name: "{model}"\n' in text)
    body = chosen[: chosen.rindex("}")]
    policy = "policy { uniform_mix { uniform_share: 0.1 } }\n  decision_log { arms_max: 100 }\n}\n"
    path = os.path.join(folder, f"{model}.textproto")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"listen: '127.0.0.1:0' http_listen: '127.0.0.1:0' data_dir: 'data-{model}'\nmodels {{{body}  {policy}")
    return path


class Server:
    def __init__(self, config):
        self.process = subprocess.Popen([os.path.join(BIN, "bandana-server"), "--config", config], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.target = self.http = None
        for line in self.process.stdout:
            found = re.search(r"bandana-server ready listen=(\S+) http(?:_listen)?=(\S+)", line)
            if found:
                self.target, self.http = found.groups()
                return
        sys.exit("the server did not start")

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=120)


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def truths(log, truth):
    """Per decision of the log, in its order: the true values of uniform, logging and greedy, and of the arm listed first."""
    worth = collections.defaultdict(collections.deque)
    for line in lines_of(truth):
        worth[tuple(line["arms"])].append(line)
    values = []
    for line in lines_of(log):
        told = worth[tuple(line["arms"])].popleft()
        assert told["chosen"] == line["chosen"], line["decision"]
        expected = told["expected"]
        best = max(line["q"])
        greedy = [e for e, q in zip(expected, line["q"]) if q == best]
        values.append({"uniform": sum(expected) / len(expected), "logging": sum(p * e for p, e in zip(line["p"], expected)),
                       "greedy": sum(greedy) / len(greedy), "first": expected[0]})
    return values


def mean(values, policy, against, skipped):
    tail = values[skipped:]
    return sum(v[policy] - (v[against] if against else 0) for v in tail) / len(tail)


def show(model, source, policy, against, value, low, high, true):
    inside = low <= true <= high
    print(f"{model:12} {source:9} {policy:8} {'- ' + against if against else '':10} {value:8.4f} [{low:8.4f}, {high:8.4f}] "
          f"true {true:8.4f} {'' if inside else 'OUTSIDE'}", flush=True)
    return inside


def judge(folder, model):
    server = Server(configure(folder, model))
    log, truth = os.path.join(folder, f"{model}.jsonl"), os.path.join(folder, f"{model}-truth.jsonl")
    try:
        run("bandana-fleet", f"--target={server.target}", f"--model={model}", f"--environment=hetrec:{folder}",
            f"--rounds={DECISIONS}", f"--seed={SEED}", "--in_flight=8", f"--truth={truth}")
        metrics = server.metrics()
        run("bandana-ctl", "--target", server.target, "decisions", "export", log, "--model", model)
    finally:
        server.end()
    values = truths(log, truth)
    assert len(values) == DECISIONS, len(values)
    inside = []
    answer = os.path.join(folder, f"{model}.json")
    for arguments in (["--policy", "uniform", "greedy", "logging"], ["--policy", "logging", "--against", "uniform"]):
        run("bandana-ctl", "evaluate", "--log", log, *arguments, "--json", answer)
        with open(answer, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        for row in rows:
            if row["low"] is None:
                continue
            skipped = DECISIONS - row["decisions"]
            true = mean(values, row["policy"], row["against"], skipped)
            inside.append(show(model, "evaluate", row["policy"], row["against"], row["value"], row["low"], row["high"], true))
    told = {(bound, against): float(figure) for bound, against, figure in re.findall(
        rf'bandana_model_lift{{model="{model}",bound="(\w+)",against="(\w+)"}} (\S+)', metrics)}
    for against in ("nothing", "uniform", "first"):
        true = mean(values, "logging", None if against == "nothing" else against, MONITOR_FIRST)
        inside.append(show(model, "server", "logging", "" if against == "nothing" else against, told["value", against],
                           told["low", against], told["high", against], true))
    return inside


def main():
    data = os.environ.get("BANDANA_DATA_DIR")
    if not data:
        print("BANDANA_DATA_DIR is not set")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="bandana-lift-") as folder:
        run("bandana-import", "hetrec", f"--in={data}/hetrec2011-lastfm-2k", f"--out={folder}", "--nodes=users")
        inside = judge(folder, "effects") + judge(folder, "ldp-effects")
    print(f"{sum(inside)} of {len(inside)} intervals hold the truth")
    return 0 if all(inside) and len(inside) >= 14 else 1


if __name__ == "__main__":
    sys.exit(main())
