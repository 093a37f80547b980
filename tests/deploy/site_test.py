#!/usr/bin/env python3
"""The documents' site, made and opened from its folder in Chromium: searching finds pages, code has colours, nothing comes from elsewhere.

Usage: site_test.py ROOT WORK. ROOT is the repository, WORK a folder of the test's own. Exits with 77 without mkdocs, pygmentize or Chromium.
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402

RESULTS = "[...document.querySelectorAll('#mkdocs-search-results a')].map(link => link.getAttribute('href'))"


def search(browser, site, query):
    """The links that the search shows, best first."""
    browser.open(f"file://{site}/search.html?q={query}", 1280, 900, False)
    processes.wait_for("the search has answered", lambda: browser.evaluate("document.querySelector('#mkdocs-search-results').children.length > 0"))
    assert not browser.errors(), browser.errors()
    return browser.evaluate(RESULTS)


def check_search(browser, site):
    for query, page in (("split by aliases", "docs/operations/models.html"), ("randomiz", "docs/privacy/reward_randomizer.html"),
                        ("half-life", "docs/design/forgetting.html")):
        found = search(browser, site, query)
        assert any(page in link for link in found[:10]), f"{query}: {found[:10]}"
        path = os.path.normpath(os.path.join(site, found[0].partition("#")[0]))
        assert os.path.isfile(path), f"{query}: {path}"
    assert search(browser, site, "zzyzx") == []
    assert search(browser, site, "<img src=x>") is not None
    assert browser.evaluate("document.querySelector('#mkdocs-search-results img')") is None, "a query became markup"


def check_colours(browser, site):
    browser.open(f"file://{site}/docs/sdk.html", 1280, 900, False)
    assert not browser.errors(), browser.errors()
    colours = browser.evaluate("new Set([...document.querySelectorAll('.codehilite span')].map(s => getComputedStyle(s).color)).size")
    assert colours >= 4, f"{colours} colours in the blocks of docs/sdk.html"


def check_own(site):
    """No page loads a script, a style or a picture from another host."""
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html"):
                text = processes.read(os.path.join(folder, name))
                foreign = re.findall(r"<(?:script|img)[^>]*src=\"(?:https?:)?//[^>]*>|<link[^>]*rel=\"stylesheet\"[^>]*href=\"(?:https?:)?//[^>]*>", text)
                assert not foreign, f"{name}: {foreign}"


def main(root, work):
    processes.need("mkdocs", "pygmentize")
    path = chromium.find()
    if not path:
        processes.skip("no Chromium (./dev setup --full installs what the tests need)")
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run([sys.executable, f"{root}/tools/check/make_site.py", work], check=True)
    site = f"{work}/docs"
    check_own(site)
    with chromium.Chromium(path, f"{work}/browser") as browser:
        check_search(browser, site)
        check_colours(browser, site)
    shutil.rmtree(work)


if __name__ == "__main__":
    main(*[os.path.abspath(argument) for argument in sys.argv[1:]])
