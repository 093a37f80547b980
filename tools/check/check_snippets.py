#!/usr/bin/env python3
"""Compiles the C++ of the documents: check_snippets.py BUILD_DIR [DOCUMENT ...].

A block that begins with ```cpp is compiled as the body of a function. An HTML comment right above it declares what the text
around it takes as given, and may include headers:

    <!-- given: #include <bandana/client.h>
    std::vector<double> features; bool clicked; -->

Flags are those of BUILD_DIR's compile_commands.json, with unused results of Status as errors. A block that cannot be compiled
says why: <!-- not compiled: REASON -->.
"""

import concurrent.futures
import os
import re
import subprocess
import sys

import check_headers
import source_tree

BLOCK = re.compile(r"(?:<!--\s*(?P<kind>given|not compiled):(?P<given>.*?)-->\s*\n)?^```(?:cpp|c\+\+)\n(?P<code>.*?)^```", re.S | re.M)


def unit_of(given, code):
    """A translation unit: the includes of both parts, then one function of what is given and the code."""
    include = re.compile(r"^\s*#\s*include[^\n]*$", re.M)
    includes = include.findall(given) + include.findall(code)
    body = include.sub("", given) + "\n" + include.sub("", code)
    functions = re.compile(r"^void \w+\([^)]*\);$", re.M)
    return "\n".join(includes + functions.findall(body) + ["[[maybe_unused]] static void Snippet() {", functions.sub("", body), "}"]) + "\n"


def snippets(path, text):
    """(place, given, code); given is None for a block without a comment, code is None for one that is not compiled."""
    for match in BLOCK.finditer(text):
        place = f"{path}:{text.count(chr(10), 0, match.start('code'))}"
        yield place, match.group("given"), None if match.group("kind") == "not compiled" else match.group("code")


def check(root, build_dir, documents=None):
    compiler, _, flags = check_headers.load(build_dir)
    words = [word for flag in flags for word in flag] + ["-I" + root, "-I" + os.path.join(root, "client/include")]

    def job(snippet):
        place, given, code = snippet
        if given is None:
            return f"{place}: say what is given: <!-- given: ... --> above the block"
        if code is None:
            return None if given.strip() else f"{place}: say why it is not compiled"
        run = subprocess.run([compiler, *words, "-Wall", "-Werror=unused-result", "-Wno-unused-variable", "-fsyntax-only", "-x", "c++", "-"],
                             input=unit_of(given, code), capture_output=True, text=True, check=False)
        return None if run.returncode == 0 else f"{place} does not compile:\n{run.stderr.strip()}"

    found = [snippet for path in documents or source_tree.files(root, [".md"])
             for snippet in snippets(path, source_tree.read(root, path))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [problem for problem in pool.map(job, found) if problem]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source_tree.finish("snippets", check(source_tree.default_root(), sys.argv[1], sys.argv[2:]))
