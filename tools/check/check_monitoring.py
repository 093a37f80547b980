#!/usr/bin/env python3
"""Every metric that the alerts and the board in deploy/ name is one that the server exports, every panel of the board has one, and every
runbook that an alert points to is a heading. Where promtool is installed, it checks and tests the rules."""

import json
import re
import shutil
import subprocess

import source_tree

METRIC = re.compile(r"\b(bandana_\w+|process_\w+)")
EXPORTED = re.compile(r'"((?:bandana|process)_\w+)"')
RUNBOOK = re.compile(r'runbook: "([^"#]+)#([^"]+)"')


def exported(root):
    """Names of the server's metrics; a histogram has three."""
    names = set()
    for path in source_tree.files(root, [".cc"]):
        if path.startswith("server/ops/"):
            names.update(EXPORTED.findall(source_tree.read(root, path)))
    return names | {name + suffix for name in names for suffix in ("_bucket", "_sum", "_count")}


def anchors(markdown):
    """The headings' anchors, as common renderers make them."""
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", markdown, re.M)}


def check(root):
    problems = []
    known = exported(root)
    rules = "deploy/prometheus/bandana.rules.yml"
    board = "deploy/grafana/bandana.json"
    for path in (rules, board):
        for name in sorted(set(METRIC.findall(source_tree.read(root, path))) - known):
            problems.append(f"{path}: the server exports no metric {name}")
    for panel in json.loads(source_tree.read(root, board))["panels"]:
        if not panel["targets"]:
            problems.append(f"{board}: panel {panel['title']} shows nothing")
    for document, anchor in RUNBOOK.findall(source_tree.read(root, rules)):
        if anchor not in anchors(source_tree.read(root, document)):
            problems.append(f"{rules}: {document} has no section #{anchor}")
    if shutil.which("promtool"):
        for words in (["check", "rules", "bandana.rules.yml"], ["test", "rules", "bandana.rules.test.yml"]):
            result = subprocess.run(["promtool", *words], cwd=f"{root}/deploy/prometheus", capture_output=True, text=True, check=False)
            if result.returncode != 0:
                problems.append(f"{rules}: promtool {' '.join(words)}: {(result.stdout + result.stderr).strip()}")
    return problems


if __name__ == "__main__":
    source_tree.finish("monitoring", check(source_tree.default_root()))
