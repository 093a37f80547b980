// The listener of a real server for the others of its database.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/plain_caller.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

TEST(PeersProcessTest, TheReadyLineNamesAListenerForPeersAlone) {
  if (!PostgresServer::Available()) {
    GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
  }
  const TempDir folder;
  PostgresServer database;
  ASSERT_THAT(WriteFileDurably(folder.File("log.key"), std::string(64, '7'), 0600), IsOk());
  const std::string config = "log { postgresql { connection: \"" + database.connection() +
                             "\" key_file: 'log.key' } }\n"
                             "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE }\n";
  auto server = ServerProcess::Start(
      {.config = config, .folder = folder.path(), .arguments = {"--peers_listen=127.0.0.1:0"}});
  ASSERT_THAT(server, IsOk());
  const std::string peers = (*server)->peers_listen();
  ASSERT_TRUE(peers.starts_with("127.0.0.1:")) << peers;
  EXPECT_NE(peers, "127.0.0.1:0");
  // Its own models are served as ever.
  PlainCaller caller((*server)->listen());
  v1::SelectResponse selected;
  EXPECT_TRUE(caller.Select("m", "u", selected).ok());
  // A stranger is refused there.
  PlainCaller stranger(peers);
  EXPECT_EQ(stranger.Select("m", "u", selected).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ((*server)->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
