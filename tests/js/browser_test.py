#!/usr/bin/env python3
"""The JavaScript SDK in a real browser against a real server: decisions, navigations right after a reaction, two tabs, changed rows.

Usage: browser_test.py SERVER PACKAGE. Exits with 77 (skipped) where there is no Chromium. Prints times in ms.
"""

import json
import sys

import pages  # makes tests/support known
import processes
from pages import ARMS, COMMON, check, run

DECISIONS = 50
NAVIGATIONS = 60
CONFIG = """api {{ allowed_origins: "{origin}" }}
models {{ name: "news" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }}
  reporting {{ reward_window {{ duration {{ nanos: 300000000 }} default_reward: 0.5 }} }} }}
models {{ name: "slow" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }}
  reporting {{ reward_window {{ duration {{ seconds: 30 }} default_reward: 0.5 }} }} }}
models {{ name: "central" dimension: 2 shared {{}} mode: CENTRAL_REWARD privacy {{ epsilon: 2 delta: 1e-6 }}
  reporting {{ reward_window {{ duration {{ nanos: 300000000 }} default_reward: 0.5 }} }} }}
"""


def decisions(browser, api, problems):
    seen = run(browser, api, f"""
        const begin = performance.now();
        const client = await open("news", "decisions");
        const ready = performance.now() - begin, times = [];
        for (let i = 0; i < {DECISIONS}; ++i) {{
          const at = performance.now();
          const shown = await client.select("ann", {ARMS});
          times.push(performance.now() - at);
          await client.report(shown, 1);
        }}
        const stats = await applied(client, {DECISIONS});
        const spent = await client.spent("ann");
        await client.close();
        times.sort((a, b) => a - b);
        return {{ready, p50: times[times.length / 2], stats, spent}};""")
    print(f"ready {seen['ready']:.1f} ms, select p50 {seen['p50']:.1f} ms")
    check(problems, "events", seen["spent"]["events"], DECISIONS)
    check(problems, "defaulted", seen["stats"]["reportsDefaulted"], 0)
    check(problems, "clipped", seen["stats"]["rewardsClipped"], 0)


def navigations(browser, api, origin, problems):
    for i in range(NAVIGATIONS):
        browser.open(f"{origin}/page.html?{i}", 800, 600, False)
        processes.wait_for("the page has loaded", lambda: browser.evaluate("!!window.sdk"))
        browser.evaluate(f"""window.done = false; (async () => {{ const API = {json.dumps(api)}; {COMMON}
          const client = await open("slow", "navigations");
          const shown = await client.select("ann", {ARMS});
          client.report(shown, 1);
          location.href = "/page.html?after";
        }})().catch((error) => (window.failed = String(error))); 0""")
        processes.wait_for("the page has gone", lambda: browser.evaluate("window.failed || location.search === '?after'"))
        check(problems, "navigation", browser.evaluate("window.failed || ''"), "")
    browser.open(f"{origin}/page.html", 800, 600, False)
    stats = run(browser, api, f"""
        const client = await open("slow", "navigations");
        const stats = await applied(client, {NAVIGATIONS});
        await client.close();
        return stats;""")
    check(problems, "reactions that were lost in a navigation", stats["reportsDefaulted"], 0)
    check(problems, "reports after navigations", stats["reportsApplied"], NAVIGATIONS)


def tabs(browser, api, problems):
    seen = run(browser, api, f"""
        const first = await frame(), second = await frame();
        const one = await open("news", "tabs", first.contentWindow);
        const two = await open("news", "tabs", second.contentWindow);
        const shown = await two.select("ann", {ARMS});
        await two.report(await one.select("ann", {ARMS}), 1);
        const before = (await two.spent("ann")).events;
        const asked = two.select("ann", {ARMS});
        first.remove();
        await asked;
        await two.report(shown, 1);
        await two.select("ann", {ARMS});
        const third = await frame();
        const three = await open("news", "tabs", third.contentWindow);
        const after = (await three.spent("ann")).events;
        await two.close();
        const stats = await applied(three, 1);
        return {{before, after, last: (await three.spent("ann")).events}};""")
    check(problems, "events of two tabs", seen["before"], 2)
    if seen["after"] not in (4, 5):  # a decision that the first tab had made, and did not tell, may be one more
        problems.append(f"events after the owner has gone: {seen['after']}")
    check(problems, "events after the second owner has gone", seen["last"], seen["after"])


def sealed(browser, api, problems):
    seen = run(browser, api, f"""
        const client = await open("news", "sealed");
        await client.select("a-name-that-is-sealed", {ARMS});
        await client.close();
        const db = await new Promise((resolve) => (indexedDB.open("bandana sealed").onsuccess = (event) => resolve(event.target.result)));
        const get = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
        const key = await get(db.transaction("keys").objectStore("keys").get("seal"));
        const exported = await crypto.subtle.exportKey("raw", key).then(() => "yes", () => "no");
        const rows = await get(db.transaction("rows").objectStore("rows").getAll());
        const text = rows.map((row) => new TextDecoder("latin1").decode(row)).join("");
        const keys = await get(db.transaction("rows").objectStore("rows").getAllKeys());
        const change = db.transaction("rows", "readwrite");
        rows[0][20] ^= 1;
        change.objectStore("rows").put(rows[0], keys[0]);
        await new Promise((resolve) => (change.oncomplete = resolve));
        const refused = await open("news", "sealed").then(() => "opened", (error) => error.status);
        const wipe = db.transaction("rows", "readwrite");
        wipe.objectStore("rows").clear();
        await new Promise((resolve) => (wipe.oncomplete = resolve));
        const cleared = await open("news", "sealed").then(() => "opened", (error) => error.status);
        return {{exported, named: text.includes("a-name-that-is-sealed"), refused, cleared}};""")
    check(problems, "a store's key and rows", seen, {"exported": "no", "named": False, "refused": "DATA_LOSS", "cleared": "DATA_LOSS"})


def adopts(browser, api, problems):
    """A decision that a backend fetched is adopted when the page is loaded, and not by a person's click."""
    seen = run(browser, api, f"""
        const at = API + "/v1/models/news";
        const {{policyHash}} = await (await fetch(at)).json();
        const backend = async () => ({{user: "ann", model: "news", policyHash, decidedMs: Date.now(), selection: await (await fetch(at + ":select", {{
          method: "POST", body: JSON.stringify({{user: "ann", arms: {{inlineArms: {{features: {ARMS}.flat()}}}}, policyHash}})}})).json()}});
        const client = await open("news", "adopts");
        await client.report(await client.adopt("ann", await backend()), 1);
        const answer = await backend();
        window.clicked = {{client, done: new Promise((resolve) => document.addEventListener("click",
          () => client.adopt("ann", answer).then(() => resolve("adopted"), (error) => resolve(error.message)), {{once: true}}))}};
        const stats = await applied(client, 1);
        return stats.reportsDefaulted;""")
    check(problems, "an adopted decision with a reaction", seen, 0)
    browser.click(100, 100)
    seen = run(browser, api, "const {client, done} = window.clicked; const fate = await done; return {fate, events: (await client.spent('ann')).events};")
    if "FAILED_PRECONDITION: adopt must not be called in the handler of a click event" not in seen["fate"] or seen["events"] != 1:
        problems.append(f"a click that adopts: {seen}")


def late(browser, api, problems):
    """Where the server closes the windows it hears of what is shown alone: of nothing that was late."""
    seen = run(browser, api, f"""
        const client = await sdk.connect({{url: API, model: "central", store: sdk.pageStore("late"), leave: "when_due",
          policy: {{requireLocal: false, requireProven: false, epsilonMax: Infinity, deltaMax: 1}}}});
        const calls = [], fetched = window.fetch;
        let held = 300;
        window.fetch = async (url, ...more) => {{
          calls.push(String(url).split("/").at(-1));
          if (calls.at(-1) === "Select") await wait(held);
          return fetched(url, ...more);
        }};
        const own = await client.select("ann", {ARMS}, {{fallback: {{afterMs: 20, order: [1, 0]}}}});
        await client.report(own, 1);
        await wait(700);
        const before = [...calls];
        held = 0;
        const shown = await client.select("ann", {ARMS}, {{fallback: {{afterMs: 30000, order: [1, 0]}}}});
        await client.report(shown, 1);
        const {{reportsRejected}} = await applied(client, 1);
        window.fetch = fetched;
        await client.close();
        return {{own: own.isFallback, inTime: shown.isFallback === undefined, before, calls, reportsRejected}};""")
    check(problems, "a server that is late", seen, {"own": True, "inTime": True, "before": ["Select"],
                                                    "calls": ["Select", "Select", "Activate", "Report"], "reportsRejected": 0})


def test(browser, api, origin, problems):
    decisions(browser, api, problems)
    late(browser, api, problems)
    adopts(browser, api, problems)
    sealed(browser, api, problems)
    tabs(browser, api, problems)
    navigations(browser, api, origin, problems)


if __name__ == "__main__":
    sys.exit(pages.main(CONFIG, test))
