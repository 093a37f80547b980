#!/usr/bin/env python3
"""Pages in a real browser call Select and Report over gRPC-Web, and Select by JSON, from another origin.

Usage: api_browser_test.py SERVER. Exits with 77 (skipped) where there is no Chromium.
"""

import hashlib
import http.server
import os
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402

TOKEN = "page-token-5f3c9f0de1b24c7a"
CONFIG = """listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"
api {{ allowed_origins: "{origin}" }}
access {{ principals {{ name: "page" token_sha256: "{digest}" roles: ROLE_SELECT roles: ROLE_REPORT }} }}
models {{ name: "news" dimension: 2 shared {{}} mode: NON_PRIVATE }}
"""


class Pages(http.server.ThreadingHTTPServer):
    """Serves one page, whatever is asked for."""

    page = b""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_port}"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def run(browser, pages):
    browser.open(f"{pages.origin}/", 800, 600, False)
    return processes.wait_for("the page has run", lambda: browser.evaluate("window.result"))


def main():
    path = chromium.find()
    if path is None:
        processes.skip("no Chromium; ./dev setup --full installs it")
    friend, stranger = Pages(), Pages()
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(origin=friend.origin, digest=digest))
        log = f"{folder}/server.log"
        server = children.start(log, [sys.argv[1], "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        api = processes.await_ready(server, log)["api"]
        html = processes.read(f"{HERE}/api_page.html")
        page = html.replace("<script>", f'<script>const API = "http://{api}", TOKEN = "{TOKEN}";', 1)
        Pages.page = page.encode()
        with chromium.Chromium(path, f"{folder}/browser") as browser:
            seen = run(browser, friend)
            refused = run(browser, stranger)
    print(seen, refused)
    applied, duplicate, invalid_argument, unauthenticated = 1, 2, 3, 16
    expected = {"select": 0, "report": applied, "again": duplicate, "select-text": 0, "report-text": applied,
                "again-text": duplicate, "stranger": unauthenticated, "json": 1}
    problems = [f"{name}: {seen.get(name)} instead of {value}" for name, value in expected.items() if seen.get(name) != value]
    wrong = seen.get("wrong", {})
    if wrong.get("status") != invalid_argument or not wrong.get("message", "").startswith("user: must have 1 to 128 bytes"):
        problems.append(f"a wrong request is answered by {wrong}")
    if "Failed to fetch" not in refused.get("error", ""):
        problems.append(f"a page of another origin reads {refused}")
    for problem in problems:
        print("wrong or missing:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
