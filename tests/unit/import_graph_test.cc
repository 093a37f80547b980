// bandana-import graph: edge lists, compressed or not, and what is cut from them.
#include <zlib.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/import/edge_list.h"
#include "tools/import/graph_import.h"
#include "tools/import/levels.h"
#include "tools/import/unpack.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

void Put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string Gzip(const std::string& text) {
  const testing::TempDir folder;
  const std::string path = folder.File("x");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

absl::StatusOr<std::string> Text(const std::string& path, std::uint64_t bytes_max = 1 << 20) {
  std::string text;
  const absl::Status status = ReadText(path, bytes_max, [&](std::string_view block) {
    text.append(block);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return text;
}

// Reads the text in blocks of `step` bytes.
absl::StatusOr<EdgeList> Edges(std::string_view text, std::size_t step = 1'000) {
  EdgeListReader reader;
  for (std::size_t at = 0; at < text.size(); at += step) {
    const absl::Status status = reader.Take(text.substr(at, step));
    if (!status.ok()) return status;
  }
  return reader.Finish();
}

// `groups` cliques of `size` users, a ring of single friendships between them.
std::string Cliques(int groups, int size) {
  std::string text;
  const auto add = [&](int a, int b) {
    text += std::to_string(a) + "\t" + std::to_string(b) + "\n";
  };
  for (int g = 0; g < groups; ++g) {
    for (int a = 0; a < size; ++a) {
      for (int b = a + 1; b < size; ++b) add(g * size + a, g * size + b);
    }
    add(g * size, (g + 1) % groups * size);
  }
  return text;
}

TEST(EdgeList, IdsAreUtf8AndAMarkIsNoPartOfThem) {
  for (const std::size_t step : {1, 2, 1000}) {
    const auto edges = Edges(
        "\xEF\xBB\xBF"
        "ann bea\nann caf\xC3\xA9\n",
        step);
    ASSERT_THAT(edges, IsOk());
    EXPECT_THAT(edges->users, ::testing::ElementsAre("ann", "bea", "caf\xC3\xA9"));
    EXPECT_THAT(Edges("ann bea\nann caf\xE9\n", step),
                StatusIs(absl::StatusCode::kInvalidArgument, "line 2, byte 8: the byte 0xe9"));
    EXPECT_THAT(Edges(std::string("ann b\0a\n", 8), step),
                StatusIs(absl::StatusCode::kInvalidArgument, "line 1, byte 6: a byte 0"));
    EXPECT_THAT(Edges("\xFF\xFE"
                      "a\n",
                      step),
                StatusIs(absl::StatusCode::kInvalidArgument, "line 1, byte 1: the text is UTF-16"));
  }
}

TEST(ReadText, UnpacksBySuffix) {
  const testing::TempDir folder;
  const std::string text = Cliques(30, 30);  // more than a block of the unpacker
  Put(folder.File("e.txt"), text);
  Put(folder.File("e.gz"), Gzip(text));
  Put(folder.File("two.gz"), Gzip("one") + Gzip("two"));
  Put(folder.File("empty.gz"), Gzip(""));
  EXPECT_THAT(Text(folder.File("e.txt")), IsOkAndHolds(text));
  EXPECT_THAT(Text(folder.File("e.gz")), IsOkAndHolds(text));
  EXPECT_THAT(Text(folder.File("two.gz")), IsOkAndHolds("onetwo"));
  EXPECT_THAT(Text(folder.File("empty.gz")), IsOkAndHolds(""));
}

TEST(ReadText, NamesTheFileOfWhatIsWrong) {
  const testing::TempDir folder;
  const std::string good = Gzip(Cliques(30, 30));
  const std::string path = folder.File("e.gz");
  EXPECT_THAT(Text(path), StatusIs(absl::StatusCode::kNotFound, "e.gz: no such file"));
  Put(path, good.substr(0, good.size() - 1));
  EXPECT_THAT(Text(path), StatusIs(kDataLoss, "e.gz: gzip data is truncated"));
  Put(path, "0\t1\n");
  EXPECT_THAT(Text(path), StatusIs(kDataLoss, "e.gz: not a gzip file"));
  Put(path, "");
  EXPECT_THAT(Text(path), StatusIs(kDataLoss, "e.gz: not a gzip file"));
  std::string damaged = good;
  damaged[good.size() - 6] ^= 1;
  Put(path, damaged);
  EXPECT_THAT(Text(path), StatusIs(kDataLoss, "e.gz: gzip data is damaged"));
  Put(folder.File("e.xz"), "plain text, no magic");
  EXPECT_THAT(Text(folder.File("e.xz")), StatusIs(kDataLoss, "e.xz: not an xz file"));
}

TEST(ReadText, RefusesALargeFileWithItsSize) {
  const testing::TempDir folder;
  const std::string large(3 << 20, '#');
  Put(folder.File("e.txt"), large);
  Put(folder.File("e.gz"), Gzip(large));
  EXPECT_THAT(Text(folder.File("e.txt"), 2 << 20),
              StatusIs(kExhausted, "e.txt: has 3 MiB, more than the 2 MiB allowed"));
  EXPECT_THAT(Text(folder.File("e.gz"), 2 << 20),
              StatusIs(kExhausted, "e.gz: has more than the 2 MiB allowed"));
}

TEST(EdgeList, IsTheSameHoweverItsTextIsCut) {
  const std::string text = "# a comment\r\nann bob\r\n\nbob\t cat \n  cat dan\ndan ann";
  for (std::size_t step = 1; step < text.size(); ++step) {
    const auto list = Edges(text, step);
    ASSERT_THAT(list, IsOk());
    EXPECT_THAT(list->users, ElementsAre("ann", "bob", "cat", "dan"));
    EXPECT_THAT(list->pairs, ElementsAre(Pair(0, 1), Pair(0, 3), Pair(1, 2), Pair(2, 3)));
    EXPECT_EQ(list->counts.lines, 4u);
    EXPECT_EQ(list->counts.one_way, 4u);
  }
}

TEST(EdgeList, CountsWhatItMends) {
  // 0 and 1 both ways, 1 and 2 one way and twice, 3 with itself.
  const auto list = Edges("0 1\n1 0\n1 2\n1 2\n3 3\n0 1\n");
  ASSERT_THAT(list, IsOk());
  EXPECT_THAT(list->users, ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(list->pairs, ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_EQ(list->counts.lines, 6u);
  EXPECT_EQ(list->counts.self_edges, 1u);
  EXPECT_EQ(list->counts.repeated, 2u);
  EXPECT_EQ(list->counts.one_way, 1u);
}

TEST(EdgeList, NamesTheLineOfEachMistake) {
  EXPECT_THAT(Edges("0 1\n2\n"), StatusIs(kInvalid, "line 2: expected two user ids, found one"));
  EXPECT_THAT(Edges("0 1\n2 3 0.5\n"), StatusIs(kInvalid, "line 2: expected two user ids, found"));
  EXPECT_THAT(Edges("0 " + std::string(129, 'x')), StatusIs(kInvalid, "line 1: a user id must"));
  EXPECT_THAT(Edges("0 1\n" + std::string(10'000, 'x')), StatusIs(kInvalid, "line 2: more than"));
  EXPECT_THAT(Edges("# nothing\n"), StatusIs(kInvalid, "no pair of friends among 1 lines"));
  EXPECT_THAT(Edges(""), StatusIs(kInvalid, "no pair of friends among 0 lines"));
  EXPECT_THAT(Edges("5 5\n"), StatusIs(kInvalid, "no pair of friends"));
}

TEST(LevelParts, DoublesFromAboutSixGroups) {
  EXPECT_THAT(LevelParts(1'892, 8), ElementsAre(6, 12, 25, 50, 100, 200, 400, 800));
  EXPECT_THAT(LevelParts(40'000, 8), ElementsAre(6, 12, 25, 50, 100, 200, 400, 800));
  EXPECT_THAT(LevelParts(1'000'000, 8),
              ElementsAre(156, 312, 625, 1'250, 2'500, 5'000, 10'000, 20'000));
  EXPECT_THAT(LevelParts(1'000'000, 4), ElementsAre(2'500, 5'000, 10'000, 20'000));
}

TEST(LevelParts, LeavesOutLevelsOfSingleUsers) {
  EXPECT_THAT(LevelParts(1, 8), ElementsAre(1));
  EXPECT_THAT(LevelParts(5, 8), ElementsAre(2));
  EXPECT_THAT(LevelParts(24, 8), ElementsAre(6));
  EXPECT_THAT(LevelParts(25, 8), ElementsAre(6));
  EXPECT_THAT(LevelParts(26, 8), ElementsAre(6, 12));
}

TEST(ImportGraph, PutsFriendsIntoOneGroup) {
  const testing::TempDir folder;
  Put(folder.File("e.gz"), Gzip(Cliques(12, 10) + "loner loner\n"));
  const auto import = ImportGraph(folder.File("e.gz"), {.levels = 8}, {});
  ASSERT_THAT(import, IsOk());
  EXPECT_EQ(import->users.size(), 121u);
  EXPECT_EQ(import->pairs, 12u * 45 + 12);
  EXPECT_EQ(import->counts.self_edges, 1u);
  ASSERT_THAT(import->levels, SizeIs(4));  // 6, 12, 25, 50 groups
  EXPECT_THAT(import->levels, Each(SizeIs(121)));
  std::set<int> used;
  for (int user = 0; user < 120; ++user) {
    EXPECT_EQ(import->levels[1][user], import->levels[1][user / 10 * 10]) << user;
    used.insert(import->levels[1][user]);
  }
  EXPECT_THAT(used, SizeIs(12));
  for (const LevelOfUsers& level : import->levels) EXPECT_EQ(level.back(), kNoGroup);
}

TEST(ImportGraph, IsAFunctionOfItsArguments) {
  const testing::TempDir folder;
  Put(folder.File("e"), Cliques(40, 12));
  const auto first = ImportGraph(folder.File("e"), {.seed = 1}, {});
  const auto again = ImportGraph(folder.File("e"), {.seed = 1}, {});
  const auto other = ImportGraph(folder.File("e"), {.seed = 2}, {});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(again, IsOk());
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(first->levels, again->levels);
  EXPECT_NE(first->levels, other->levels);
}

TEST(ImportGraph, RefusesWhatCannotBeRight) {
  const testing::TempDir folder;
  Put(folder.File("e"), "0 1\n0\n");
  const auto import = [&](GraphImportOptions options) {
    return ImportGraph(folder.File("e"), options, {});
  };
  EXPECT_THAT(import({}), StatusIs(kInvalid, folder.File("e") + ": line 2: expected two"));
  EXPECT_THAT(import({.dimension = 257}), StatusIs(kInvalid, "dimension must be in [1, 256]"));
  EXPECT_THAT(import({.levels = 0}), StatusIs(kInvalid, "levels must be in [1, 20], got 0"));
  EXPECT_THAT(import({.levels = 21}), StatusIs(kInvalid, "levels"));
  EXPECT_THAT(import({.seed = -1}), StatusIs(kInvalid, "seed"));
  Put(folder.File("e"), "# empty\n");
  EXPECT_THAT(import({}), StatusIs(kInvalid, "/e: no pair of friends"));
}

}  // namespace
}  // namespace bandana::testing
