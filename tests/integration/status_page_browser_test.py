#!/usr/bin/env python3
"""The status page in a real browser: a server with a private and a non-private model, some traffic, headless Chromium.

Usage: status_page_browser_test.py SERVER FLEET SCREENSHOT.png. Exits with 77 (skipped) where there is no Chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time

CONFIG = """
listen: "127.0.0.1:0" http_listen: "127.0.0.1:0"
models { name: "open" dimension: 10 shared {} mode: NON_PRIVATE reward_min: -0.5 reward_max: 0.5 }
models {
  name: "private" dimension: 10 independent {} mode: LOCAL_REWARD reward_min: -0.5 reward_max: 0.5 reward_stddev: 0.05
  reporting { one_per_decision: true } privacy { epsilon: 2 events_per_user_max: 20000 }
}
"""


def main():
    server_path, fleet_path, screenshot = sys.argv[1:]
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("SKIPPED: no Chromium; ./dev setup --full installs it")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG)
        server = subprocess.Popen([server_path, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            ready = re.match(r"bandana-server ready listen=(\S+) http=(\S+)", server.stdout.readline())
            grpc, http = ready.groups()
            end = time.time() + 18  # a few samples of five seconds
            while time.time() < end:
                for model in ("open", "private"):
                    subprocess.run([fleet_path, "--target", grpc, "--model", model, "--environment", "synthetic", "--rounds", "300",
                                    "--set", "users=1", "--in_flight", "4"], check=True, stdout=subprocess.DEVNULL)
            flags = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser", "--window-size=1300,1100",
                     "--virtual-time-budget=2000"]
            dom = subprocess.run([*flags, "--dump-dom", f"http://{http}/"], capture_output=True, text=True, timeout=120, check=True).stdout
            subprocess.run([*flags, f"--screenshot={screenshot}", f"http://{http}/"], capture_output=True, timeout=120, check=True)
        finally:
            server.terminate()
            server.wait(30)
    problems = []
    if len(re.findall(r"<tr><td><b>", dom)) != 2:
        problems.append("a row a model")
    if dom.count('<svg class="chart"') != 3 + 2 * 2:
        problems.append("three charts of the server and two a model")
    if dom.count("<polyline") < 6:
        problems.append("lines in the charts")
    if 'class="bar"' not in dom or "of 20000 events of one user" not in dom:
        problems.append("the budget's bar")
    open_part = dom[dom.index("<h2>open</h2>"):dom.index("<h2>private</h2>")]
    private_part = dom[dom.index("<h2>private</h2>"):dom.index("<footer>")]
    if "Reward" not in open_part or "Reward" in private_part:
        problems.append("rewards of the non-private model only")
    for problem in problems:
        print("missing:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
