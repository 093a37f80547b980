#!/usr/bin/env python3
"""Every metric that the alerts and the board in deploy/ name is one that the server exports, every panel of the board has one, and every
runbook that an alert points to is a heading. The alerts of deploy/kubernetes are the same; --write copies them there. Where promtool is
installed, it checks and tests the rules."""

import json
import re
import shutil
import subprocess
import sys

import source_tree

METRIC = re.compile(r"\b(bandana_\w+|process_\w+)")
EXPORTED = re.compile(r'"((?:bandana|process)_\w+)"')
RUNBOOK = re.compile(r'runbook: "([^"#]+)#([^"]+)"')


RULES = "deploy/prometheus/bandana.rules.yml"
OPERATOR_RULES = "deploy/kubernetes/monitoring/prometheusrule.yaml"


def operator_rules(root):
    """The PrometheusRule with the alerts of RULES: its head, and their groups two spaces further in."""
    head, spec, _ = source_tree.read(root, OPERATOR_RULES).partition("\nspec:\n")
    groups = source_tree.read(root, RULES).partition("\ngroups:\n")[2].splitlines(keepends=True)
    return head + spec + "  groups:\n" + "".join("  " + line if line.strip() else line for line in groups)


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
    rules = RULES
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
    if source_tree.read(root, OPERATOR_RULES) != operator_rules(root):
        problems.append(f"{OPERATOR_RULES}: has other alerts than {RULES}: python3 tools/check/check_monitoring.py --write")
    if shutil.which("promtool"):
        for words in (["check", "rules", "bandana.rules.yml"], ["test", "rules", "bandana.rules.test.yml"]):
            result = subprocess.run(["promtool", *words], cwd=f"{root}/deploy/prometheus", capture_output=True, text=True, check=False)
            if result.returncode != 0:
                problems.append(f"{rules}: promtool {' '.join(words)}: {(result.stdout + result.stderr).strip()}")
    return problems


def write(root):
    text = operator_rules(root)
    with open(f"{root}/{OPERATOR_RULES}", "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write(source_tree.default_root())
    source_tree.finish("monitoring", check(source_tree.default_root()))
