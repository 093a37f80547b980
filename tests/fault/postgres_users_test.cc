// A deleted user of a server whose log is in PostgreSQL: nothing of the user is found in the files
// of the database afterwards, and nothing of anybody else has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/plain_caller.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kGone[] = "a-recognisable-id-of-a-user";
// No noise, sum or time gives these 8 bytes by chance.
constexpr double kMarker = 1.2345678901234567;

std::string MarkerBytes() {
  std::string bytes(sizeof kMarker, '\0');
  std::memcpy(bytes.data(), &kMarker, sizeof kMarker);
  return bytes;
}

struct Case {
  const char* name;
  const char* model;
  bool groups = false;  // users are put
  bool sealed = false;  // the server has a key_file
  // Some of it stands in the files before, so that its absence means something.
  bool id_before = true;
  bool reward_before = true;
};

const Case kCases[] = {
    {"Plain", "mode: NON_PRIVATE independent {}"},
    // An entry of an effect names a digest of the user.
    {"Groups", "mode: NON_PRIVATE effects { standard {} user_groups: 'plan' }", true},
    {"GroupsUnderAKey", "mode: NON_PRIVATE effects { standard {} user_groups: 'plan' }", true, true,
     true, false},
    {"Central",
     "mode: CENTRAL_REWARD independent {} privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }",
     false, true, false, false},
};

class PostgresUsersTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    database_ = std::make_unique<PostgresServer>();
    ASSERT_THAT(WriteFileDurably(folder_.File("key"), std::string(64, '7'), 0600), IsOk());
    Start();
  }

  void Start() {
    const std::string key =
        GetParam().sealed ? absl::StrCat(" key_file: '", folder_.File("key"), "'") : "";
    const std::string config = absl::StrCat(
        "log { postgresql { connection: '", database_->connection(), "'", key,
        " } } models { name: 'm' dimension: 2 refresh_interval {} reward_min: -1 reward_max: 3"
        " reporting { one_per_decision: true } ",
        GetParam().model,
        " } models { name: 'n' dimension: 2 mode: NON_PRIVATE shared {}"
        " reporting { one_per_decision: true } }");
    auto server = ServerProcess::Start({.config = config, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    caller_ = std::make_unique<PlainCaller>(server_->listen());
    const std::string& admin =
        server_->admin_listen().empty() ? server_->listen() : server_->admin_listen();
    admin_ = v1::Admin::NewStub(grpc::CreateChannel(admin, grpc::InsecureChannelCredentials()));
  }

  std::string Select(const std::string& user, const std::string& model = "m") {
    v1::SelectResponse response;
    const grpc::Status status = caller_->Select(model, user, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.token();
  }
  v1::OutcomeResult Report(const std::string& token, double reward) {
    v1::ReportRequest request;
    request.set_model("m");
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(token);
    outcome.set_reward(reward);
    v1::ReportResponse response;
    grpc::ClientContext context;
    const grpc::Status status = caller_->stub().Report(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.results_size() == 1 ? response.results(0) : v1::OutcomeResult();
  }
  void Learn(const std::string& user, double reward) {
    ASSERT_EQ(Report(Select(user), reward).code(), v1::APPLIED);
  }
  void PutUser(const std::string& id) {
    grpc::ClientContext context;
    v1::PutUsersResponse response;
    const auto stream = admin_->PutUsers(&context, &response);
    v1::PutUsersRequest request;
    request.set_model("m");
    v1::User& user = *request.add_users();
    user.set_id(id);
    (*user.mutable_groups())["plan"] = "free";
    request.set_last(true);
    ASSERT_TRUE(stream->Write(request));
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void Checkpoint() {
    v1::CheckpointRequest request;
    request.set_model("m");
    v1::CheckpointResponse response;
    grpc::ClientContext context;
    const grpc::Status status = admin_->Checkpoint(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void Delete(const std::string& user) {
    v1::DeleteUsersRequest request;
    request.set_model("m");
    request.add_ids(user);
    v1::DeleteUsersResponse response;
    grpc::ClientContext context;
    const grpc::Status status = admin_->DeleteUsers(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.deleted(), 1u);
  }
  // Once the model has learnt all that it acknowledged.
  std::vector<double> MeanOf(const std::string& user) {
    v1::GetStatsResponse stats = Stats();
    for (int i = 0; i < 1000 && stats.applied_sequence() < stats.log_sequence(); ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      stats = Stats();
    }
    v1::GetPosteriorRequest request;
    request.set_model("m");
    request.set_user(user);
    v1::GetPosteriorResponse response;
    grpc::ClientContext context;
    const grpc::Status status = caller_->stub().GetPosterior(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.means().begin(), response.means().end()};
  }
  v1::GetStatsResponse Stats() {
    v1::GetStatsRequest request;
    request.set_model("m");
    v1::GetStatsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = admin_->GetStats(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // How often the text stands in the files of the database, as they are after what is in memory was
  // written. `archives`: also in write-ahead logs, which keep what they have.
  int Found(const std::string& text, bool archives) {
    database_->Sql("CHECKPOINT");
    int found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(database_->data())) {
      if (!entry.is_regular_file()) continue;
      if (!archives && entry.path().string().find("/pg_wal/") != std::string::npos) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      for (std::size_t at = bytes.find(text); at != std::string::npos;
           at = bytes.find(text, at + 1)) {
        ++found;
      }
    }
    return found;
  }
  void ExpectGone() {
    EXPECT_EQ(Found(kGone, /*archives=*/!GetParam().id_before), 0);
    EXPECT_EQ(Found(MarkerBytes(), /*archives=*/GetParam().sealed), 0);
  }

  TempDir folder_;
  std::unique_ptr<PostgresServer> database_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<PlainCaller> caller_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

TEST_P(PostgresUsersTest, ADeletedUserIsInNoFileOfTheDatabase) {
  if (GetParam().groups) {
    PutUser(kGone);
    PutUser("other");
  }
  for (int i = 0; i < 40; ++i) {
    Learn("other", i % 2);
    Learn(kGone, kMarker);
    // Rows of other models lie between, and stay.
    v1::ReportResponse response;
    ASSERT_TRUE(caller_->Report("n", Select("other", "n"), response).ok());
    if (i == 10 || i == 20) Checkpoint();
  }
  const std::string open = Select(kGone);
  EXPECT_EQ(Found(kGone, false) > 0, GetParam().id_before);
  EXPECT_EQ(Found(MarkerBytes(), false) > 0, GetParam().reward_before);
  const std::vector<double> other = MeanOf("other");
  const std::uint64_t sequence = Stats().log_sequence();

  Delete(kGone);
  ExpectGone();
  EXPECT_GT(Stats().log_sequence(), sequence);  // the chain goes on over the deletion
  const auto check = [&] {
    const std::vector<double> now = MeanOf("other");
    ASSERT_EQ(now.size(), other.size());
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], other[i], 1e-9);
    EXPECT_EQ(MeanOf(kGone), MeanOf("nobody"));
  };
  check();
  Learn("other", 1);
  const std::vector<double> more = MeanOf("other");
  // Another start reads the chain behind the deletion.
  server_->Kill();
  Start();
  ExpectGone();
  const std::vector<double> again = MeanOf("other");
  for (std::size_t i = 0; i < more.size(); ++i) EXPECT_NEAR(again[i], more[i], 1e-9);
  EXPECT_EQ(Report(open, 1).reason(), v1::TOKEN_FOREIGN);
}

INSTANTIATE_TEST_SUITE_P(Models, PostgresUsersTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bandana::testing
