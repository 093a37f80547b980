#!/usr/bin/env python3
"""The pages for people in a real browser, in a window of 1,280 pixels and on a phone of 390.

A server with two models and one with twenty, some traffic, headless Chromium. Nothing may be cut: no page is wider than its window, no
text of a chart leaves the chart, no table needs scrolling. The state comes first.

Usage: status_page_browser_test.py SERVER FLEET SCREENSHOT.png. Writes one picture per page and width beside SCREENSHOT.png. Exits with
77 (skipped) where there is no Chromium.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import chromium  # noqa: E402

SIZES = {"wide": (1280, 900, False), "phone": (390, 844, True)}

REWARDS = "reward_min: -0.5 reward_max: 0.5"
LOCAL = f"{REWARDS} mode: LOCAL_REWARD reward_stddev: 0.05 reporting {{ one_per_decision: true }}"
JOINT = f"{REWARDS} mode: JOINT reporting {{ one_per_decision: true }} privacy {{ epsilon: 1 delta: 1e-5 }}"
KINDS = [
    f"shared {{}} {REWARDS} mode: NON_PRIVATE",
    f"independent {{}} {LOCAL} privacy {{ epsilon: 2 events_per_user_max: 20000 }}",
    f"effects {{ standard {{}} }} {REWARDS} mode: NON_PRIVATE",
    f"effects {{ standard {{}} }} {LOCAL} privacy {{ epsilon: 2 }}",
    f"shared {{}} {JOINT}",
]
LONG_NAME = "a-model-whose-name-is-as-long-as-a-name-may-be-which-is-63-char"
FEW = {"open": KINDS[0], "private": KINDS[1]}
MANY = {LONG_NAME: KINDS[1], **{f"model-{i:02}": KINDS[i % len(KINDS)] for i in range(1, 20)}}

# A page's measurements of itself. Boxes that scroll by themselves are a way out that no page here should need.
MEASURE = """(limit => {
  const root = document.documentElement;
  const outside = [...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    return !e.closest('div.wide') && !e.closest('svg') && box.width > 0 && (box.right > limit + 0.5 || box.left < -0.5);
  });
  const cut = [...document.querySelectorAll('svg.chart text')].filter(e => {
    const box = e.getBBox(), view = e.ownerSVGElement.viewBox.baseVal;
    return box.x < -0.5 || box.x + box.width > view.width + 0.5 || box.y < -0.5 || box.y + box.height > view.height + 0.5;
  });
  const top = selector => { const e = document.querySelector(selector); return e ? e.getBoundingClientRect().top + scrollY : -1; };
  return {
    inner: innerWidth, width: root.scrollWidth,
    outside: outside.map(e => e.outerHTML.slice(0, 80)), cut: cut.map(e => e.textContent),
    rows: document.querySelectorAll('table.models tbody tr').length,
    tablesCut: [...document.querySelectorAll('div.wide')].filter(e => e.scrollWidth > e.clientWidth).length,
    banner: top('.banner'), table: top('table.models'), chart: top('svg.chart'),
    charts: document.querySelectorAll('svg.chart').length, lines: document.querySelectorAll('polyline').length,
    scripts: document.querySelectorAll('script').length, text: document.body.innerText, title: document.title,
  };
})"""


class Server:
    """A server with some models. Use it in a `with`."""

    def __init__(self, path, folder, models):
        os.mkdir(folder)
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write('listen: "127.0.0.1:0" http_listen: "127.0.0.1:0"\n')
            for name, config in models.items():
                file.write(f'models {{ name: "{name}" dimension: 10 {config} }}\n')
        self._process = subprocess.Popen([path, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"],
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.grpc, self.http = re.match(r"bandana-server ready listen=(\S+) http=(\S+)", self._process.stdout.readline()).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(30)


def send_traffic(fleet, server, models, seconds):
    end = time.time() + seconds
    while time.time() < end:
        for model in models:
            subprocess.run([fleet, "--target", server.grpc, "--model", model, "--environment", "synthetic", "--rounds", "100",
                            "--set", "users=1", "--in_flight", "4"], check=True, stdout=subprocess.DEVNULL)


def check(browser, url, size, picture, problems):
    """Opens the page and looks for what holds of every page. Returns what it measured."""
    width, height, phone = SIZES[size]
    where = f"{url} at {width}"
    browser.open(url, width, height, phone)
    seen = browser.evaluate(f"{MEASURE}({width})")
    browser.screenshot(picture)
    if seen["inner"] != width:
        problems.append(f"{where}: the window has {seen['inner']} pixels: something widened it")
    if seen["width"] > width:
        problems.append(f"{where}: the page has {seen['width']} pixels")
    problems += [f"{where}: beyond the window: {element}" for element in seen["outside"]]
    problems += [f"{where}: cut in a chart: {text}" for text in seen["cut"]]
    if seen["tablesCut"] > 0:
        problems.append(f"{where}: {seen['tablesCut']} tables need scrolling")
    if not 0 <= seen["banner"] < 200 or not seen["banner"] < seen["chart"]:
        problems.append(f"{where}: the state is at {seen['banner']}, not first")
    if seen["scripts"]:
        problems.append(f"{where}: a script")
    problems += [f"{where}: {error}" for error in browser.errors()]
    # The measure notices what is too wide.
    browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<div style=\"width: 1400px\">wide</div>')")
    wider = browser.evaluate(f"{MEASURE}({width})")
    if wider["width"] <= width or not wider["outside"]:
        problems.append(f"{where}: what is too wide goes unnoticed")
    return seen


def check_few(browser, server, size, picture, problems):
    seen = check(browser, f"http://{server.http}/", size, picture, problems)
    expected = {"a row per model": seen["rows"] == 2,
                "its words": "Serving. All 2 models are all right." in seen["text"],
                "its title": seen["title"] == "bandana-server: all right",
                "six charts of the server and three per model": seen["charts"] == 6 + 2 * 3,
                "lines in the charts": seen["lines"] >= 8,
                "the budget": "of 20000 events of one user" in seen["text"]}
    parts = seen["text"].split("\nopen\n")[-1].split("\nprivate\n")
    charts = browser.evaluate("[...document.querySelectorAll('svg.chart .title')].map(e => e.textContent)")
    expected["a chart of rewards of the non-private model only"] = (
        len(parts) == 2 and [title.split(" ")[0] for title in charts[6:]] == ["Reports", "Reward", "Lag", "Reports", "Released", "Lag"])
    return [what for what, there in expected.items() if not there]


def check_many(browser, server, size, picture, problems):
    seen = check(browser, f"http://{server.http}/", size, picture, problems)
    lines = seen["text"].replace("\t", "\n").split("\n")
    expected = {"twenty rows": seen["rows"] == 20,
                "its words": "Serving. All 20 models are all right." in seen["text"],
                "the name of each model": all(name in lines for name in MANY),
                "the overview before the charts": 0 < seen["table"] < seen["chart"],
                "charts of the server alone": seen["charts"] in (3, 6)}
    links = browser.evaluate("[...document.querySelectorAll('table.models a')].map(e => e.href)")
    expected["a link per model"] = sorted(links) == sorted(f"http://{server.http}/models/{name}" for name in MANY)
    return [what for what, there in expected.items() if not there]


def check_model(browser, server, size, name, picture, problems):
    seen = check(browser, f"http://{server.http}/models/{name}", size, picture, problems)
    return [] if seen["charts"] in (3, 6) and name in seen["text"] else [f"the page of {name}"]


def main():
    server_path, fleet_path, screenshot = sys.argv[1:]
    path = chromium.find()
    if path is None:
        print("SKIPPED: no Chromium; ./dev setup --full installs it")
        return 77
    stem = os.path.splitext(screenshot)[0]
    problems = []
    with tempfile.TemporaryDirectory() as folder, chromium.Chromium(path, f"{folder}/browser") as browser:
        with Server(server_path, f"{folder}/few", FEW) as server:
            send_traffic(fleet_path, server, FEW, 25)  # two samples of ten seconds
            for size in SIZES:
                problems += check_few(browser, server, size, f"{stem}_few_{size}.png", problems)
        with Server(server_path, f"{folder}/many", MANY) as server:
            send_traffic(fleet_path, server, MANY, 3)
            for size in SIZES:
                problems += check_many(browser, server, size, f"{stem}_many_{size}.png", problems)
                for name in (LONG_NAME, "model-02"):  # a private one, and one of effects
                    problems += check_model(browser, server, size, name, f"{stem}_{name[:8]}_{size}.png", problems)
    for problem in problems:
        print("wrong or missing:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
