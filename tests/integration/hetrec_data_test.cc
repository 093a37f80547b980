// The real HetRec 2011 Last.FM data, found through BANDANA_DATA_DIR.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tools/import/hetrec_files.h"
#include "tools/import/hetrec_import.h"

namespace bandana::testing {
namespace {

class HetrecData : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("BANDANA_DATA_DIR");
    if (folder == nullptr) GTEST_SKIP() << "BANDANA_DATA_DIR is not set";
    auto files = ReadHetrecFiles(std::string(folder) + "/hetrec2011-lastfm-2k");
    ASSERT_THAT(files, IsOk());
    files_ = *std::move(files);
  }
  HetrecFiles files_;
};

// The counts are those of the data set's readme.
TEST_F(HetrecData, HasTheCountsOfItsReadme) {
  EXPECT_THAT(UsersOf(files_), SizeIs(1892));
  EXPECT_THAT(files_.friends, SizeIs(12717));
  EXPECT_THAT(files_.assignments, SizeIs(186479));
  EXPECT_THAT(files_.listenings, SizeIs(92834));
  EXPECT_THAT(files_.tag_names, SizeIs(11946));
  std::set<int> artists;
  std::set<int> tags;
  for (const TagAssignment& row : files_.assignments) {
    artists.insert(row.artist);
    tags.insert(row.tag);
  }
  EXPECT_THAT(artists, SizeIs(12523));
  EXPECT_THAT(tags, SizeIs(9749));
}

TEST_F(HetrecData, ImportsAsTheFiguresWereMeasured) {
  const auto import = ImportHetrec(files_, HetrecImportOptions(), {});
  ASSERT_THAT(import, IsOk());
  EXPECT_THAT(import->arms, SizeIs(12102));
  EXPECT_THAT(import->events, SizeIs(70627));
  EXPECT_THAT(import->items, SizeIs(86067));
  for (const ImportedArm& arm : import->arms) {
    double squares = 0;
    for (const double x : arm.features) squares += x * x;
    ASSERT_NEAR(squares, 1, 1e-12) << arm.id;
  }

  EXPECT_EQ(import->graph.nodes, 100);
  EXPECT_THAT(ValidateGraph(import->graph), IsOk());  // symmetric
  EXPECT_THAT(ValidateGraph(import->influence), IsOk());
  double pairs = 0;
  double inner = 0;
  for (const Graph::Entry& entry : import->graph.entries) {
    if (entry.row >= entry.column) pairs += entry.weight;
    if (entry.row == entry.column) inner += entry.weight;
  }
  EXPECT_EQ(pairs, 12717);
  // Users placed at random would have 1 % of the pairs inside.
  EXPECT_GT(inner, 0.1 * pairs);
  std::map<int, int> sizes;
  for (const int node : import->nodes) ++sizes[node];
  EXPECT_THAT(sizes, SizeIs(100)) << "no cluster is empty";
}

}  // namespace
}  // namespace bandana::testing
