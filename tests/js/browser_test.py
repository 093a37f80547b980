#!/usr/bin/env python3
"""The JavaScript SDK in a real browser against a real server: decisions, navigations right after a reaction, two tabs, changed rows.

Usage: browser_test.py SERVER PACKAGE. Exits with 77 (skipped) where there is no Chromium. Prints times in ms.
"""

import functools
import http.server
import json
import os
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402

DECISIONS = 50
NAVIGATIONS = 60
CONFIG = """listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"
api {{ allowed_origins: "{origin}" }}
models {{ name: "news" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }}
  reporting {{ reward_window {{ duration {{ nanos: 300000000 }} default_reward: 0.5 }} }} }}
models {{ name: "slow" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }}
  reporting {{ reward_window {{ duration {{ seconds: 30 }} default_reward: 0.5 }} }} }}
"""
PAGE = b"""<!doctype html><meta charset="utf-8"><title>page</title><script type="module">
import * as sdk from "/package/src/browser.js"; window.sdk = sdk;</script>"""
ARMS = "[[1, 0], [0, 1]]"
COMMON = """
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const open = (model, store, w = window) => w.sdk.connect({url: API, model, store: w.sdk.pageStore(store), policy: {epsilonMax: 2}, leave: "when_due"});
const applied = async (client, count) => {
  for (let i = 0; i < 600; ++i) {
    const stats = await client.stats();
    if (stats.reportsApplied >= count) return stats;
    await wait(100);
  }
  throw new Error("not applied: " + JSON.stringify(await client.stats()));
};
const frame = async () => {
  const made = document.body.appendChild(document.createElement("iframe"));
  made.src = "/page.html";
  while (!made.contentWindow?.sdk) await wait(10);
  return made;
};
"""


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html"}

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path.startswith("/page.html"):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE)
        else:
            self.path = self.path.removeprefix("/package")
            super().do_GET()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def run(browser, api, body):
    """The value that the body of an async function returns in the page."""
    processes.wait_for("the page has loaded", lambda: browser.evaluate("!!window.sdk"))
    browser.evaluate(f"""window.result = undefined; (async () => {{ const API = {json.dumps(api)}; {COMMON} {body} }})().then(
        (value) => (window.result = {{value}}), (error) => (window.result = {{error: String(error)}})); 0""")
    result = processes.wait_for("the page has run", lambda: browser.evaluate("window.result"), 90)
    if "error" in result:
        raise AssertionError(result["error"])
    return result.get("value")


def check(problems, name, seen, expected):
    if seen != expected:
        problems.append(f"{name}: {seen} instead of {expected}")


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


def main():
    path = chromium.find()
    if path is None:
        processes.skip("no Chromium; ./dev setup --full installs it")
    server_program, package = sys.argv[1:3]
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=package))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{pages.server_port}"
    problems = []
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(origin=origin))
        log = f"{folder}/server.log"
        server = children.start(log, [server_program, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        api = "http://" + processes.await_ready(server, log)["api"]
        with chromium.Chromium(path, f"{folder}/browser") as browser:
            browser.open(f"{origin}/page.html", 800, 600, False)
            decisions(browser, api, problems)
            adopts(browser, api, problems)
            sealed(browser, api, problems)
            tabs(browser, api, problems)
            navigations(browser, api, origin, problems)
    for problem in problems:
        print("wrong or missing:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
