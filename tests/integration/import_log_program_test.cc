// Imports a log by the program, and serves the catalogue and the configuration that it wrote.
#include <fstream>
#include <memory>
#include <string>

#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "grpcpp/grpcpp.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

TEST(ImportLogProgram, WritesAConfigurationThatAServerTakes) {
  const TempDir folder;
  {
    std::ofstream log(folder.File("log.csv"));
    log << "when,item,click\n";
    for (int i = 0; i < 300; ++i)
      log << 1'500'000'000 + i << ",arm-" << i % 3 << ',' << i % 2 << '\n';
  }
  const ProcessResult imported = RunProgram(
      "bandana-import", {"csv", "--in=" + folder.File("log.csv"), "--out=" + folder.File("out"),
                         "--columns=time=when,arm=item,reward=click", "--law=uniform"});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.out,
            "decisions=300 arms=3 skipped=0 law=all out=" + folder.File("out") + "\n");
  const auto config = ReadFile(folder.File("out/server.textproto"), 1 << 20);
  ASSERT_THAT(config, IsOk());
  const auto server = ServerProcess::Start({.config = *config, .folder = folder.File("out")});
  ASSERT_THAT(server, IsOk());
  const auto stub = v1::Recommender::NewStub(
      grpc::CreateChannel((*server)->listen(), grpc::InsecureChannelCredentials()));
  for (const char* model : {"imported", "ldp-imported"}) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    request.mutable_arms()->mutable_catalogue_query();
    request.set_top_k(3);
    v1::SelectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub->Select(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.arm_names_size(), 3) << model;
  }
}

TEST(ImportLogProgram, EndsWithOneAndAReason) {
  const TempDir folder;
  std::ofstream(folder.File("log.csv")) << "a,r,p\nx,1,0\n";
  const ProcessResult imported = RunProgram(
      "bandana-import", {"csv", "--in=" + folder.File("log.csv"), "--out=" + folder.File("out"),
                         "--columns=arm=a,reward=r,propensity=p"});
  EXPECT_EQ(imported.exit_code, 1);
  EXPECT_THAT(imported.err, HasSubstr("line 2: p: must be in (0, 1] for the chosen arm, got 0\n"));
  EXPECT_THAT(imported.err, HasSubstr("no decision can be judged, 1 faults"));
}

}  // namespace
}  // namespace bandana::testing
