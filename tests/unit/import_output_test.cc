// The output of bandana-import on a small made-up data set.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/made_up_hetrec.h"
#include "tests/support/status_matchers.h"
#include "tools/environments/cluster_graph.h"
#include "tools/import/hetrec_import.h"
#include "tools/import/import_text.h"

namespace bandana::testing {
namespace {

constexpr HetrecImportOptions kOptions = {.dimension = 3, .clusters = 4, .tag_artists_min = 2};

Graph TwoNodes(std::vector<Graph::Entry> entries) {
  return {.kind = Graph::Kind::kEdgeWeights, .nodes = 2, .entries = std::move(entries)};
}

double Weight(const Graph& graph, int row, int column) {
  double weight = 0;
  for (const Graph::Entry& entry : graph.entries) {
    if (entry.row == row && entry.column == column) weight += entry.weight;
  }
  return weight;
}

TEST(InfluenceOf, AddsOneToTheDiagonalAndNormalisesColumns) {
  const Graph w = InfluenceOf(TwoNodes({{0, 0, 5}, {0, 1, 2}, {1, 0, 2}}));
  EXPECT_THAT(ValidateGraph(w), IsOk());
  EXPECT_EQ(w.kind, Graph::Kind::kInfluence);
  EXPECT_DOUBLE_EQ(Weight(w, 0, 0), 6.0 / 8);
  EXPECT_DOUBLE_EQ(Weight(w, 1, 0), 2.0 / 8);
  EXPECT_DOUBLE_EQ(Weight(w, 0, 1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(Weight(w, 1, 1), 1.0 / 3);
}

TEST(InfluenceOf, LetsANodeWithoutEdgesCountForItself) {
  const Graph w = InfluenceOf(TwoNodes({{0, 0, 5}}));
  EXPECT_THAT(ValidateGraph(w), IsOk());
  EXPECT_DOUBLE_EQ(Weight(w, 1, 1), 1);
}

TEST(CleanTag, FitsTagsIntoTheFormat) {
  EXPECT_EQ(CleanTag("classic rock"), "classic rock");
  EXPECT_EQ(CleanTag(" r,b\tsoul\n"), "r b soul");
  EXPECT_EQ(CleanTag(" , "), "");
  EXPECT_EQ(CleanTag(""), "");
  EXPECT_EQ(CleanTag(std::string(64, 'x')).size(), 64);
  EXPECT_EQ(CleanTag(std::string(65, 'x')).size(), 64);
  // 63 bytes and a character of two: the cut falls before it, not inside.
  EXPECT_EQ(CleanTag(std::string(63, 'x') + "ö"), std::string(63, 'x'));
}

TEST(ImportHetrec, MakesUnitFeatures) {
  const auto import = ImportHetrec(testing::MadeUpHetrec(), kOptions, {});
  ASSERT_THAT(import, IsOk());
  ASSERT_GT(import->arms.size(), 20);
  int id = 0;
  for (const ImportedArm& arm : import->arms) {
    EXPECT_GT(arm.id, id);
    id = arm.id;
    ASSERT_EQ(arm.features.size(), 3);
    EXPECT_NEAR(std::hypot(arm.features[0], arm.features[1], arm.features[2]), 1, 1e-12);
  }
}

TEST(ImportHetrec, CountsEveryFriendPairOnce) {
  const HetrecFiles files = testing::MadeUpHetrec();
  const auto import = ImportHetrec(files, kOptions, {});
  ASSERT_THAT(import, IsOk());
  EXPECT_THAT(ValidateGraph(import->graph), IsOk());
  double pairs = 0;
  for (const Graph::Entry& entry : import->graph.entries) {
    if (entry.row >= entry.column) pairs += entry.weight;
  }
  EXPECT_EQ(pairs, files.friends.size());
}

TEST(ImportHetrec, KeepsTheFirstTaggingOfEachArmInOrderOfTime) {
  HetrecFiles files = testing::MadeUpHetrec();
  const int user = files.assignments[0].user;
  const int artist = files.assignments[0].artist;
  const int unused_tag = 999;
  files.assignments.push_back({user, artist, unused_tag, absl::CivilDay(1999, 12, 31)});
  files.assignments.push_back({user, 777'777, unused_tag + 1, absl::CivilDay(1999, 1, 1)});
  const auto import = ImportHetrec(files, kOptions, {});
  ASSERT_THAT(import, IsOk());
  ASSERT_FALSE(import->events.empty());
  EXPECT_EQ(import->events[0].user, user);
  EXPECT_EQ(import->events[0].arm, artist) << "777777 has no features";
  EXPECT_EQ(import->events[0].day, absl::CivilDay(1999, 12, 31));
  for (std::size_t i = 1; i < import->events.size(); ++i) {
    EXPECT_LE(import->events[i - 1].day, import->events[i].day);
  }
}

TEST(ImportHetrec, RefusesOptionsOutOfRange) {
  const HetrecFiles files = testing::MadeUpHetrec();
  const auto import = [&](HetrecImportOptions options) { return ImportHetrec(files, options, {}); };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(import({.dimension = 0}), StatusIs(kInvalid, "dimension must be in [1, 256], got 0"));
  EXPECT_THAT(import({.dimension = 257}), StatusIs(kInvalid, "dimension"));
  EXPECT_THAT(import({.dimension = 200, .clusters = 4}), StatusIs(kInvalid, "tags"));
  EXPECT_THAT(import({.dimension = 3, .clusters = 0}), StatusIs(kInvalid, "clusters"));
  EXPECT_THAT(import({.dimension = 3, .clusters = 5000, .tag_artists_min = 2}),
              StatusIs(kInvalid, "clusters"));
  EXPECT_THAT(import({.seed = -1}), StatusIs(kInvalid, "seed"));
  EXPECT_THAT(import({.tag_artists_min = 0}), StatusIs(kInvalid, "tag_artists_min"));
  EXPECT_THAT(import({.levels = -1}), StatusIs(kInvalid, "levels must be in [0, 20], got -1"));
  EXPECT_THAT(import({.levels = 21}), StatusIs(kInvalid, "levels"));
}

TEST(ImportText, WritesOneLineAnEntry) {
  EXPECT_EQ(ToArmsTsv(std::vector<ImportedArm>{{7, {"a b", "c"}, {0.1, -1}}, {9, {}, {1e-7, 0}}}),
            "7\ta b,c\t0.1 -1\n9\t-\t1e-07 0\n");
  EXPECT_EQ(ToUsersTsv(std::vector<int>{2, 5}, std::vector<int>{1, 0}), "2\t1\n5\t0\n");
  EXPECT_EQ(ToEventsTsv(std::vector<ImportedEvent>{{2, 7, absl::CivilDay(1969, 12, 31)},
                                                   {5, 9, absl::CivilDay(2009, 4, 1)}}),
            "# user\tarm\tday (since 1970-01-01)\n2\t7\t-1\n5\t9\t14335\n");
  EXPECT_EQ(ToItemsTsv(std::vector<Listening>{{2, 7}}), "# user\tarm\n2\t7\n");
}

TEST(ImportText, NamesEveryModel) {
  const std::string config = ToServerConfig(25, 0);
  for (const char* name : {"linucb-shared", "linucb", "colin", "goblin", "ldp-colin-eps1",
                           "ldp-colin", "ldp-colin-eps5", "ldp-goblin"}) {
    EXPECT_THAT(config, HasSubstr("name: \"" + std::string(name) + "\""));
  }
  EXPECT_THAT(config, Not(HasSubstr("effects")));
  const std::string graph = ToGraphServerConfig(25, 2);
  const std::string more = ToServerConfig(25, 2);
  EXPECT_TRUE(more.starts_with(config));
  for (const char* name : {"effects", "ldp-effects-eps1", "ldp-effects", "ldp-effects-eps5"}) {
    EXPECT_THAT(more, HasSubstr("name: \"" + std::string(name) + "\""));
    EXPECT_THAT(graph, HasSubstr("name: \"" + std::string(name) + "\""));
  }
}

TEST(ImportText, WritesNodesAndGroupsSideBySide) {
  const std::vector<std::string> users = {"ann", "bob"};
  const std::vector<LevelOfUsers> levels = {{0, 1}, {kNoGroup, 3}};
  EXPECT_EQ(ToLevelsTsv(users, std::vector<int>{7, 8}, levels),
            "user\tnode\tlevel1\tlevel2\nann\t7\t0\t-\nbob\t8\t1\t3\n");
  EXPECT_EQ(ToLevelsTsv(users, {}, levels), "user\tlevel1\tlevel2\nann\t0\t-\nbob\t1\t3\n");
}

TEST(ImportHetrec, CutsLevelsBesideTheClusters) {
  HetrecFiles files = testing::MadeUpHetrec();
  files.listenings.push_back({30, 100});  // a user without friends
  HetrecImportOptions options = kOptions;
  const auto plain = ImportHetrec(files, options, {});
  options.levels = 8;
  const auto import = ImportHetrec(files, options, {});
  ASSERT_THAT(plain, IsOk());
  ASSERT_THAT(import, IsOk());
  EXPECT_THAT(plain->levels, IsEmpty());
  EXPECT_EQ(plain->nodes, import->nodes);
  ASSERT_THAT(import->levels, SizeIs(LevelParts(25, 8).size()));
  for (const LevelOfUsers& level : import->levels) {
    ASSERT_THAT(level, SizeIs(25));
    EXPECT_EQ(level.back(), kNoGroup);
    EXPECT_GE(*std::min_element(level.begin(), level.end() - 1), 0);
  }
}

}  // namespace
}  // namespace bandana::testing
