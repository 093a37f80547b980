#!/usr/bin/env python3
"""The law of what leaves a device, host by host, at a real server, through a relay that keeps it (README.md).

Usage: distribution_test.py SERVER fast|slow cpp=PROGRAM c=PROGRAM python=FOLDER [node=FOLDER] [java=JAR]
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import law  # noqa: E402
import processes  # noqa: E402
import recorder  # noqa: E402
import sdk_server  # noqa: E402

SLOTS = 16
AT_ONCE = 3
POWER_MIN = 0.99
# Durability is not what is tested here, and syncs of a disk would take most of the time.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclasses.dataclass
class Case:
    """A model with rewards in [0, 1], what every user's reward is, and mutants: (epsilon, reward) that a wrong device would draw by."""

    model: str
    epsilon: float
    binary: bool
    reward: float
    reports: int  # of each host
    mutants: list

    def law(self):
        return law.outputs(self.epsilon, self.binary, self.reward)

    def check_power(self, expected):
        for epsilon, reward in self.mutants:
            power = law.power(self.reports, expected, law.outputs(self.epsilon, self.binary, reward, epsilon))
            assert power >= POWER_MIN, f"model {self.model}: {self.reports} reports refuse {epsilon, reward} with probability {power} alone"

    def config(self):
        reward = "reward_binary: true" if self.binary else "reward_min: 0 reward_max: 1"
        return f"""models {{ name: "{self.model}" dimension: 2 shared {{}} {reward} mode: LOCAL_REWARD
          privacy {{ epsilon: {self.epsilon} mechanism: REWARD_RANDOMIZER }}
          reporting {{ reward_window {{ duration {{ seconds: 2 }} default_reward: 0 }} }} }}\n"""


FAST = [Case("two", 2.0, False, 0.7, 2240, [(1.0, 0.7), (3.0, 0.7), (2.0, 0.63), (2.0, 0.77)])]
SLOW = [
    Case("two", 2.0, False, 0.7, 8000, [(1.6, 0.7), (2.5, 0.7), (2.0, 0.665), (2.0, 0.735)]),
    Case("low", 1.0, False, 0.25, 5600, [(0.5, 0.25), (1.5, 0.25), (1.0, 0.15), (1.0, 0.4)]),
    Case("high", 5.0, False, 0.5, 7200, [(4.0, 0.5), (5.0, 0.475), (5.0, 0.525)]),
    Case("yes", 2.0, True, 1.0, 4000, [(1.6, 1.0), (2.5, 1.0), (2.0, 0.0)]),
    Case("no", 1.0, True, 0.0, 7360, [(0.8, 0.0), (1.2, 0.0), (1.0, 1.0)]),
]


def commands(hosts, folder):
    """By name, how a host is run: given an address of gRPC or of the API, what comes before MODEL STORE DECISIONS REWARD."""
    kinds = {
        "cpp": lambda program, grpc, api: [program, grpc],
        "c": lambda program, grpc, api: [program, api],
        "python": lambda package, grpc, api: [sys.executable, f"{HERE}/reporter.py", package, f"http://{api}"],
        "node": lambda package, grpc, api: ["node", f"{HERE}/reporter.mjs", package, f"http://{api}"],
        "java": lambda jar, grpc, api: ["java", "-cp", f"{jar}:{folder}", "Reporter", f"http://{api}"],
    }
    if "java" in hosts:
        subprocess.run(["javac", "-cp", hosts["java"], "-d", folder, f"{HERE}/Reporter.java"], check=True)
    return {name: functools.partial(kinds[name], given) for name, given in hosts.items()}


def run(way, server, case, store, reward):
    """Makes a host report, and returns the outputs that a relay saw: of reactions alone, each report once."""
    with contextlib.closing(recorder.Recorder(server.grpc)) as grpc, contextlib.closing(recorder.Recorder(server.url.removeprefix("http://"))) as api:
        command = [*way(grpc.address, api.address), case.model, store, str(case.reports // SLOTS), str(reward)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert done.stdout.split() == [str(case.reports), "0"], f"{command}: applied and defaulted {done.stdout}, not {case.reports} and 0"
        found = {}
        for token, output in grpc.reports(case.model) + api.reports(case.model):
            assert found.setdefault(token, output) == output, "a report was sent again with another output"
    assert len(found) == case.reports, f"{command}: the relay saw {len(found)} reports of {case.reports}"
    return list(found.values())


def counts_of(outputs, size):
    counts = [0] * size
    for output in outputs:
        assert output < size, f"output {output} of {size}"
        counts[output] += 1
    return counts


def judge(name, case, expected, outputs):
    """Whether the outputs are believed."""
    counts = counts_of(outputs, len(expected))
    wrong = law.refused(counts, expected)
    for first, end, count, low, high in wrong[:3]:
        print(f"{name}: {count} of {sum(counts)} outputs in [{first}, {end}), where [{low}, {high}] are believed")
    print(f"{name}, model {case.model}: {sum(counts)} reports, {len(wrong)} runs refused", flush=True)
    return not wrong


def check(case, ways, server, folder):
    """Every host is believed; a real device whose rewards are a mutant's is not. Returns the number of failures."""
    expected, failed = case.law(), 0
    case.check_power(expected)
    runs = [(name, way, case.reward) for name, way in ways.items()]
    runs += [(f"mutant with reward {reward}", ways["cpp"], reward) for epsilon, reward in case.mutants if epsilon == case.epsilon]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        def outputs(one):
            return run(one[1], server, case, f"{folder}/{case.model}-{one[0]}", one[2])
        for (name, _, reward), found in zip(runs, pool.map(outputs, runs)):
            if judge(name, case, expected, found) != (reward == case.reward):
                print(f"{name}, model {case.model}: FAILED")
                failed += 1
    return failed


def main():
    server_program, size = sys.argv[1:3]
    hosts = dict(argument.split("=", 1) for argument in sys.argv[3:])
    cases = FAST if size == "fast" else SLOW
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, processes.Children() as children:
        server = sdk_server.start(server_program, folder, children, "".join(case.config() for case in cases))
        ways = commands(hosts, folder)
        return 1 if sum(check(case, ways, server, folder) for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
