// bandana-ctl against a real server: every verb, its JSON, and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] = "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE }\n";
constexpr char kGraphModel[] =
    "name: 'friends' dimension: 2 mode: NON_PRIVATE arms_file: 'arms.tsv'\n"
    "goblin { graph { file: 'graph.mtx' } users { file: 'users.tsv' } }\n";
constexpr char kGraph[] = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n3 2 4\n";

class CtlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    Write("arms.tsv", "1\tnews,sport\t1 0\n2\t-\t0 1\n");
    Write("graph.mtx", kGraph);
    Write("users.tsv", "ann\t0\nbob\t2\n");
    Write("friends.textproto", kGraphModel);
  }

  void Write(const std::string& name, const std::string& content) {
    ASSERT_THAT(WriteFileDurably(folder_.File(name), content, 0600), IsOk());
  }

  ProcessResult Ctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--target=" + server_->listen());
    return RunProgram("bandana-ctl", arguments);
  }

  // Output of a command that must succeed.
  std::string Out(const std::vector<std::string>& arguments) {
    const ProcessResult result = Ctl(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  const TempDir folder_;
  const TempDir other_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(CtlTest, ATargetHasAPort) {
  for (const char* target : {"127.0.0.1", "localhost", "127.0.0.1:0", "::1", "[::1]"}) {
    const ProcessResult result =
        RunProgram("bandana-ctl", {absl::StrCat("--target=", target), "models", "list"});
    EXPECT_EQ(result.exit_code, 1) << target;
    EXPECT_THAT(result.err, HasSubstr("--target: must ")) << target;
  }
}

TEST_F(CtlTest, CreatesAModelFromFilesThatTheServerNeverReads) {
  EXPECT_THAT(Out({"models", "create", folder_.File("friends.textproto")}),
              AllOf(HasSubstr("nodes: 3"), HasSubstr("arms: 2")));
  EXPECT_THAT(Out({"models", "list"}), AllOf(HasSubstr("friends"), HasSubstr("plain")));
  EXPECT_THAT(Out({"models", "get", "--model=friends"}), HasSubstr("model: friends"));
  EXPECT_EQ(Out({"arms", "list", "--model=friends"}), "1\tnews,sport\t1 0\n2\t-\t0 1\n");
  EXPECT_THAT(Out({"graph", "put", folder_.File("graph.mtx"), "--model=friends"}),
              HasSubstr("nodes: 3"));
  EXPECT_THAT(Out({"models", "delete", "--model", "friends"}), HasSubstr("deleted friends"));
  EXPECT_EQ(Ctl({"models", "get", "--model=friends"}).exit_code, 1);
}

TEST_F(CtlTest, UpdatesSomeFieldsOfAModel) {
  Out({"models", "create", folder_.File("friends.textproto")});
  Write("change.textproto", "goblin { laplacian_weight: 3 } arms_max: 9");
  EXPECT_THAT(Out({"models", "update", folder_.File("change.textproto"), "--model=friends"}),
              AllOf(HasSubstr("laplacian_weight: 3"), HasSubstr("arms_max: 9"),
                    HasSubstr("nodes: 3"), HasSubstr("arms: 2")));
  Write("nothing.textproto", "");
  EXPECT_THAT(
      Out({"models", "update", folder_.File("nothing.textproto"), "arms_max", "--model=friends"}),
      AllOf(HasSubstr("laplacian_weight: 3"), Not(HasSubstr("arms_max: 9"))));
  const auto fails = [&](std::vector<std::string> arguments, const std::string& why) {
    const ProcessResult result = Ctl(std::move(arguments));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  fails({"models", "update", folder_.File("nothing.textproto"), "--model=friends"},
        "has no field, and none to reset is named");
  fails({"models", "update", folder_.File("nothing.textproto"), "arms_mux", "--model=friends"},
        "`arms_mux` is no field");
  Write("fixed.textproto", "dimension: 3");
  fails({"models", "update", folder_.File("fixed.textproto"), "--model=friends"}, "dimension");
  fails({"models", "update", folder_.File("change.textproto"), "--model=plain"}, "SIGHUP");
}

TEST_F(CtlTest, PutsAndDeletesUsers) {
  Write("fx.textproto",
        "name: 'fx' dimension: 2 mode: NON_PRIVATE "
        "effects { standard {} user_groups: ['city'] users_file: 'cities.tsv' }\n");
  Write("cities.tsv", "user\tcity\nann\trome\nbob\toslo\n");
  Out({"models", "create", folder_.File("fx.textproto")});
  EXPECT_THAT(Out({"users", "put", folder_.File("cities.tsv"), "--model=fx"}),
              HasSubstr("replaced: 2"));
  EXPECT_THAT(Out({"users", "delete", "ann", "nobody", "--model=fx"}),
              AllOf(HasSubstr("deleted: 1"), HasSubstr("users: 1")));
  EXPECT_THAT(Out({"stats", "--model=fx"}),
              AllOf(HasSubstr("0 of at most 1000000 pairs"), HasSubstr("group_city")));
  EXPECT_EQ(Ctl({"users", "delete", "--model=fx"}).exit_code, 1);
  EXPECT_EQ(Ctl({"users", "delete", "ann", "--model=plain"}).exit_code, 1);
}

TEST_F(CtlTest, PutsAndRemovesArms) {
  EXPECT_THAT(Out({"arms", "put", folder_.File("arms.tsv"), "--model=plain"}),
              HasSubstr("added: 2"));
  EXPECT_THAT(Out({"arms", "remove", "1", "9", "--model=plain"}), HasSubstr("removed: 1"));
  Write("bad.tsv", "1\t-\t1 0\n2\t-\t1\n");
  const ProcessResult bad = Ctl({"arms", "put", folder_.File("bad.tsv"), "--model=plain"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("bad.tsv"), HasSubstr("line 2")));
}

TEST_F(CtlTest, PutsUsers) {
  Write("groups.tsv", "user\tplan\tcity\nann\tfree\trome\nbob\t-\trome\n");
  Write("effects.textproto",
        "name: 'fx' dimension: 2 mode: NON_PRIVATE\n"
        "effects { standard {} user_groups: ['city', 'plan'] users_file: 'groups.tsv' }\n");
  Out({"models", "create", folder_.File("effects.textproto")});
  EXPECT_THAT(Out({"stats", "--model=fx"}),
              AllOf(HasSubstr("users with groups       2  values: city 1")));
  Write("more.tsv", "user\tplan\nann\tgold\ncyd\tgold\n");
  EXPECT_THAT(Out({"users", "put", folder_.File("more.tsv"), "--model=fx"}),
              AllOf(HasSubstr("added: 1"), HasSubstr("replaced: 1"), HasSubstr("users: 3")));
  Write("bad.tsv", "user\tplan\nann\n");
  const ProcessResult bad = Ctl({"users", "put", folder_.File("bad.tsv"), "--model=fx"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("bad.tsv"), HasSubstr("line 2")));
  EXPECT_THAT(Ctl({"users", "put", folder_.File("more.tsv"), "--model=plain"}).err,
              HasSubstr("has no groups of users"));
}

TEST_F(CtlTest, WritesStatsAsJsonNumbers) {
  const std::string path = folder_.File("stats.json");
  EXPECT_THAT(Out({"stats", "--model", "plain", "--json", path}),
              HasSubstr("reports applied         0\n"));
  const auto json = ReadFile(path, 1 << 20);
  ASSERT_THAT(json, IsOk());
  EXPECT_THAT(
      *json,
      AllOf(HasSubstr("\n  \"reports_applied\": 0,"), HasSubstr("\n  \"reports_duplicate\": 0,"),
            HasSubstr("\n  \"reports_rejected\": {"), HasSubstr("\n  \"log_sequence\": "),
            HasSubstr("\n  \"posterior_version\": ")));
}

TEST_F(CtlTest, CheckpointsExportsImportsAndOpensEpochs) {
  EXPECT_THAT(Out({"checkpoint", "create", "--model=plain"}), HasSubstr("log_sequence: "));
  const std::string path = folder_.File("plain.export");
  EXPECT_THAT(Out({"export", path, "--model=plain"}), HasSubstr("wrote "));
  EXPECT_THAT(Out({"import", path, "--model=copy"}), HasSubstr("model: copy"));
  EXPECT_THAT(Out({"epoch", "open", "--model=copy"}), HasSubstr("epoch: "));
  EXPECT_THAT(Out({"ledger", "--model=copy"}), HasSubstr("mode                    NON_PRIVATE\n"));
}

TEST_F(CtlTest, AnExportIsThereWhenItIsComplete) {
  const std::string path = folder_.File("plain.export");
  Write("plain.export", "the one before");
  Write("plain.export.part", "what a killed export left");
  EXPECT_EQ(Ctl({"export", path, "--model=absent"}).exit_code, 1);
  EXPECT_THAT(ReadFile(path, 100), IsOkAndHolds("the one before"));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  Out({"export", path, "--model=plain"});
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(ReadFile(path, 1 << 20)->substr(0, 8), "BANDEXPT");
  EXPECT_THAT(Ctl({"export", folder_.File("absent/x"), "--model=plain"}).err,
              HasSubstr("NOT_FOUND"));
}

TEST_F(CtlTest, SaysWhyAnExportIsNotTakenBeforeItSendsIt) {
  const std::string path = folder_.File("plain.export");
  Out({"export", path, "--model=plain"});
  const auto refused = [&](const std::string& file, const std::string& name) {
    const ProcessResult result = Ctl({"import", folder_.File(file), "--model=" + name});
    EXPECT_EQ(result.exit_code, 1);
    return result.err;
  };
  EXPECT_THAT(refused("plain.export", "plain"), HasSubstr("ALREADY_EXISTS: model plain exists"));
  EXPECT_THAT(refused("plain.export", "../x"), HasSubstr("INVALID_ARGUMENT: model: "));
  EXPECT_THAT(refused("absent", "copy"), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(refused("arms.tsv", "copy"), HasSubstr("arms.tsv: export: truncated"));
  const std::string bytes = *ReadFile(path, 1 << 20);
  Write("cut", bytes.substr(0, bytes.size() - 9));
  EXPECT_THAT(refused("cut", "copy"), HasSubstr("cut: export: "));
  std::string bad = bytes;
  bad[bad.size() / 2] ^= 4;
  Write("flipped", bad);
  EXPECT_THAT(refused("flipped", "copy"), HasSubstr("DATA_LOSS"));
  bad = bytes;
  bad[8] = 9;
  Write("newer", bad);
  EXPECT_THAT(refused("newer", "copy"), HasSubstr("of format 9, this version reads formats 1 to"));
  EXPECT_THAT(Out({"models", "list"}), Not(HasSubstr("copy")));
  Out({"import", path, "--model=copy"});
}

TEST_F(CtlTest, FailsWithTheReason) {
  EXPECT_THAT(Ctl({"modles", "lst"}).err, HasSubstr("no such command: did you mean models list?"));
  EXPECT_THAT(Ctl({"arms", "putt", "x.tsv"}).err, HasSubstr("did you mean arms put?"));
  const ProcessResult mistyped = Ctl({"stats", "--modle=plain"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("unknown flag --modle: did you mean --model?"));
  EXPECT_THAT(Ctl({"stats", "--model=absent"}).err, HasSubstr("NOT_FOUND"));
  EXPECT_EQ(Ctl({"stats", "--model=absent"}).exit_code, 1);
  EXPECT_EQ(Ctl({"stats"}).exit_code, 1);
  EXPECT_EQ(Ctl({"models", "explode"}).exit_code, 1);
  EXPECT_EQ(Ctl({}).exit_code, 2);
  EXPECT_EQ(Ctl({"arms", "remove", "one", "--model=plain"}).exit_code, 1);
  Write("bad.textproto", "name: 'x'\ndimension: 0 shared {} mode: NON_PRIVATE\n");
  const ProcessResult bad = Ctl({"models", "create", folder_.File("bad.textproto")});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.textproto: dimension: must be in [1, 256]"));
  server_->Kill();
  EXPECT_THAT(Ctl({"models", "list"}).err, HasSubstr("UNAVAILABLE"));
}

TEST_F(CtlTest, HealthSaysByItsExitCodeWhetherCallsAreTaken) {
  EXPECT_EQ(Out({"health"}), "SERVING\n");
  EXPECT_EQ(Out({"health", "--model=plain", "--json=-"}), "{\"health\": \"SERVING\"}\n");
  const ProcessResult absent = Ctl({"health", "--model=absent"});
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_THAT(absent.err, HasSubstr("NOT_FOUND"));
  server_->process().Signal(SIGSTOP);  // takes connections and answers nothing
  const absl::Time begin = absl::Now();
  const ProcessResult silent = Ctl({"health"});
  EXPECT_EQ(silent.exit_code, 1);
  EXPECT_THAT(silent.err, HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
  server_->process().Signal(SIGCONT);
}

TEST_F(CtlTest, HealthOfAServerThatDrainsIsNoLongerServing) {
  auto server = ServerProcess::Start(
      {.config = "drain_delay { seconds: 60 }\n" + std::string(kConfig), .folder = other_.path()});
  ASSERT_THAT(server, IsOk());
  (*server)->process().Signal(SIGTERM);
  ProcessResult health;
  do {
    health = RunProgram("bandana-ctl", {"health", "--target=" + (*server)->listen()});
  } while (health.exit_code == 0);
  EXPECT_EQ(health.exit_code, 1);
  EXPECT_THAT(health.err, HasSubstr("health is NOT_SERVING"));
}

TEST_F(CtlTest, ExplainsItself) {
  const ProcessResult help = RunProgram("bandana-ctl", {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* verb : {"models list", "arms put", "graph put", "ledger", "checkpoint create",
                           "export", "import", "epoch open", "stats", "health"}) {
    EXPECT_THAT(help.out, HasSubstr(verb));
  }
  EXPECT_EQ(RunProgram("bandana-ctl", {"--version"}).exit_code, 0);
}

}  // namespace
}  // namespace bandana::testing
