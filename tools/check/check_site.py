#!/usr/bin/env python3
"""Checks a built site: check_site.py SITE. Every relative link leads to a file, and its anchor to an element of that page."""

import html.parser
import os
import sys
import urllib.parse

import source_tree


class Page(html.parser.HTMLParser):
    """The links and pictures of a page, and the ids that links can lead to. The theme sees to its own files."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif value and (tag, name) in (("a", "href"), ("img", "src")):
                self.links.append(value)


def check(site):
    pages = {}
    for folder, _, names in os.walk(site):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), site)
            if name.endswith(".html"):
                pages[path] = Page(source_tree.read(site, path))
    problems = []
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or (path == "404.html" and parts.path.startswith("/")):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if os.path.isdir(os.path.join(site, target)):
                target = os.path.join(target, "index.html")
            if not os.path.isfile(os.path.join(site, target)):
                problems.append(f"{path}: link to {link}: no such file")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
                problems.append(f"{path}: link to {link}: no such heading")
    return problems if pages else [f"{site}: no pages"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source_tree.finish("site", check(sys.argv[1]))
