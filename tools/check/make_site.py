#!/usr/bin/env python3
"""Makes the site of the documents: make_site.py BUILD_DIR writes BUILD_DIR/docs, and fails on a dead link.

mkdocs makes the pages, with its search and with Pygments' colours. The site opens from a folder: searching asks for no web server, since
the index is a script (site_search.js reads it), which a browser loads from a file where it would refuse to fetch JSON.
"""

import os
import re
import shutil
import subprocess
import sys

import check_site
import source_tree
import stage_docs

JQUERY = "/usr/share/javascript/jquery/jquery.min.js"  # a dependency of Debian's mkdocs


def make_searchable(root, site):
    """Puts our search in the place of the theme's, which fetches its index in a worker."""
    folder = os.path.join(site, "search")
    index = source_tree.read(folder, "search_index.json")
    with open(os.path.join(folder, "index.js"), "w", encoding="utf-8") as file:
        file.write(f"var bandana_index = {index.strip()};\n")
    shutil.copyfile(os.path.join(root, "tools/check/site_search.js"), os.path.join(folder, "main.js"))
    os.remove(os.path.join(folder, "worker.js"))


def mend_scripts(site):
    """Debian's theme names jQuery, which its package does not copy, and a script that is not there."""
    found = set()
    for folder, _, names in os.walk(site):
        for name in (name for name in names if name.endswith(".html")):
            page = os.path.join(folder, name)
            text = source_tree.read(folder, name)
            found.update(re.findall(r'src="[^"]*js/(jquery[^"/]*)"', text))
            text = re.sub(r'<script src="[^"]*js/theme_extra.js" defer></script>\n?', "", text)
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
    for name in found:
        shutil.copyfile(JQUERY, os.path.join(site, "js", name))


def make(root, build):
    os.makedirs(build, exist_ok=True)
    stage_docs.stage(root, build)
    with open(os.path.join(build, "docs-source/code.css"), "w", encoding="utf-8") as file:
        subprocess.run(["pygmentize", "-S", "default", "-f", "html", "-a", ".codehilite"], check=True, stdout=file)
    subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", os.path.join(build, "mkdocs.yml")], check=True)
    site = os.path.join(build, "docs")
    make_searchable(root, site)
    mend_scripts(site)
    return check_site.check(site)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source_tree.finish("site", make(source_tree.default_root(), sys.argv[1]))
