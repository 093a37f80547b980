// Runs bandana-import on a made-up data set and reads what it wrote with the code that serves it.
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bandana/v1/config.pb.h"
#include "common/bandits/graph.h"
#include "common/base/file.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/files/users_tsv.h"
#include "common/design/model_spec.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/made_up_hetrec.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/environments/environment.h"
#include "tools/environments/hetrec.h"

namespace bandana::testing {
namespace {

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

ProcessResult Import(const std::string& in, const std::string& out,
                     const std::string& nodes = "clusters") {
  return RunProgram("bandana-import", {"hetrec", "--in=" + in, "--out=" + out, "--dimension=3",
                                       "--clusters=4", "--tag_artists_min=2", "--nodes=" + nodes});
}

// The configuration that stands in `folder`, parsed as a server parses it.
std::vector<ModelSpec> ReadModels(const std::string& folder) {
  v1::ServerConfig config;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(Get(folder + "/server.textproto"), &config));
  std::vector<ModelSpec> specs;
  for (const v1::ModelConfig& model : config.models()) {
    std::vector<ConfigError> errors;
    std::optional<ModelSpec> spec = ParseModelConfig(model, folder, /*allow_files=*/true, errors);
    for (const ConfigError& error : errors) {
      ADD_FAILURE() << model.name() << " " << error.field << ": " << error.message;
    }
    if (spec.has_value()) specs.push_back(*std::move(spec));
  }
  return specs;
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
              model.name().starts_with("ldp-") ? Mode::kLocalReward : Mode::kNonPrivate);
    EXPECT_TRUE(spec->public_spec.one_per_decision);
    EXPECT_EQ(spec->arms_file, out_.File("arms.tsv"));
    EXPECT_EQ(spec->coupling.components().size() == 4, model.name() == "linucb") << model.name();
  }
}

TEST_F(ImportProgram, WritesGroupsAndEffectsBesideTodaysModels) {
  ASSERT_EQ(Import(in_.path(), out_.path()).exit_code, 0);
  const auto nodes = ParseUsersTsv(Get(out_.File("users.tsv")), 4);
  ASSERT_EQ(Import(in_.path(), out_.path(), "users").exit_code, 0);
  const std::string users = Get(out_.File("users.tsv"));
  EXPECT_EQ(ParseUsersTsv(users, 4), nodes) << "the clusters of the other models";
  const auto groups = ParseUserGroupsTsv(users, 100);
  ASSERT_THAT(groups, IsOk());
  EXPECT_THAT(groups->names, ElementsAre("level1"));  // 24 users
  EXPECT_THAT(groups->ids, SizeIs(24));

  const std::vector<ModelSpec> models = ReadModels(out_.path());
  ASSERT_THAT(models, SizeIs(12));
  for (std::size_t i = 0; i < models.size(); ++i) {
    EXPECT_EQ(models[i].effects.has_value(), i >= 8) << models[i].public_spec.name;
  }
  EXPECT_EQ(models[8].public_spec.mode, Mode::kNonPrivate);
  for (int i = 9; i < 12; ++i) EXPECT_EQ(models[i].public_spec.mode, Mode::kLocalReward);
  EXPECT_THAT(models[8].effects->user_groups, ElementsAre("level1"));
  EXPECT_EQ(models[8].effects->users_file, out_.File("users.tsv"));
  EXPECT_EQ(models[8].arms_file, out_.File("arms.tsv"));
}

TEST_F(ImportProgram, CutsAnEdgeList) {
  std::string edges = "# a ring of pairs\r\n";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&edges, "u", i, " u", (i + 1) % 40, "\r\n");
  Put(in_.File("edges.txt"), edges);
  const std::vector<std::string> arguments = {"graph", "--edges=" + in_.File("edges.txt"),
                                              "--out=" + out_.path(), "--dimension=7"};
  const ProcessResult result = RunProgram("bandana-import", arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("users=40 friend_pairs=40 levels=2 edges=40 self_edges=0 "
                                    "repeated=0 one_way=40 "));
  const std::string users = Get(out_.File("users.tsv"));
  const auto groups = ParseUserGroupsTsv(users, 100);
  ASSERT_THAT(groups, IsOk());
  EXPECT_THAT(groups->names, ElementsAre("level1", "level2"));
  EXPECT_THAT(groups->values, ElementsAre(SizeIs(6), SizeIs(12)));
  const std::vector<ModelSpec> models = ReadModels(out_.path());
  ASSERT_THAT(models, SizeIs(4));
  for (const ModelSpec& model : models) {
    EXPECT_EQ(model.public_spec.dimension, 7);
    ASSERT_TRUE(model.effects.has_value());
    EXPECT_THAT(model.effects->user_groups, ElementsAre("level1", "level2"));
    EXPECT_THAT(model.arms_file, IsEmpty());
  }
  ASSERT_EQ(RunProgram("bandana-import", arguments).exit_code, 0);
  EXPECT_EQ(Get(out_.File("users.tsv")), users) << "the same bytes again";

  Put(in_.File("edges.txt"), edges + "u1\n");
  const ProcessResult wrong = RunProgram("bandana-import", arguments);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("edges.txt: line 42: expected two user ids, found one"));
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
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"movielens"}, {"hetrec"}, {"hetrec", "x"}, {"hetrec", "--in=x"}}) {
    const ProcessResult result = RunProgram("bandana-import", arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("--in")) << result.err;
  }
  EXPECT_THAT(RunProgram("bandana-import", {"--version"}).out, HasSubstr("bandana-import "));
}

}  // namespace
}  // namespace bandana::testing
