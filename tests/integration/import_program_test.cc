// Runs bandana-import on a made-up data set and reads what it wrote with the code that serves it.
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bandana/v1/config.pb.h"
#include "common/bandits/graph.h"
#include "common/base/file.h"
#include "common/design/model_spec.h"
#include "common/wire/arms_tsv.h"
#include "common/wire/users_tsv.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/made_up_hetrec.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/environments/environment.h"
#include "tools/environments/hetrec.h"

namespace bandana {
namespace {

using ::bandana::testing::IsOk;
using ::bandana::testing::ProcessResult;
using ::bandana::testing::RunProgram;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string Get(const std::string& path) {
  const auto text = ReadFile(path, 1 << 24);
  EXPECT_THAT(text, IsOk()) << path;
  return text.value_or("");
}

// Writes the made-up data set as .dat files with CRLF line ends.
void WriteDataSet(const std::string& folder) {
  const HetrecFiles files = testing::MadeUpHetrec();
  std::string listenings = "userID\tartistID\tweight\n";
  for (const Listening& row : files.listenings) {
    absl::StrAppend(&listenings, row.user, "\t", row.artist, "\t7\n");
  }
  std::string tagged = "userID\tartistID\ttagID\tday\tmonth\tyear\n";
  for (const TagAssignment& row : files.assignments) {
    absl::StrAppend(&tagged, row.user, "\t", row.artist, "\t", row.tag, "\t", row.day.day(), "\t",
                    row.day.month(), "\t", row.day.year(), "\n");
  }
  std::string friends = "userID\tfriendID\n";
  for (const auto& [a, b] : files.friends) {
    absl::StrAppend(&friends, a, "\t", b, "\n", b, "\t", a, "\n");
  }
  std::string tags = "tagID\ttagValue\n";
  for (const auto& [tag, name] : files.tag_names) absl::StrAppend(&tags, tag, "\t", name, "\n");
  const auto crlf = [](const std::string& text) {
    return absl::StrReplaceAll(text, {{"\n", "\r\n"}});
  };
  Put(folder + "/user_artists.dat", crlf(listenings));
  Put(folder + "/user_taggedartists.dat", crlf(tagged));
  Put(folder + "/user_friends.dat", crlf(friends));
  Put(folder + "/tags.dat", crlf(tags));
}

ProcessResult Import(const std::string& in, const std::string& out) {
  return RunProgram("bandana-import", {"hetrec", "--in=" + in, "--out=" + out, "--dimension=3",
                                       "--clusters=4", "--tag_artists_min=2"});
}

class ImportProgram : public ::testing::Test {
 protected:
  ImportProgram() { WriteDataSet(in_.path()); }
  testing::TempDir in_;
  testing::TempDir out_;
};

TEST_F(ImportProgram, WritesFilesThatTheWireReads) {
  const ProcessResult result = Import(in_.path(), out_.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("users=24 "));
  EXPECT_THAT(result.err, IsEmpty()) << "progress is for terminals";

  const auto arms = ParseArmsTsv(Get(out_.File("arms.tsv")), 3, 1000);
  ASSERT_THAT(arms, IsOk());
  EXPECT_THAT(*arms, SizeIs(::testing::Gt(20)));
  EXPECT_THAT(ParseUsersTsv(Get(out_.File("users.tsv")), 4), testing::IsOkAndHolds(SizeIs(24)));
  const auto graph = ParseMatrixMarket(Get(out_.File("graph.mtx")), Graph::Kind::kEdgeWeights);
  ASSERT_THAT(graph, IsOk());
  double twice_the_pairs = 0;
  for (const Graph::Entry& entry : graph->entries) {
    twice_the_pairs += entry.weight * (entry.row == entry.column ? 2 : 1);
  }
  EXPECT_EQ(twice_the_pairs, 2.0 * testing::MadeUpHetrec().friends.size());
}

TEST_F(ImportProgram, WritesAConfigurationWithoutMistakes) {
  ASSERT_EQ(Import(in_.path(), out_.path()).exit_code, 0);
  v1::ServerConfig config;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(Get(out_.File("server.textproto")), &config));
  ASSERT_EQ(config.models_size(), 8);
  for (const v1::ModelConfig& model : config.models()) {
    std::vector<ConfigError> errors;
    const auto spec = ParseModelConfig(model, out_.path(), /*allow_files=*/true, errors);
    for (const ConfigError& error : errors) {
      ADD_FAILURE() << model.name() << " " << error.field << ": " << error.message;
    }
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->coupling.nodes(), model.name() == "linucb-shared" ? 1 : 4) << model.name();
    EXPECT_EQ(spec->public_spec.dimension, 3);
    EXPECT_EQ(spec->public_spec.mode,
              model.name().starts_with("ldp-") ? v1::LOCAL_REWARD : v1::NON_PRIVATE);
    EXPECT_TRUE(spec->public_spec.one_per_decision);
    EXPECT_EQ(spec->arms_file, out_.File("arms.tsv"));
    EXPECT_EQ(spec->coupling.components().size() == 4, model.name() == "linucb") << model.name();
  }
}

TEST_F(ImportProgram, WritesAnEnvironmentThatPlays) {
  ASSERT_EQ(Import(in_.path(), out_.path()).exit_code, 0);
  Settings settings;
  ASSERT_THAT(settings.Add("pool", "5"), IsOk());
  const auto environment = MakeHetrec(out_.path(), settings, 1);
  ASSERT_THAT(environment, IsOk());
  EXPECT_EQ((*environment)->info().dimension, 3);
  EXPECT_EQ((*environment)->info().users, 24);
}

TEST_F(ImportProgram, WritesTheSameBytesAgain) {
  testing::TempDir again;
  ASSERT_EQ(Import(in_.path(), out_.path()).exit_code, 0);
  ASSERT_EQ(Import(in_.path(), again.path()).exit_code, 0);
  for (const char* name : {"arms.tsv", "users.tsv", "events.tsv", "items.tsv", "graph.mtx",
                           "influence.mtx", "identity.mtx", "server.textproto"}) {
    EXPECT_EQ(Get(out_.File(name)), Get(again.File(name))) << name;
  }
}

TEST_F(ImportProgram, NamesFileAndLineOfATruncatedFile) {
  std::string friends = Get(in_.File("user_friends.dat"));
  friends.resize(friends.size() - 3);
  Put(in_.File("user_friends.dat"), friends);
  const ProcessResult result = Import(in_.path(), out_.path());
  EXPECT_EQ(result.exit_code, 1);
  const int lines = 1 + 2 * static_cast<int>(testing::MadeUpHetrec().friends.size());
  EXPECT_THAT(result.err, HasSubstr(absl::StrCat(in_.File("user_friends.dat"), ":", lines, ": ")));
  EXPECT_FALSE(ReadFile(out_.File("server.textproto"), 1 << 20).ok());
}

TEST(ImportArguments, AreExplainedWhenWrong) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"movielens"}, {"hetrec"}, {"hetrec", "x"}}) {
    const ProcessResult result = RunProgram("bandana-import", arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("--in")) << result.err;
  }
  EXPECT_THAT(RunProgram("bandana-import", {"--version"}).out, HasSubstr("bandana-import "));
}

}  // namespace
}  // namespace bandana
