#!/usr/bin/env python3
"""Counts the places that ask which kind of model this is: check_kinds.py [ROOT] [--list] [--max_branches N] [--max_files M].

A branch is an `if`, a `?:`, a `case`, a `visit`, a `get_if` or a `has_value` whose condition reads a mode, a mechanism, a family,
a coupling or a kind of report, as KINDS below spells them. A condition counts once, however many kinds it reads. A mechanism is
easy to add where one table knows them all; every branch counted here is one more place to remember. The last line is the count.
"""

import argparse
import collections
import re
import sys

import cpp_source
import source_tree

# Limits of the tree. Lower them when it has fewer.
BRANCHES_MAX = 26
FILES_MAX = 11

FOLDERS = ("common/", "server/", "client/", "tools/", "research/")
# A mechanism, and the path and the learner of its kind, may ask what it is itself.
SELF = ("common/mechanisms/", "common/promise/mechanisms/", "common/design/mechanisms/", "common/model/paths/", "common/model/learners/", "tools/published/")

# Files that are tables of the kinds, one row each: they are allowed to ask.
TABLES = {
    "common/promise/mechanism_table.cc",  # mechanism, mode -> its rules and what makes it
    "common/promise/mode.cc",  # mode -> who sees what, and what it asks of a policy
    "common/design/coupling_table.cc",  # coupling -> how it is parsed and named
    "common/design/planner/choice_table.cc",  # mode, family -> what AUTO weighs
    "common/model/paths/make_path.cc",  # part of a mechanism, where it is drawn -> path
    "client/core/mechanisms.cc",  # part of a mechanism, where it is drawn -> what a device does with an event
    "tools/audit/registry.cc",       # mechanism -> attack
}

# A name stands alone in a condition: asked whether it is there, not read any further.
_ASKED = r"(?=\s*(?:$|[!=]= ?nullptr|&&|\|\||\)|\.has_value\(\)))"
_ALONE = r"(?<![\w.>:])(?<!\w\()"
_SPEC = r"\b(?:\w*spec_?|spec\(\)|model|out|p)(?:\.|->)"

# Name of the kind -> how code asks for it. Matched on conditions, without comments and strings.
KINDS = {
    "mode": r"\bv1::(?:NON_PRIVATE|LOCAL_REWARD|CENTRAL_REWARD|JOINT|LOCAL_CONTEXT|MODE_UNSPECIFIED)\b|\bMode::k\w+"
            r"|\bIs(?:Local|Central|Private|Joint)Mode\(|\b(?:ClosesWindows|HidesReports)\(|\bScope::k(?:Local|Central|NonPrivate)\b"
            r"|\bHidesContexts\(|(?:\.|->)(?:is_private|device_draws|server_draws|contexts_on_device)\b|\bhides(?:_\w+)?\b(?!\()"
            r"|(?:\.|->)(?:central|windowed|counts_on_device|draws_noise|drawn_on_device)\(\)|\b(?:central|local|windowed)_" + _ASKED,
    "mechanism": r"\bRankedBy::k\w+|\bform(?:\.|->)by_id\b"
                 r"|\bReportForm::k\w+|\buses_windows\(\)|\bv1::(?:AUTO|MECHANISM_UNSPECIFIED|REWARD_RANDOMIZER|COUNTER|CENTRED_RANDOMIZER|SHAPED_COUNTER"
                 r"|POOLED_COUNTER|PRIVUNIT|JOINT_GAUSSIAN|SPARSE_RELEASE)\b|\bMechanismId::k\w+"
                 r"|\b(?:IsShaped|HasRandomizer)\(|\bDebits::k\w+|\brule\.(?:pure|counter)\b|\brule->counter\b"
                 r"|\b(?:ContextMechanismKind|RandomizerKind)::k\w+|\bKind::k(?:Randomizer|Centred|Counter|Shaped)\b"
                 r"|(?:\.|->)(?:rewards|counter|joint|randomizer|contexts|sparse)\(\)" + _ASKED + r"|(?:\.|->)shaped\(\)"
                 r"|\b(?:counter|joint|sparse|randomizer|contexts|shaped|privatizer|streams)_" + _ASKED +
                 r"|\bservices_\.(?:contexts|privatizer|streams)" + _ASKED + r"|\bstate\.shape" + _ASKED +
                 r"|" + _SPEC + r"(?:counter|context)" + _ASKED +
                 r"|" + _ALONE + r"(?:contexts|privatizer|streams|randomizer|centred)" + _ASKED,
    "family": _SPEC + r"(?:arms|points|sparse)" + _ASKED + r"|config\(?\)?(?:\.|->)has_(?:arms|sparse|points)\(\)"
              r"|" + _ALONE + r"sparse" + _ASKED,
    "coupling": r"\bModelConfig::(?:k(?:Shared|Independent|Colin|Goblin|Arms|Sparse|Points)|COUPLING_NOT_SET)\b"
                r"|\bhas_(?:shared|independent|colin|goblin)\(\)|\bcolin_or_goblin\b|(?:\.|->)independent\(\)|\bindependent_(?!\w)"
                r"|\bof_graph\b|\bGraphOf\("
                r"|\bcoupling_case\(\)|\bcoupling\.has_value\(\)",
    "report": r"\b(?:Context|Counter|Outcome|Decision|Shape|Debit|Time|Epoch)Record>|\bvisit\(.*\brecord\)?$"
              r"|(?<!request\.)\bhas_(?:output|direction|statistics|seed|counter|counters|contexts?)\(\)"  # a Select has a context
              r"|\b(?:PerturbedDirection|PerturbedStatistics)>",
}
KIND = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in KINDS.items()))

Branch = collections.namedtuple("Branch", "path line form kind condition")


def branches_of(path, text):
    code = cpp_source.without_comments_and_strings(text)
    found = []
    counted = 0  # end of the last counted condition: what stands inside it is not counted again
    for form, offset, end, condition in cpp_source.branches(code):
        condition = " ".join(condition.split())
        match = KIND.search(f"visit({condition}" if form == "visit" else condition)
        if match and offset >= counted:
            counted = end if form == "if" else counted
            found.append(Branch(path, code.count("\n", 0, offset) + 1, form, match.lastgroup, condition))
    return found


def collect(root, tables=None):
    tables = TABLES if tables is None else tables
    found = []
    for path in source_tree.files(root, [".h", ".cc"]):
        if path.startswith(FOLDERS) and not path.startswith(SELF) and path not in tables:
            found += branches_of(path, source_tree.read(root, path))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=source_tree.default_root())
    parser.add_argument("--list", action="store_true", help="print every branch and the count per file")
    parser.add_argument("--max_branches", type=int, default=BRANCHES_MAX, help="fail when there are more")
    parser.add_argument("--max_files", type=int, default=FILES_MAX, help="fail when they stand in more files")
    arguments = parser.parse_args()
    found = collect(arguments.root)
    files = collections.Counter(branch.path for branch in found)
    if arguments.list:
        for branch in found:
            print(f"{branch.path}:{branch.line}: {branch.form} on {branch.kind}: {branch.condition}")
        for path, count in files.most_common():
            print(f"{count:4} {path}")
    print(f"kinds: {len(found)} branches in {len(files)} files")
    return 1 if len(found) > arguments.max_branches or len(files) > arguments.max_files else 0


if __name__ == "__main__":
    sys.exit(main())
