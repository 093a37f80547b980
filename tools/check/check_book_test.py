"""The checks of documents, of the site and of kinds find what they are for, in a small tree of their own, and stay quiet on right text."""

import json
import os
import subprocess
import sys
import unittest

import check_docs
import check_english
import check_kinds
import check_paths
import check_site
import check_snippets
import cpp_source
import stage_docs
from check_test import Tree


class KindsTest(Tree):
    def branches(self, code, path="server/models/a.cc"):
        self.write(path, code)
        found = check_kinds.collect(self.root, tables={"server/models/table.cc"})
        os.remove(os.path.join(self.root, path))
        return [(branch.form, branch.kind) for branch in found]

    def test_every_form_of_branch_is_found(self):
        for code, expected in [("if (spec.mode == v1::JOINT) F();", ("if", "mode")),
                               ("if (const auto m = F(); IsLocalMode(m)) F();", ("if", "mode")),
                               ("x = path.central() ? 1 : 2;", ("?:", "mode")),
                               ("return f(a, IsShaped(m) ? 1 : 2);", ("?:", "mechanism")),
                               ("switch (m) {\n  case v1::PRIVUNIT:\n    F();\n}", ("case", "mechanism")),
                               ("if (path.counter() == nullptr) F();", ("if", "mechanism")),
                               ("if (!services_.streams && x) F();", ("if", "mechanism")),
                               ("bool a = randomizer_.has_value();", ("has_value", "mechanism")),
                               ("if (spec.arms) F();", ("if", "family")),
                               ("if (spec.coupling.independent()) F();", ("if", "coupling")),
                               ("  case v1::ModelConfig::kGoblin: F();", ("case", "coupling")),
                               ("auto* r = std::get_if<OutcomeRecord>(&x);", ("get_if", "report")),
                               ("return std::visit(Encoder{out}, record);", ("visit", "report"))]:
            self.assertEqual(self.branches(code + "\n"), [expected], code)

    def test_a_condition_counts_once(self):
        self.assertEqual(len(self.branches("if (p.mode == v1::JOINT && spec.sparse.has_value()) F();\n")), 1)
        self.assertEqual(len(self.branches("if (auto* c = std::get_if<CounterRecord>(&x)) F();\n")), 1)
        self.assertEqual(len(self.branches("if (path.joint() != nullptr) F();\nelse if (path.central()) G();\n")), 2)
        self.assertEqual(len(self.branches("x = spec.arms ? 1 : spec.points ? 2 : 3;\n")), 2)

    def test_other_code_is_quiet(self):
        for code in ["if (x > 0) F();", "spec.arms->Get();", "if (spec.arms->size() > 3) F();", "// if (spec.arms) F();",
                     'if (x == "v1::JOINT ? 1 : 2") F();', "if (request.arms_max() > 2) F();", "case Stage::kIdle: F();",
                     "privacy.set_mode(v1::JOINT);", "if (!streams_[node].empty()) F();", "auto v = std::get_if<int>(&x);"]:
            self.assertEqual(self.branches(code + "\n"), [], code)

    def test_tables_mechanisms_and_tests_may_ask(self):
        code = "if (spec.mode == v1::JOINT) F();\n"
        for path in ["server/models/table.cc", "common/mechanisms/a.cc", "tests/unit/a.cc", "bench/a.cc"]:
            self.assertEqual(self.branches(code, path), [], path)
        self.assertEqual(len(self.branches(code, "tools/ctl/a.cc")), 1)

    def test_the_last_line_counts_and_limits_fail(self):
        self.write("client/src/a.cc", "if (p.mode == v1::JOINT) F();\nif (spec.arms) F();\n")
        program = os.path.join(os.path.dirname(os.path.abspath(check_kinds.__file__)), "check_kinds.py")
        for limits, code in [([], 0), (["--max_branches", "2", "--max_files", "1"], 0), (["--max_branches", "1"], 1),
                             (["--max_files", "0"], 1)]:
            run = subprocess.run([sys.executable, program, self.root, "--list", *limits], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, code, limits)
            self.assertEqual(run.stdout.splitlines()[-1], "kinds: 2 branches in 1 files")

    def test_lines_are_those_of_the_file(self):
        self.write("client/src/a.cc", '/* two\nlines */ const char* s = "{ ( [";\n\nif (p.mode == v1::JOINT) F();\n')
        self.assertEqual([branch.line for branch in check_kinds.collect(self.root)], [4])


class SourceTest(unittest.TestCase):
    def test_strings_comments_and_digit_separators(self):
        code = cpp_source.without_comments_and_strings("int a = 1'000'000; // if (x)\nauto c = '\"'; auto s = \"// no\";\n")
        self.assertEqual(code, "int a = 1'000'000; \nauto c = ''; auto s = \"\";\n")
        self.assertEqual(cpp_source.comments("int a; // b\nc /* d */ e").split(), ["//", "b", "/*", "d", "*/"])


class DocsTest(Tree):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, check_docs, "NOT_YET", check_docs.NOT_YET)
        check_docs.NOT_YET = set()
        self.write("docs/b.md", "# Title\n\n## 2. Two words, `code`\n\n```\n# no heading\n```\n## 2. Two words, `code`\n")

    def problems(self, text, path="docs/a.md"):
        self.write(path, text)
        found = check_docs.check(self.root)
        os.remove(os.path.join(self.root, path))
        return found

    def test_right_documents_are_quiet(self):
        self.assertEqual(self.problems("x" * 120 + "\n| " + "x" * 200 + " |\n\n[a](b.md) [b](b.md#2-two-words-code) [c](../docs)\n"
                                       "[d](b.md#2-two-words-code-1) [e](https://example.org/x) [f](#here)\n\n# Here\n\n"
                                       "```\n[g](nothing.md)\n```\n`[h](nothing.md)`\n"), [])

    def test_wrong_documents(self):
        for text, word in [("x" * 121, "121 columns"), ("[a](c.md)", "no such file"), ("[a](b.md#three)", "no such heading"),
                           ("[a](b.md#no-heading)", "no such heading"), ("[two\nlines](c.md)", "no such file"), ("[a](../../b.md)", "no such file"),
                           ("see THEORY section 4", "cite a path"), ("THEORY sections 4 and 5", "cite a path"),
                           ("by THEORY 5c", "cite a path"), ("`docs/b.md#three`", "no such heading"),
                           ("`docs/c.md#three`", "no such file")]:
            found = self.problems(f"# A\n\n{text}\n")
            self.assertEqual(len(found), 1, (text, found))
            self.assertIn("docs/a.md:3", found[0])
            self.assertIn(word, found[0])

    def test_a_page_of_the_site_links_no_page_of_a_room(self):
        self.write("server/README.md", "# Room\n")
        self.assertEqual(self.problems("[server](../server)\n"), [])
        found = self.problems("[server](../server/README.md)\n")
        self.assertEqual(len(found), 1)
        self.assertIn("no page of the site", found[0])
        self.assertEqual(self.problems("[server](README.md)\n", "server/a.md"), [])

    def test_tables(self):
        self.assertEqual(self.problems("| a | b |\n|---|---|\n| 1 | \\|x\\| |\n\n| a |\n|---|\n"), [])
        found = self.problems("| a | b |\n|---|---|\n| 1 | |x| |\n")
        self.assertEqual(len(found), 1)
        self.assertIn("docs/a.md:3", found[0])

    def test_lists(self):
        self.assertEqual(self.problems("# A\n- a\n- b\n\nText:\n\n1. c\n   d\n2. e\n\n   f\n   g\n3. h\n\n```\nx\n- y\n```\n"), [])
        for text in ["Text:\n- a", "one of\n2023. It", "- a\n\nText\n- b"]:
            found = self.problems(text + "\n")
            self.assertEqual(len(found), 1, (text, found))
            self.assertIn("empty line before it", found[0])

    def test_comments(self):
        self.assertEqual(self.problems("// docs/b.md#2-two-words-code, RFC 6979\nint THEORY = 4;\n", "server/a.h"), [])
        self.assertEqual(self.problems('auto s = "THEORY section 4";\n', "server/a.cc"), [])
        self.assertEqual(len(self.problems("// THEORY\n// section 4\n", "server/a.h")), 1)
        self.assertEqual(len(self.problems("// docs/b.md#three\n", "proto/a.proto")), 1)
        self.assertEqual(len(self.problems("// " + "x" * 118 + "\n", "proto/a.proto")), 1)
        self.assertEqual(self.problems("// " + "x" * 118 + "\n", "server/a.h"), [])

    def test_the_index_links_every_page_once(self):
        self.assertEqual(self.problems("[b](b.md) [b](b.md#title)\n", "docs/README.md"), [])
        self.assertEqual(len(self.problems("# Index\n", "docs/README.md")), 1)
        self.assertEqual(len(self.problems("[b](b.md) [b](b.md)\n", "docs/README.md")), 1)

    def test_pictures_are_small(self):
        self.write("docs/images/a.svg", "x" * check_docs.PICTURE_BYTES_MAX)
        self.assertEqual(check_docs.check(self.root), [])
        self.write("docs/images/a.svg", "x" * (check_docs.PICTURE_BYTES_MAX + 1))
        self.assertEqual(len(check_docs.check(self.root)), 1)

    def test_pages_to_be_wrapped_come_off_the_list(self):
        check_docs.NOT_YET = {"docs/a.md"}
        self.assertEqual(self.problems("x" * 121 + "\n"), [])
        self.assertEqual(len(self.problems("x" * 120 + "\n")), 1)

    def test_pages_are_short_and_other_documents_as_long_as_they_like(self):
        for path in ("docs/guide.md", "server/README.md"):
            self.write(path, "# Guide\n\n" + "word\n" * (check_docs.WORDS_MAX - 2))
        self.write("docs/README.md", "[guide](guide.md) [b](b.md)\n")
        self.assertEqual(check_docs.check(self.root), [])
        for path in ("docs/guide.md", "server/README.md"):
            self.write(path, "# Guide\n\n" + "word\n" * (check_docs.WORDS_MAX - 1))
        self.assertEqual(check_docs.check(self.root), ["docs/guide.md: 3001 words, at most 3000: make it several pages"])


class EnglishTest(Tree):
    def problems(self, text, path):
        self.write(path, text)
        found = check_english.check(self.root)
        os.remove(os.path.join(self.root, path))
        return found

    def test_plain_sentences_are_quiet(self):
        for words in ["One row per user, 5 us per call.", "Too late. Also too much, too soon for it.", "The law of these. Offers.",
                      "add a message", "1 for a stream", "one in a call", "however many streams a user has", "receives a message",
                      "kinds of a model", "`one row a user`, `Of x`", "Says what it does. Does the same: what for? What if it fails?",
                      "`What a device sends`, the same again."]:
            self.assertEqual(self.problems(f"int a;  // {words}\n// {words}\n", "server/a.cc"), [], words)
            self.assertEqual(self.problems(f"# A\n\n{words}\n\n- {words}\n", "docs/a.md"), [], words)
        self.assertEqual(self.problems('auto s = "Of one row a user, too.";\nOf(x);\n', "server/a.cc"), [])

    def test_habits_are_found_on_their_line(self):
        for words, said in [("Of central models the rows.", 'begins with "Of"'), ("This goes, too.", 'ends in ", too"'), ("this goes, too", ", too"),
                            ("1,000 calls a second", '"a second"'), ("One row\n// a user", '"a user"'), ("bytes an entry", '"an entry"'),
                            ("5 us per row, 3 rows a call.", '"a call"'), ("What a device sends.", '"What" begins'),
                            ("Two.\n// The same.", '"The same" begins'), ("Here:\n// One that goes.", '"One that" begins'),
                            ("Why so? What it was.", '"What" begins')]:
            found = self.problems(f"int a;\n\n// {words}\nint b;\n", "server/a.h")
            self.assertEqual(len(found), 1, (words, found))
            self.assertIn("server/a.h:" + ("4" if "\n" in words else "3"), found[0])
            self.assertIn(said, found[0])
            self.assertEqual(len(self.problems(f"int a;  // {words}\n", "proto/a.proto")), 1, words)
            words = words.replace("\n// ", " ")
            for page in ["# A\n\n{}\n", "# A\n{}\n", "Text.\n\n- {}\n", "1. {}\n", "| a |\n|---|\n| {} |\n"]:
                self.assertEqual(len(self.problems(page.format(words), "docs/a.md")), 1, page.format(words))

    def test_a_fence_begins_a_comment_anew(self):
        for fence in ["// PROOF: tree begin", "// --- changes behaviour ---"]:
            self.assertEqual(len(self.problems(f"{fence}\n// What it does.\n", "server/a.cc")), 1, fence)

    def test_headings_may_begin_with_what(self):
        for page in ["## What runs\n", "- **What it costs.** Little.\n", "*What holds.* All of it.\n"]:
            self.assertEqual(self.problems(page, "docs/a.md"), [], page)
        self.assertEqual(len(self.problems("**Cost.** What it costs is little.\n", "docs/a.md")), 1)

    def test_comments_after_a_hash_are_read(self):
        for path, text in [("a/CMakeLists.txt", "set(a b)\n# What is set.\n"), ("dev", "a=1\nb=${c#d}  # What is 1\n"),
                           ("a/b.sh", "echo '# What'\n# The same.\n"), ("a/b.yaml", "a: 1\n# x. One that\n"),
                           ("a/b.py", 'a = "What"\n"""What."""\n'), ("a/b.py", 'def f():\n    """One.\n\n    What."""\n')]:
            found = self.problems(text, path)
            self.assertEqual(len(found), 1, (path, text, found))
            self.assertIn(f"{path}:{text.count(chr(10))}: ", found[0])
        self.assertEqual(self.problems('a = """What a text."""\nb = {"# What": 1}  # fine\n', "a/b.py"), [])

    def test_a_comment_beside_code_is_one_of_its_own(self):
        self.assertEqual(len(self.problems("int a;  // the rows\nint b;  // Of these\n", "server/a.cc")), 1)
        self.assertEqual(self.problems("// the rows\n// of these\n// Officers\n", "server/a.cc"), [])


class SiteTest(Tree):
    def test_links_of_pages(self):
        self.write("site/a/b.html", '<h2 id="here">x</h2><a href="#here"></a><a href="../c.html#there"></a><img src="../p.svg">'
                   '<a href="https://example.org/none"></a><a href=".."></a>')
        self.write("site/c.html", '<a name="there"></a><a href="a/b.html#here"></a>')
        self.write("site/index.html", "")
        self.write("site/p.svg", "")
        site = os.path.join(self.root, "site")
        self.assertEqual(check_site.check(site), [])
        self.write("site/d.html", '<a href="none.html"></a><a href="c.html#none"></a><img src="none.svg">')
        self.assertEqual(len(check_site.check(site)), 3)
        self.assertEqual(len(check_site.check(os.path.join(self.root, "none"))), 1)

    def test_lists_are_deep_enough_for_the_site(self):
        for text, expected in [("- a\n  b\n- c\n", "- a\n    b\n- c\n"),
                               ("- a\n  - b\n    c\n- d\n", "- a\n    - b\n        c\n- d\n"),
                               ("1. a\n   b\n\n   c\n\nd\n", "1. a\n    b\n\n    c\n\nd\n"),
                               ("- a\n\n  ```\n  b\n    - c\n  ```\n- d\n", "- a\n\n    ```\n    b\n      - c\n    ```\n- d\n"),
                               ("a\n\n    code\n      - code\n", "a\n\n    code\n      - code\n"),
                               ("```\n- a\n  b\n```\n", "```\n- a\n  b\n```\n"),
                               ("- a\n\nb\n\n  c\n", "- a\n\nb\n\n  c\n")]:
            self.assertEqual(stage_docs.with_deep_lists(text), expected)

    def test_blocks_of_code_have_languages(self):
        for code, expected in [("./dev test", "sh"), ("bandana-ctl --help", "sh"), ("token=$(cat a)", "sh"), ("models {\n}", "sh"),
                               ("listen: \"a\"", "sh"), ("{\"a\": 1}", "json"), ("three words here", "text")]:
            self.assertEqual(stage_docs.with_languages(f"a\n\n```\n{code}\n```\n\n## b\n"), f"a\n\n```{expected}\n{code}\n```\n\n## b\n")
        named = "```cpp\n{\n```\nwords\n```\nwords\n```\n"
        self.assertEqual(stage_docs.with_languages(named), "```cpp\n{\n```\nwords\n```text\nwords\n```\n")

    def test_staging(self):
        for path in stage_docs.FRONT:
            self.write(path, f"# {path}\n")
        self.write("README.md", "# Start\n[code](server/a.cc) [folder](server) [page](docs/b.md) ![p](docs/p.svg)\n")
        self.write("docs/README.md", "# All\n\n## You read\n\n| [b.md](b.md) | what |\n")
        self.write("docs/b.md", "# It's `b`\n")
        for path in ["server/a.cc", "docs/p.svg", "tools/check/site.css", "mkdocs.yml"]:
            self.write(path, "")
        build = os.path.join(self.root, "build")
        os.makedirs(build)
        stage_docs.stage(self.root, build)
        with open(os.path.join(build, "docs-source/README.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "# Start\n[code](server/a.cc) folder [page](docs/b.md) ![p](docs/p.svg)\n")
        for path in ["server/a.cc", "docs/p.svg", "docs/b.md", "site.css"]:
            self.assertTrue(os.path.isfile(os.path.join(build, "docs-source", path)), path)
        with open(os.path.join(build, "mkdocs.yml"), encoding="utf-8") as file:
            self.assertIn("  - You read:\n      - \"It's b\": docs/b.md\n", file.read())


class PathsTest(Tree):
    def setUp(self):
        super().setUp()
        for path in ["server/log/update_log.h", "server/log/log_writer.cc", "docs/privacy/tree.md"]:
            self.write(path, "")

    def problems(self, text, path="server/log/a.h"):
        self.write(path, text)
        found = check_paths.check(self.root)
        os.remove(os.path.join(self.root, path))
        return found

    def test_right_paths_are_quiet(self):
        for word in ["server/log/update_log.h", "server/log", "server/log/", "server/log/log_writer", "update_log.h",
                     "server/log/*.h", "server/log/{update_log.h,log_writer.cc}", "docs/privacy/tree.md.", "docs/privacy/NAME.md", "docs/privacy/NAME<x>",
                     "https://example.org/server/none.h", "server/client arms/a", "sqlite3.h", "/etc/server/none.h"]:
            expected = 1 if word == "server/client arms/a" else 0
            self.assertEqual(len(self.problems(f"// see {word}\n")), expected, word)

    def test_stale_paths_are_found_on_their_line(self):
        for word in ["server/log/none.h", "none.h", "server/logs/", "docs/privacy/none.md", "server/log/*.proto",
                     "server/log/{update_log.h,none.cc}"]:
            found = self.problems(f"int a;\n// see {word}, there\n")
            self.assertEqual(len(found), 1, (word, found))
            self.assertIn("server/log/a.h:2", found[0])
            self.assertEqual(len(self.problems(f"# A\n\n`{word}` says\n", "docs/a.md")), 1, word)

    def test_code_is_the_compilers_business(self):
        self.assertEqual(self.problems('#include "server/log/none.h"\nauto s = "server/log/none.h";\n'), [])


class SnippetsTest(Tree):
    def problems(self, text):
        self.write("docs/a.md", text)
        self.write("build/compile_commands.json", json.dumps([{
            "directory": self.root, "file": os.path.join(self.root, "common/a.cc"),
            "command": f"ccache {os.environ.get('CXX', 'c++')} -std=c++20 -O2 -o a.o -c a.cc"}]))
        return check_snippets.check(self.root, os.path.join(self.root, "build"), ["docs/a.md"])

    def test_blocks_compile_with_what_is_given(self):
        given = "<!-- given: #include <string>\nstd::string s; void Show(int x); -->\n"
        self.assertEqual(self.problems(given + "```cpp\n#include <vector>\nShow(static_cast<int>(s.size()));\n```\n"), [])
        self.assertEqual(len(self.problems(given + "```cpp\nShow(t);\n```\n")), 1)
        self.assertEqual(len(self.problems("<!-- given: [[nodiscard]] int F(); -->\n```cpp\nF();\n```\n")), 1)

    def test_a_block_says_what_it_is(self):
        self.assertEqual(len(self.problems("```cpp\nint x = 0;\n```\n")), 1)
        self.assertEqual(self.problems("<!-- not compiled: a sketch -->\n```cpp\nint x = ...;\n```\n"), [])
        self.assertEqual(len(self.problems("<!-- not compiled: -->\n```cpp\nint x = ...;\n```\n")), 1)


if __name__ == "__main__":
    unittest.main()
