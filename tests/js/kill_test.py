#!/usr/bin/env python3
"""The JavaScript SDK killed at every hook, alone and with a second tab, in a real browser: nothing is lost, drawn twice, or sent unpaid.

Usage: kill_test.py SERVER PACKAGE. Exits with 77 (skipped) where there is no Chromium. Each point is a worker that stops there for ever and is
then ended; the next worker of its store goes on from the rows. With two tabs the second one has asked the first meanwhile, and takes the store
over when it is gone. Mutants of the host must be found.
"""

import collections
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "reference"))
import pages  # noqa: E402
import wire  # noqa: E402

AT_ONCE = 6
CONFIG = """api {{ allowed_origins: "{origin}" }}
models {{ name: "quick" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }}
  reporting {{ reward_window {{ duration {{ nanos: 100000000 }} default_reward: 0.5 }} }} }}
"""
VISITS = """
const visit = (given, owns = () => {}) => new Promise((resolve) => {
  const worker = new Worker("/killed_worker.mjs", {type: "module"});
  const seen = {told: 0, sent: []};
  const end = (more) => { worker.terminate(); owns(); resolve({...seen, ...more}); };
  worker.onmessage = ({data}) => {
    if (data.told) ++seen.told;
    else if (data.owns) owns();
    else if (data.sent) seen.sent.push(data.sent.map((byte) => byte.toString(16).padStart(2, "0")).join(""));
    else end(data);
  };
  worker.onerror = ({message}) => end({failed: message});
  setTimeout(end, 40000, {failed: "it does not end"});
  worker.postMessage({api: API, ...given});
});
const killed = async (killAt, mutant, leave) => {
  const store = `${mutant} ${leave} ${killAt}`;
  const first = await visit({store, killAt, mutant, leave});
  const then = first.killed ? await visit({store, killAt: 0, mutant, leave, recovers: true}) : undefined;
  return {killAt, first, then};
};
// The second tab begins once the first one has the store, or is killed.
const besides = async (killAt, mutant, leave) => {
  const store = `two ${mutant} ${leave} ${killAt}`;
  let then;
  const first = await visit({store, killAt, mutant, leave}, () => (then ??= visit({store, killAt: 0, mutant, leave})));
  return {killAt, first, then: await then};
};
"""


class Files(pages.Files):
    def do_GET(self):  # pylint: disable=invalid-name
        if self.path != "/killed_worker.mjs":
            super().do_GET()
            return
        with open(os.path.join(HERE, "killed_worker.mjs"), "rb") as file:
            body = file.read()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript")
        self.end_headers()
        self.wfile.write(body)


def reports_of(visits):
    """token -> the different reports that were sent with it."""
    reports = collections.defaultdict(set)
    for visit in visits:
        for body in visit["sent"]:
            for report in wire.all_of(bytes.fromhex(body)[5:], 3):
                reports[wire.one_of(report, 1)].add(report)
    return reports


def faults_of(run):
    """The faults of a visit that was killed, and of the one after it."""
    visits = [visit for visit in (run["first"], run.get("then")) if visit]
    failed = [visit["failed"] for visit in visits if "failed" in visit]
    if failed:
        return [f"failed: {failed[0]}"]
    reports = reports_of(visits)
    events = max(visit["ended"]["events"] for visit in visits if "ended" in visit)
    faults = []
    if any(len(different) > 1 for different in reports.values()):
        faults.append("drawn twice")
    if len(reports) < sum(visit["told"] for visit in visits):
        faults.append("lost")
    if events != len(reports):
        faults.append(f"{len(reports)} decisions reported, {events} paid")
    return faults


def runs_of(browser, api, mutant, leave, points, visits="killed"):
    """The visits of one host, killed at each of the points. `visits`: "killed" one after another, or "besides" each other."""
    body = VISITS + f"""const points = {list(points)}, runs = [];
      await Promise.all(Array.from({{length: {AT_ONCE}}}, async () => {{
        while (points.length > 0) runs.push(await {visits}(points.shift(), "{mutant}", "{leave}"));
      }}));
      return runs;"""
    return pages.run(browser, api, body)


def check(browser, api, leave, mutants, problems, visits="killed"):
    whole = runs_of(browser, api, "none", leave, [0], visits)[0]["first"]
    if "ended" not in whole:
        problems.append(f"a visit: {whole}")
        return
    last = whole["ended"]["points"]
    names = collections.Counter()
    for begin in range(1, last + 1, 12):
        for run in runs_of(browser, api, "none", leave, range(begin, min(begin + 12, last + 1)), visits):
            names[run["first"].get("killed", "nowhere")] += 1
            for fault in faults_of(run):
                problems.append(f"{visits} {run['first'].get('killed')} ({run['killAt']}): {fault}")
    print(f"{leave}, {visits}: {last} points: {dict(names)}", flush=True)
    for mutant in mutants:
        found = collections.Counter()
        for begin in range(1, last + 1, 12):
            for run in runs_of(browser, api, mutant, leave, range(begin, min(begin + 12, last + 1), 3 if mutant.startswith("un") else 1), visits):
                found.update(faults_of(run))
        print(f"mutant {mutant}: {dict(found)}")
        if not found:
            problems.append(f"mutant {mutant} is not found")


def test(browser, api, _, problems):
    check(browser, api, "when_due", ("early", "undrawn", "unpaid", "unopened"), problems)
    check(browser, api, "at_start", (), problems)
    check(browser, api, "when_due", ("undrawn",), problems, "besides")


if __name__ == "__main__":
    sys.exit(pages.main(CONFIG, test, Files))
