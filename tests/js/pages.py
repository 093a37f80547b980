"""A page that has the SDK in JavaScript, in a real browser, beside a real server. For the tests of this folder."""

import functools
import http.server
import json
import os
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402
import sdk_server  # noqa: E402

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


def main(config, test, files=Files):
    """The test's exit code: SERVER and PACKAGE are the program's arguments, `test(browser, api, origin, problems)` begins at an open page.

    `config` has the models, and the page's origin in the place of {origin}.
    """
    path = chromium.find()
    if path is None:
        processes.skip("no Chromium; ./dev setup --full installs it")
    server_program, package = sys.argv[1:3]
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(files, directory=package))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{pages.server_port}"
    problems = []
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        server = sdk_server.start(server_program, folder, children, config.format(origin=origin))
        with chromium.Chromium(path, f"{folder}/browser") as browser:
            browser.open(f"{origin}/page.html", 800, 600, False)
            test(browser, server.url, origin, problems)
    for problem in problems:
        print("wrong or missing:", problem)
    return 1 if problems else 0
