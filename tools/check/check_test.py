"""Each check finds what it is for, in a small tree of its own, and stays quiet on right code."""

import datetime
import json
import os
import shutil
import tempfile
import unittest

import check_bans
import check_figures
import check_headers
import check_layering
import check_names
import check_proofs
import check_rooms
import clean_units
import sdk_closure

TODAY = datetime.date(2030, 1, 2)


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="bandana-check-")
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


class LayeringTest(Tree):
    def problems(self, path, include):
        self.write(path, f"#include {include}\n")
        return check_layering.check(self.root)

    def test_allowed_arrows(self):
        for path, include in [("common/bandits/a.cc", '"common/mechanisms/b.h"'),
                              ("server/models/a.cc", '"server/log/update_log.h"'),
                              ("server/service/a.cc", '"bandana/v1/recommender.pb.h"'),
                              ("client/src/a.cc", '"common/ranking/scoring.h"'),
                              ("client/src/b.cc", '"bandana/client.h"'),
                              ("tools/fleet/a.cc", '"tools/environments/b.h"'),
                              ("tests/unit/a.cc", '"server/log/update_log.h"'),
                              ("common/base/a.cc", "<vector>"),
                              ("common/base/b.cc", '"absl/status/status.h"')]:
            self.assertEqual(self.problems(path, include), [], path)

    def test_forbidden_arrows(self):
        for path, include in [("common/base/a.cc", '"common/random/bit_source.h"'),
                              ("common/random/a.cc", '"common/mechanisms/b.h"'),
                              ("common/design/files/a.cc", '"server/models/b.h"'),
                              ("common/design/files/b.cc", '"bandana/client.h"'),
                              ("server/log/a.cc", '"server/models/b.h"'),
                              ("server/models/a.cc", '"server/service/b.h"'),
                              ("server/service/a.cc", '"bandana/client.h"'),
                              ("client/src/a.cc", '"server/service/tokens/token.h"'),
                              ("client/src/b.cc", '"common/bandits/model.h"'),
                              ("client/include/bandana/a.h", '"common/base/status.h"'),
                              ("tools/fleet/a.cc", '"server/models/b.h"'),
                              ("tools/fleet/b.cc", '"tools/import/b.h"'),
                              ("server/ops/a.cc", '"tests/support/temp_dir.h"'),
                              ("common/base/b.cc", '"status.h"')]:
            found = self.problems(path, include)
            self.assertEqual(len(found), 1, (path, found))
            self.assertIn(path + ":1", found[0])
            os.remove(os.path.join(self.root, path))

    def test_the_devices_core_needs_no_threads_and_libraries(self):
        self.write("common/base/a.h", "#include <thread>\n")
        self.assertEqual(self.problems("client/core/a.h", "<vector>"), [])
        for include in ["<mutex>", "<chrono>", '"absl/strings/str_format.h"', '"bandana/v1/recommender.pb.h"', '"client/src/base/once.h"']:
            self.assertIn(f"client/core/b.cc: the device's core may not include {include[1:-1]}", self.problems("client/core/b.cc", include))
        self.assertEqual(self.problems("client/core/b.cc", '"common/base/a.h"'), ["common/base/a.h: the device's core may not include thread"])

    def test_every_folder_is_a_room_or_part_of_one(self):
        for path in ["common/bandits/mab/a.cc", "research/lab/recsys20/a.cc", "tools/fleet/a.cc", "tests/unit/new/a.cc"]:
            self.assertEqual(self.problems(path, "<vector>"), [], path)
        for path in ["common/new/a.cc", "server/service/new/a.cc", "tools/new/a.cc", "research/lab/new/a.cc", "new/a.cc"]:
            found = self.problems(path, "<vector>")
            self.assertEqual(len(found), 1, (path, found))
            self.assertIn(path + ": no room", found[0])
            os.remove(os.path.join(self.root, path))

    def test_the_table_has_no_circle_and_no_unknown_room(self):
        self.assertEqual(check_layering.table_problems(check_layering.ALLOWED), [])
        log, models = "server/log", "server/models"
        self.assertIn("a circle among server/log, server/models",
                      check_layering.table_problems({log: [models], models: [log], "tests": None})[0])
        self.assertIn("a circle", check_layering.table_problems({log: ["server/models*"], models: [log]})[0])
        self.assertIn("server/none, which is no room", check_layering.table_problems({log: ["server/none"]})[0])

    def test_rows_without_files_are_named(self):
        everything = [name + "/a.h" for name in set(check_layering.ALLOWED) | check_layering.PARTS | check_layering.PLAIN_TOOLS]
        self.assertEqual(check_layering.stale_problems(everything), [])
        some = [path for path in everything if not path.startswith("server/service/tls/")]
        self.assertEqual(check_layering.stale_problems(some), ["server/service/tls: no such folder; take it out of the table"])


class SdkClosureTest(Tree):
    """A small SDK: client > ranking > base, and beside them a search and a learner, which it does not link."""

    def setUp(self):
        super().setUp()
        self.write("client/CMakeLists.txt", "bandana_library(NAME client\n  SRCS src/a.cc  # one\n  PUBLIC_DEPS bandana::ranking)\n")
        self.write("client/src/a.cc", '#include "common/ranking/a.h"\n#include "bandana/client.h"\n')
        self.write("client/include/bandana/client.h", "#include <string>\n")
        self.write("common/ranking/CMakeLists.txt",
                   "set(SRCS_OF_ONE a.cc)\nlist(APPEND SRCS_OF_ONE b.cc)\n"
                   "bandana_library(NAME ranking SRCS ${SRCS_OF_ONE} PUBLIC_DEPS bandana::base absl::statusor)\n"
                   "bandana_library(NAME search SRCS search.cc PUBLIC_DEPS bandana::ranking PRIVATE_DEPS bandana::linalg)\n")
        self.write("common/ranking/a.h", '#include "common/base/c.h"\n#include <vector>\n')
        self.write("common/ranking/a.cc", "")
        self.write("common/ranking/b.cc", "")
        self.write("common/ranking/search.cc", "#include <Eigen/Dense>\n")
        self.write("common/base/CMakeLists.txt", "bandana_library(NAME base SRCS c.cc)\n")
        self.write("common/base/c.h", "")
        self.write("common/base/c.cc", "")
        self.write("common/linalg/CMakeLists.txt", "bandana_library(NAME linalg SRCS d.cc PRIVATE_DEPS bandana::blas Eigen3::Eigen)\n")
        self.write("common/bandits/CMakeLists.txt", "bandana_library(NAME bandits SRCS e.cc PRIVATE_DEPS bandana::linalg)\n")
        self.write("common/bandits/e.h", "#include <cblas.h>\n")
        self.write("cmake/install.cmake", "# TARGETS\ninstall(TARGETS bandana_base bandana_ranking bandana_proto bandana_client\n  EXPORT x)\n")

    def problems(self, path, text):
        self.write(path, text)
        return sdk_closure.check(self.root)

    def test_an_sdk_that_only_ranks_is_right(self):
        self.assertEqual(sdk_closure.check(self.root), [])

    def test_chains_of_includes_are_followed(self):
        self.assertEqual(self.problems("common/base/c.h", '#include "common/bandits/e.h"\n')[0],
                         "the SDK must not include client/src/a.cc > common/ranking/a.h > common/base/c.h > common/bandits/e.h")
        for header in ["<Eigen/Core>", "<cblas.h>", '"openblas/lapacke.h"']:
            found = self.problems("common/base/c.h", f"#include {header}\n")
            self.assertEqual(found, ["the SDK must not include client/src/a.cc > common/ranking/a.h > common/base/c.h > " + header[1:-1]])
        found = self.problems("client/include/bandana/client.h", '#include "common/design/f.h"\n') and \
            self.problems("common/design/f.h", "") and self.problems("common/base/c.h", "")
        self.assertEqual(found, ["the SDK must not include client/src/a.cc > client/include/bandana/client.h > common/design/f.h"])

    def test_sources_without_a_header_are_followed(self):
        self.assertEqual(self.problems("common/ranking/b.cc", "#include <Eigen/Core>\n"),
                         ["the SDK must not include common/ranking/b.cc > Eigen/Core"])

    def test_chains_of_libraries_are_followed(self):
        base = "bandana_library(NAME base SRCS c.cc PRIVATE_DEPS {})\n"
        self.assertEqual(self.problems("common/base/CMakeLists.txt", base.format("Eigen3::Eigen")),
                         ["the SDK must not link client > ranking > base > Eigen3::Eigen"])
        self.assertEqual(self.problems("common/base/CMakeLists.txt", base.format("bandana::linalg")),
                         ["the SDK must not link client > ranking > base > linalg > bandana::blas",
                          "the SDK must not link client > ranking > base > linalg > Eigen3::Eigen"])
        self.assertEqual(self.problems("common/base/CMakeLists.txt", base.format("${BANDANA_OPENBLAS_LIBRARY}")),
                         ["the SDK must not link client > ranking > base > ${BANDANA_OPENBLAS_LIBRARY}"])
        self.assertIn("the SDK must not link client > ranking > base > bandits",
                      self.problems("common/base/CMakeLists.txt", base.format("bandana::bandits")))

    def test_what_is_installed_is_what_the_sdk_links(self):
        self.assertEqual(self.problems("cmake/install.cmake", "install(TARGETS bandana_client bandana_bandits EXPORT x)\n"),
                         ["cmake/install.cmake: the SDK does not link bandits"])


class NamesTest(Tree):
    def problems(self, first, second):
        self.write("common/a.h", first)
        self.write("server/b.cc", second)
        return check_names.check(self.root)

    def test_two_types_of_one_name_are_found(self):
        for first, second, name in [
                ("namespace bandana {\nstruct A { int x; };\n}\n", "namespace bandana {\nstruct A final : B {};\n}\n", "bandana::A"),
                ("namespace a::b { enum class C : int { kX }; }", "namespace a { namespace b {\nclass API_EXPORT C {}; } }", "a::b::C"),
                ("struct A { struct In { int x; }; };", "struct A::In { double y; };", "A::In"),
                ("template <> struct std::hash<A> { };", "template <>\nstruct std::hash<A> { int x; };", "std::hash<A>"),
                ('extern "C" { struct A {}; }', "struct A {};", "A")]:
            found = self.problems(first, second)
            self.assertEqual(len(found), 1, (first, second, found))
            self.assertTrue(found[0].startswith(name + " has 2 definitions: common/a.h:"), found)
            self.assertIn("server/b.cc:", found[0])

    def test_right_code_is_quiet(self):
        for first, second in [("struct A {};", "struct A;\nstruct A* f();\nA a{};\n// struct A {};\n"),
                              ("struct A {};", "namespace b { struct A {}; }"),
                              ("struct A {};", "namespace {\nstruct A {};\n}"),
                              ("struct A {};", "int f() { struct A {}; return 0; }\nvoid g(struct A a) {}"),
                              ("struct A {};", "#define S \\\n  struct A {\nstruct B { struct A {}; };"),
                              ("template <int k> struct A {};",
                               "template <int k>\n  requires(k > 0)\nstruct A<k> {};\ntemplate <int k>\n  requires(k < 0)\nstruct A<k> {};")]:
            self.assertEqual(self.problems(first, second), [], (first, second))

    def test_tests_are_programs_of_their_own(self):
        self.write("tests/unit/a.cc", "struct A {};")
        self.assertEqual(self.problems("struct A {};", ""), [])


class FiguresTest(Tree):
    TABLE = "| mechanism | eps 1 | 2 |\n|---|---|---|\n| `auto` | 172 | 56 |\n| `counter` | 741 | 530 |\n"
    LIST = ('[[table]]\nname = "one"\ndocument = "README.md"\nheader = "| mechanism | eps 1 | 2 |"\n'
            'command = "bandana-lab run one --seeds 5"\nseeds = "1 to 5"\nshort = "bandana-lab run one --seeds 1"\n')

    def setUp(self):
        super().setUp()
        self.regret = {1: 160.25, 2: 55.5}
        for path in check_figures.DOCUMENTS:
            self.write(path, "No figures here.\n")
        self.write("README.md", "A table:\n\n" + self.TABLE + "\nand words.\n")
        self.write("docs/figures/tables.toml", self.LIST)
        figures = self.figures()
        figures.make(figures.tables[0])

    def figures(self):
        groups = [{"algorithm": "a", "label": "auto", "epsilon": epsilon, "settings": {"world": "1"},
                   "regret": {"mean": regret, "half_width_95": 1}, "curve": []} for epsilon, regret in self.regret.items()]
        return check_figures.Figures(self.root, lambda table: {"groups": groups})

    def problems(self):
        figures = self.figures()
        figures.check_list()
        for table in figures.tables:
            figures.compare(table)
        self.checked = figures.checked
        return figures.problems

    def test_what_comes_out_again_is_quiet(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.checked, 4)  # two lines of the table, two rows of the short form
        self.regret[1] *= 1 + 1e-7
        self.assertEqual(self.problems(), [])

    def test_a_figure_that_is_off_is_found(self):
        for factor in [1.2, 1 + 1e-5, 0]:
            self.regret = {1: 160.25, 2: 55.5 * factor}
            found = self.problems()
            self.assertEqual(len(found), 1, found)
            self.assertIn("one.json: algorithm a, label auto, epsilon 2, world 1: now", found[0])

    def test_a_perturbed_file_is_found(self):
        with open(os.path.join(self.root, "docs/figures/one.json"), encoding="utf-8") as file:
            text = file.read()
        self.write("docs/figures/one.json", text.replace("160.25", "192.3"))
        self.assertEqual(len(self.problems()), 1)

    def test_a_line_that_changed_alone_is_found(self):
        self.write("README.md", self.TABLE.replace("| 56 |", "| 67 |"))
        found = self.problems()
        self.assertEqual(len(found), 1, found)
        self.assertIn("line 1 of the table in README.md: now | `auto` | 172 | 67 |", found[0])

    def test_rows_that_come_or_go_are_found(self):
        self.regret = {1: 160.25, 5: 20}
        self.assertEqual(len(self.problems()), 2)

    def test_every_table_of_figures_is_listed(self):
        self.write("docs/findings.md", self.TABLE.replace("mechanism", "label"))
        self.assertEqual(self.problems(), ["docs/findings.md:1: a table of figures that docs/figures/tables.toml does not name"])
        self.write("docs/findings.md", "| a | b |\n|---|---|\n| epsilon | 1 number |\n| words | more words |\n")
        self.assertEqual(self.problems(), [])
        self.write("README.md", "gone\n")
        self.assertIn("README.md has 0 tables with the header | mechanism | eps 1 | 2 |", self.problems()[0])

    def test_few_tables_are_without_a_short_form_and_say_why(self):
        tables = "".join(self.TABLE.replace("mechanism", f"m{n}") + "\n" for n in range(6))
        self.write("docs/findings.md", tables)
        row = '[[without_short_form]]\ndocument = "docs/findings.md"\nheader = "| m%d | eps 1 | 2 |"\n'
        self.write("docs/figures/tables.toml", self.LIST + "".join(row % n + 'reason = "no data"\n' for n in range(6)))
        self.assertEqual(self.problems(), ["docs/figures/tables.toml: 6 tables without a short form, at most 5"])
        self.write("docs/findings.md", tables[:tables.index("| m1 ")])
        self.write("docs/figures/tables.toml", self.LIST + row % 0)
        self.assertEqual(len(self.problems()), 1)


class BansTest(Tree):
    def problems(self, path, text):
        self.write(path, text)
        found = check_bans.check(self.root, TODAY)
        os.remove(os.path.join(self.root, path))
        return found

    def test_right_code_is_quiet(self):
        self.assertEqual(self.problems("common/a.cc", '// std::mt19937 is banned\nauto s = "rand()"; operand(1);\n'
                                       "static_assert(true);\nint x = bits.rand(1);\n// TODO(#12): later\n"), [])
        self.assertEqual(self.problems("tests/unit/a.cc", "std::mt19937 engine;\nassert(x);\n"), [])

    def test_banned_code_is_found_on_its_line(self):
        for text in ["std::mt19937 engine;", "absl::BitGen gen;", "int x = rand();", "srand(1);",
                     "std::random_device d;", "#include <random>", "throw 1;", "assert(x > 0);",
                     "#include <cassert>", "// TODO: later", "/* FIXME */"]:
            found = self.problems("server/a.cc", "\n" + text + "\n")
            self.assertEqual(len(found), 1, (text, found))
            self.assertIn("server/a.cc:2", found[0])

    def test_friends_of_private_types_stand_where_they_belong(self):
        self.write("common/mechanisms/a.h", "#pragma once\nclass A {\n  friend class Mechanism;\n"
                                            "  friend struct ClippedStatisticsPeer;\n};\n")
        for path, name in [("common/mechanisms/b.cc", "class Mechanism final {};"),
                           ("server/b.cc", "class Mechanism;"),
                           ("tools/audit/b.cc", "struct ClippedStatisticsPeer {};")]:
            self.assertEqual(self.problems(path, name + "\n"), [], path)
        for path, name in [("server/b.cc", "class Mechanism {};"), ("server/b.cc", "class Mechanism : B {};"),
                           ("research/lab/b.cc", "struct ClippedStatisticsPeer {};"),
                           ("tests/unit/b.cc", "struct bandana::ClippedStatisticsPeer {};")]:
            found = self.problems(path, "\n" + name + "\n")
            self.assertEqual(len(found), 1, (path, name, found))
            self.assertIn(path + ":2", found[0])

    def test_every_test_is_built(self):
        self.write("tests/cmake/a.cmake", "bandana_test(NAME a_test SRCS unit/a_test.cc)\n")
        self.assertEqual(self.problems("tests/unit/a_test.cc", "int x;\n"), [])
        self.assertEqual(self.problems("tests/unit/another_a_test.cc", "int x;\n"),
                         ["tests/unit/another_a_test.cc: no build file names it"])

    def test_headers(self):
        self.assertEqual(len(self.problems("common/a.h", "int x;\n")), 1)
        self.assertEqual(len(self.problems("common/a.h", "#pragma once\nusing namespace std;\n")), 1)

    def test_long_files(self):
        self.assertEqual(self.problems("common/a.cc", "\n" * 600), [])
        self.assertEqual(len(self.problems("common/a.cc", "\n" * 601)), 1)

    def test_disabled_tests_need_an_issue_and_a_date_to_come(self):
        test = "TEST(A, DISABLED_B) {}\n"
        self.assertEqual(len(self.problems("tests/unit/a.cc", test)), 1)
        self.assertEqual(self.problems("tests/unit/a.cc", "// issue #7, until 2030-01-02\n" + test), [])
        self.assertEqual(len(self.problems("tests/unit/a.cc", "// issue #7, until 2030-01-01\n" + test)), 1)


class ProofsTest(Tree):
    CODE = "int a;\n// PROOF: noise begin\nint b;\n// PROOF: noise end\n"

    def setUp(self):
        super().setUp()
        self.write("common/noise.cc", self.CODE)
        self.write("docs/privacy/noise.md", "# Noise\n`common/noise.cc`\n\nProof hash: `none`\n")

    def test_stamp_then_change(self):
        self.assertEqual(len(check_proofs.check(self.root)), 1)
        self.assertEqual(check_proofs.check(self.root, stamp=["noise"]), [])
        self.assertEqual(check_proofs.check(self.root), [])
        self.write("common/noise.cc", self.CODE.replace("int a", "int other"))
        self.assertEqual(check_proofs.check(self.root), [], "code outside the fences is free")
        self.write("common/noise.cc", self.CODE.replace("int b", "int c"))
        self.assertIn("has changed", check_proofs.check(self.root)[0])

    def test_regions_of_all_files_count(self):
        check_proofs.check(self.root, stamp=["noise"])
        self.write("common/other.cc", self.CODE)
        self.assertEqual(len(check_proofs.check(self.root)), 2)  # hash, and a file the note does not name

    def test_broken_fences_and_missing_notes(self):
        self.write("common/noise.cc", "// PROOF: noise begin\n")
        self.assertTrue(any("never closed" in problem for problem in check_proofs.check(self.root)))
        self.write("common/noise.cc", self.CODE.replace("noise", "other"))
        found = check_proofs.check(self.root)
        self.assertTrue(any("docs/privacy/other.md is missing" in problem for problem in found))
        self.assertTrue(any("no code is fenced" in problem for problem in found))


class HeadersTest(Tree):
    def problems(self, text):
        self.write("common/a.h", text)
        self.write("build/compile_commands.json", json.dumps([{
            "directory": self.root, "file": os.path.join(self.root, "common/a.cc"),
            "command": f"ccache {os.environ.get('CXX', 'c++')} -std=c++20 -O2 -o a.o -c a.cc"}]))
        return check_headers.check(self.root, os.path.join(self.root, "build"), ["common/a.h"])

    def test_headers_must_stand_alone(self):
        self.assertEqual(self.problems("#pragma once\n#include <string>\nstruct A { std::string s; };\n"), [])
        self.assertEqual(len(self.problems("#pragma once\nstruct A { std::string s; };\n")), 1)
        self.assertEqual(len(self.problems("struct A {};\n")), 1, "a second include must do nothing")

    def test_the_stand_in_stands_in_for_its_own_test_alone(self):
        self.write("build/compile_commands.json", json.dumps([
            {"file": os.path.join(self.root, name), "command": f"c++ {flags} -o a.o -c a.cc"}
            for name, flags in [("tests/a.cc", "-I/x/tests/support"), ("tests/b.cc", "-I/x/client/core/stand_in")]]))
        self.assertEqual(check_headers.load(os.path.join(self.root, "build"))[2], [("-I/x/tests/support",)])


class RoomsTest(Tree):
    PAGE = "# common/a\n\nFor examples. `b/`: more.\n\n## Example\n\n```\nx\n```\n\n## It may not know\n\nAll.\n\n## Limits\n\nOne.\n"

    def problems(self, page, folders=("common/a",), rooms=("common/a/b",)):
        for folder in folders:
            self.write(f"{folder}/CMakeLists.txt", "bandana_library(NAME a SRCS a.cc)\n")
        if page:
            self.write("common/a/README.md", page)
        return check_rooms.check(self.root, set(rooms))

    def test_a_page_in_its_form_is_right(self):
        self.assertEqual(self.problems(self.PAGE), [])

    def test_every_folder_with_a_target_has_a_page(self):
        self.assertIn("common/a/README.md: no page", self.problems("")[0])
        self.assertEqual(len(self.problems(self.PAGE, ("common/a", "common/c"))), 1)
        self.assertEqual(self.problems(self.PAGE, ("tests/support", "research/lab/suite")),
                         ["common/c/README.md: no page for this folder with a target"], "read together, or tests")

    def test_a_room_without_a_page_is_named_above(self):
        self.assertEqual(len(self.problems(self.PAGE.replace("`b/`", "`c/`"))), 1)

    def test_a_page_is_short_and_has_all_of_its_parts(self):
        for page in (self.PAGE + "more\n" * 60, self.PAGE.replace("# common/a", "# a"), self.PAGE.replace("## Limits", "## Bounds"),
                     self.PAGE.replace("```", ""), self.PAGE.replace("For examples. `b/`: more.\n", "")):
            self.assertGreaterEqual(len(self.problems(page)), 1, page)


class CleanUnitsTest(Tree):
    def units(self, context="tool 1"):
        return clean_units.CleanUnits(self.root, os.path.join(self.root, "build"), context)

    def test_a_unit_is_stale_when_what_it_reads_changes(self):
        self.write("common/a.cc", '#include "common/a.h"\n')
        self.write("common/a.h", '#include "common/b.h"\n')
        self.write("common/b.h", "int b;\n")
        self.write("common/c.h", "int c;\n")
        self.assertFalse(self.units().has("common/a.cc"))
        self.units().add("common/a.cc")
        self.write("common/c.h", "int changed;\n")
        self.assertTrue(self.units().has("common/a.cc"))
        self.assertFalse(self.units("tool 2").has("common/a.cc"))
        self.write("common/b.h", "int changed;\n")
        self.assertFalse(self.units().has("common/a.cc"))

    def test_a_generated_header_is_known_by_its_proto(self):
        self.write("proto/bandana/v1/x.proto", "message A {}\n")
        self.write("common/a.cc", '#include "bandana/v1/x.grpc.pb.h"\n')
        self.units().add("common/a.cc")
        self.write("proto/bandana/v1/x.proto", "message B {}\n")
        self.assertFalse(self.units().has("common/a.cc"))


if __name__ == "__main__":
    unittest.main()
