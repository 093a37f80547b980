#!/usr/bin/env python3
"""The JavaScript SDK where a browser's storage is full, blocked, cleared or private: clear errors, and nothing is sent that was not made durable.

Usage: faults_test.py SERVER PACKAGE. Exits with 77 (skipped) where there is no Chromium.
"""

import sys

import pages
from browser_test import CONFIG
from pages import ARMS, check, run

# Counts calls by their methods, and says how a promise ended.
SEEN = """
const calls = {};
if (!window.fetched) window.fetched = window.fetch;
window.fetch = (url, ...more) => {
  const method = String(url).split("/").at(-1);
  calls[method] = (calls[method] ?? 0) + 1;
  return window.fetched(url, ...more);
};
const fate = (promise) => promise.then(() => "done", (error) => `${error.status}: ${error.detail}`);
"""


def full(browser, api, origin, problems):
    """A quota that is used up from the start, and a transaction that the browser ends: no decision, no draw, no report before there is room."""
    elsewhere = origin.replace("127.0.0.1", "localhost")  # another origin, whose room the browser does not know yet
    browser.open(f"{elsewhere}/page.html", 800, 600, False)
    browser.storage("overrideQuotaForOrigin", origin=elsewhere, quotaSize=1)
    seen = run(browser, api, SEEN + """return {fate: await fate(open("news", "full")), calls: calls.GetModel ?? 0};""")
    if "UNAVAILABLE" not in seen["fate"] or "uota" not in seen["fate"] or seen["calls"] != 0:
        problems.append(f"connect where the storage is full: {seen}")
    browser.open(f"{origin}/page.html?full", 800, 600, False)
    seen = run(browser, api, SEEN + f"""
        const client = await open("news", "full");
        await client.report(await client.select("ann", {ARMS}), 1);
        const {{commit}} = IDBTransaction.prototype;
        IDBTransaction.prototype.commit = function () {{ this.abort(); }};
        const selected = await fate(client.select("ann", {ARMS}));
        await wait(1000);
        const then = await client.stats();
        const seen = {{selected, submits: calls.Submit ?? 0, applied: then.reportsApplied, pending: then.reportsPending}};
        IDBTransaction.prototype.commit = commit;
        await client.select("ann", {ARMS});
        const stats = await applied(client, 2);
        const {{events}} = await client.spent("ann");
        await client.close();
        return {{...seen, events, defaulted: stats.reportsDefaulted}};""")
    if "UNAVAILABLE" not in seen["selected"] or "aborted" not in seen["selected"]:
        problems.append(f"a select whose transaction ends: {seen['selected']}")
    del seen["selected"]
    check(problems, "transactions that end", seen, {"submits": 0, "applied": 0, "pending": 1, "events": 2, "defaulted": 1})


def blocked(browser, api, origin, problems):
    """No IndexedDB, or no place for the mark: refused before anything is sent."""
    names = {"indexedDB": "Object.defineProperty(window, 'indexedDB', {get() { throw new DOMException('it is denied', 'SecurityError'); }});",
             "localStorage": "Storage.prototype.setItem = () => { throw new DOMException('it is denied', 'QuotaExceededError'); };"}
    for name, block in names.items():
        browser.open(f"{origin}/page.html?{name}", 800, 600, False)
        seen = run(browser, api, SEEN + block + """
            return {fate: await fate(open("news", "blocked" + Math.random())), calls: Object.keys(calls).filter((method) => method !== "bandana.wasm")};""")
        if "UNAVAILABLE" not in seen["fate"] or "it is denied" not in seen["fate"]:
            problems.append(f"connect without {name}: {seen['fate']}")
        check(problems, f"calls without {name}", seen["calls"], [])
    browser.open(f"{origin}/page.html", 800, 600, False)


def cleared(browser, api, origin, problems):
    """The database alone is missed; all storage together is a new store. Under a client that is open nothing is drawn any more."""
    run(browser, api, f"""
        const client = await open("slow", "cleared");
        await client.select("ann", {ARMS});
        await client.close();
        await new Promise((resolve) => (indexedDB.deleteDatabase("bandana cleared").onsuccess = resolve));
        return true;""")
    seen = run(browser, api, SEEN + """return {fate: await fate(open("slow", "cleared")), calls: calls.GetModel ?? 0};""")
    if "DATA_LOSS" not in seen["fate"] or seen["calls"] != 0:
        problems.append(f"a store whose database is gone: {seen}")
    run(browser, api, f"""
        window.kept = {{client: await open("news", "gone")}};
        await window.kept.client.select("ann", {ARMS});
        return true;""")
    browser.storage("clearDataForOrigin", origin=origin, storageTypes="all")
    seen = run(browser, api, SEEN + f"""
        const {{client}} = window.kept;
        await wait(1000);
        const selected = await fate(client.select("ann", {ARMS}));
        await client.close();
        return {{selected, submits: calls.Submit ?? 0}};""")
    if "UNAVAILABLE" not in seen["selected"] or seen["submits"] != 0:
        problems.append(f"a store that was cleared under its client: {seen}")
    browser.open(f"{origin}/page.html?again", 800, 600, False)
    seen = run(browser, api, """
        const client = await open("news", "gone");
        const {events} = await client.spent("ann");
        await client.close();
        return events;""")
    check(problems, "events of a store that was cleared", seen, 0)


def private(browser, api, origin, problems):
    """A private window has a store of its own as long as it is open: rows and mark go together, and the next one begins anew."""
    for window in range(2):
        with browser.private():
            for visit in range(2):
                browser.open(f"{origin}/page.html?{visit}", 800, 600, False)
                seen = run(browser, api, f"""
                    const client = await open("slow", "private");
                    const before = (await client.spent("ann")).events;
                    await client.report(await client.select("ann", {ARMS}), 1);
                    await client.close();
                    return before;""")
                check(problems, f"events in private window {window} before visit {visit}", seen, visit)


def test(browser, api, origin, problems):
    for part in (full, blocked, cleared, private):
        part(browser, api, origin, problems)


if __name__ == "__main__":
    sys.exit(pages.main(CONFIG, test))
