#!/usr/bin/env python3
"""The page of ./dev web in a browser: a click sends nothing, reports leave with the next visit, two tabs share one ledger.

Usage: web_page_test.py SERVER SOURCE_FOLDER WASM_MODULE [SCREENSHOT_FOLDER]. Ends with 77 (skipped) where there is no Chromium.
"""

import os
import re
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402

SPENT = re.compile(r"(\d+) events of 300.* (\d+) reports wait .* (\d+) were taken", re.S)


def ready(browser):
    processes.wait_for("the page is ready", lambda: browser.evaluate("document.body.dataset.ready || document.body.dataset.failed"))
    assert browser.evaluate("document.body.dataset.ready") == "yes", browser.evaluate("document.body.dataset.failed")


def spent(browser):
    return tuple(map(int, SPENT.search(browser.evaluate("document.getElementById('spent').textContent")).groups()))


def preloaded(source):
    """The SDK's modules that the page fetches at once, and those that it needs."""
    needed, found = [], ["browser"]
    while found:
        needed.append(found.pop())
        names = re.findall(r'from "\./(\w+)\.js"', processes.read(f"{source}/client/js/src/{needed[-1]}.js"))
        found += [name for name in names if name not in needed + found]
    return re.findall(r'"modulepreload" href="/sdk/src/(\w+)\.js"', processes.read(f"{source}/examples/web/index.html")), needed


def main():
    path = chromium.find()
    if path is None:
        processes.skip("no Chromium; ./dev setup --full installs it")
    server, source, module, *shots = sys.argv[1:]
    problems = []

    def expect(name, seen, expected):
        if seen != expected:
            problems.append(f"{name}: {seen} instead of {expected}")

    links, needed = preloaded(source)
    expect("modules that are fetched at once", sorted(links), sorted(needed))
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        log = f"{folder}/web.log"
        web = children.start(log, [sys.executable, f"{source}/tools/web/web.py", server, source, module])
        address = processes.wait_for("the page is served", lambda: re.search(r"ready (http://\S+)", processes.read(log))).group(1)
        with chromium.Chromium(path, f"{folder}/browser") as browser:
            browser.open(address, 1200, 900, False)
            ready(browser)
            expect("stories", browser.evaluate("document.querySelectorAll('#chosen .story').length"), 3)
            expect("spent", spent(browser), (3, 3, 0))
            before = browser.evaluate("document.querySelectorAll('#calls li').length")
            browser.evaluate("document.querySelector('#chosen .story').click(); 0")
            processes.wait_for("the click is told", lambda: "you made just now: nothing left" in browser.evaluate("document.getElementById('silent').textContent"))
            expect("calls of a click", browser.evaluate("document.querySelectorAll('#calls li').length"), before)
            expect("the story is open", browser.evaluate("document.getElementById('story').open"), True)
            # Another visit within the windows sends none of the reports.
            browser.open(address, 1200, 900, False)
            ready(browser)
            expect("a visit too soon", spent(browser)[2], 0)
            processes.wait_for("the windows are over", lambda: "windows are over" in browser.evaluate("document.getElementById('later').textContent"))
            browser.open(address, 1200, 900, False)
            ready(browser)
            processes.wait_for("six reports are taken", lambda: spent(browser)[2] == 6)
            processes.wait_for("their call is shown", lambda: "Submit" in browser.evaluate("document.getElementById('calls').textContent"))
            browser.evaluate("(async () => { const frame = document.body.appendChild(document.createElement('iframe')); frame.src = '/'; frame.id = 'tab'; })(); 0")
            processes.wait_for("a second tab is ready", lambda: browser.evaluate("document.getElementById('tab').contentDocument?.body?.dataset.ready === 'yes'"))
            processes.wait_for("one ledger", lambda: spent(browser)[0] == 12)
            expect("calls of the second tab", browser.evaluate("document.getElementById('tab').contentDocument.querySelectorAll('#calls li').length"), 0)
            expect("the browser's complaints", browser.errors(), [])
            asked = browser.evaluate("performance.getEntriesByName(`${document.documentElement.dataset.api}/v1/models/news:select`).length")
            expect("looks at what was learnt, by a page that was open for seconds", asked, 1)
            browser.open(address, 1200, 900, False)
            ready(browser)
            expect("reports that the server has learnt from", browser.evaluate("document.getElementById('version').textContent"), "6")
            for width, phone in ((1200, False), (390, True)) if shots else ():
                browser.open(address, width, 900, phone)
                ready(browser)
                browser.screenshot(f"{shots[0]}/web-{width}.png")
        web.send_signal(signal.SIGINT)
        expect("its end", web.wait(30), 0)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
