// Certificate files, their reload, and the files of a client's side.
#include "server/service/tls/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/channel/bearer_token.h"
#include "common/channel/channel.h"
#include "grpcpp/grpcpp.h"
#include "server/service/tls/tls_credentials.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    WritePair(folder_.path(), "server", authority_.Issue({.common_name = "server"}));
    Write("ca.pem", authority_.certificate());
    files_ = {.certificate_file = folder_.File("server.pem"),
              .private_key_file = folder_.File("server.key"),
              .client_ca_file = folder_.File("ca.pem")};
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFileDurably(folder_.File(name), text, 0600), IsOk());
  }
  // OK, or the mistake.
  absl::Status Load(absl::Time now = absl::Now()) {
    TlsMaterial material;
    TlsMistake mistake;
    if (LoadTls(files_, now, material, mistake)) return absl::OkStatus();
    file_ = mistake.file;
    return mistake.status;
  }

  const TempDir folder_;
  const TestAuthority authority_{"authority"};
  TlsFiles files_;
  TlsFile file_{};
};

TEST_F(TlsFilesTest, TakesFilesThatFit) {
  EXPECT_THAT(Load(), IsOk());
  files_.client_ca_file = "";
  EXPECT_THAT(Load(), IsOk());
}

TEST_F(TlsFilesTest, NamesTheFileAndWhatIsWrongWithIt) {
  EXPECT_THAT(Load(absl::Now() + absl::Hours(2)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "server.pem has expired at"));
  EXPECT_THAT(Load(absl::Now() - absl::Hours(2)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "is not valid before"));

  ASSERT_EQ(::chmod(files_.private_key_file.c_str(), 0644), 0);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kFailedPrecondition, "has mode 0644"));
  EXPECT_EQ(file_, TlsFile::kPrivateKey);

  const PemPair other = authority_.Issue({.common_name = "other"});
  Write("other.key", other.private_key);
  files_.private_key_file = folder_.File("other.key");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               "other.key is not the key of the certificate"));
  Write("other.key", other.certificate);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, "holds no PEM private key"));
  files_.private_key_file = folder_.File("absent.key");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, "absent.key"));

  Write("ca.pem", "no certificate");
  files_.private_key_file = folder_.File("server.key");
  ASSERT_EQ(::chmod(files_.private_key_file.c_str(), 0600), 0);
  EXPECT_THAT(Load(),
              StatusIs(absl::StatusCode::kInvalidArgument, "ca.pem holds no PEM certificate"));
  EXPECT_EQ(file_, TlsFile::kClientCa);

  const std::string cut = authority_.certificate().substr(0, 200);
  Write("server.pem", other.certificate + cut + "\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               "server.pem holds a certificate that does not parse"));
  EXPECT_EQ(file_, TlsFile::kCertificate);
}

TEST_F(TlsFilesTest, ReloadTakesWhatFitsAndKeepsTheRest) {
  const testing::FakeClock clock(absl::Now());
  std::vector<absl::Status> told;
  const auto reloader =
      *TlsReloader::Open({.files = files_,
                          .reload_interval = absl::Hours(1),
                          .on_reload = [&](const absl::Status& status) { told.push_back(status); }},
                         clock);
  const absl::Time first = reloader->not_after();
  EXPECT_THAT(reloader->Look(), IsOk());
  EXPECT_TRUE(told.empty());  // nothing changed

  const PemPair next =
      authority_.Issue({.common_name = "server", .not_after = absl::Now() + absl::Hours(48)});
  Write("server.pem", next.certificate);  // half of a rotation
  EXPECT_THAT(reloader->Look(),
              StatusIs(absl::StatusCode::kInvalidArgument, "is not the key of the certificate"));
  EXPECT_EQ(reloader->not_after(), first);
  EXPECT_EQ(reloader->failures(), 1);

  Write("server.key", next.private_key);
  EXPECT_THAT(reloader->Look(), IsOk());
  EXPECT_GT(reloader->not_after(), first + absl::Hours(24));
  ASSERT_EQ(told.size(), 2);
  EXPECT_THAT(told[0].message(), ::testing::Not(HasSubstr("BEGIN")));
}

TEST_F(TlsFilesTest, ABearerTokenIsReadAgainWhenItsFileChanges) {
  testing::FakeClock clock;
  Write("token", "  first-token-of-mine\n");
  const auto token = *BearerToken::Open(folder_.File("token"), clock);
  EXPECT_EQ(token->Header(), "Bearer first-token-of-mine");
  Write("token", "second-token-of-mine\n");
  EXPECT_EQ(token->Header(), "Bearer first-token-of-mine");  // looked at a moment ago
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(token->Header(), "Bearer second-token-of-mine");
  std::filesystem::remove(folder_.File("token"));
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(token->Header(), "Bearer second-token-of-mine");
}

TEST_F(TlsFilesTest, RefusesFilesThatHoldNoToken) {
  for (const std::string text : {"", "short", "two tokens-of-sixteen-bytes",
                                 "============="
                                 "==================",
                                 "caf\xc3\xa9-with-enough-bytes"}) {
    Write("token", text);
    const auto token = BearerToken::Open(folder_.File("token"));
    EXPECT_THAT(token, StatusIs(absl::StatusCode::kInvalidArgument, "must hold one token")) << text;
  }
  Write("token", std::string(kTokenBytesMax, 'x'));
  EXPECT_THAT(BearerToken::Open(folder_.File("token")), IsOk());
  ASSERT_EQ(::chmod(folder_.File("token").c_str(), 0640 | 0004), 0);
  EXPECT_THAT(BearerToken::Open(folder_.File("token")),
              StatusIs(absl::StatusCode::kFailedPrecondition, "has mode 0644"));
}

TEST_F(TlsFilesTest, AConnectionRefusesWhatWouldLeakOrCannotWork) {
  Write("token", "first-token-of-mine");
  const auto open = [&](const std::string& target, const ChannelSecurity& security) {
    grpc::ChannelArguments arguments;
    return Connection::Open(target, security, arguments);
  };
  const std::string token = folder_.File("token");
  EXPECT_THAT(open("example.org:7070", {.token_file = token}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "not sent over plaintext"));
  EXPECT_THAT(open("dns:///10.0.0.1:7070", {.token_file = token}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "not sent over plaintext"));
  for (const char* local :
       {"127.0.0.1:7070", "unix:/tmp/socket", "ipv6:[::1]:7070", "dns:///localhost:7070"}) {
    EXPECT_THAT(open(local, {.token_file = token}), IsOk()) << local;
  }
  EXPECT_THAT(open("example.org:7070", {.ca_file = files_.client_ca_file, .token_file = token}),
              IsOk());
  EXPECT_THAT(open("127.0.0.1:1",
                   {.ca_file = files_.client_ca_file, .certificate_file = files_.certificate_file}),
              StatusIs(absl::StatusCode::kInvalidArgument, "go together"));
  EXPECT_THAT(open("127.0.0.1:1", {.server_name = "server"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "needs a CA file"));
  EXPECT_THAT(open("127.0.0.1:1", {.ca_file = token}),
              StatusIs(absl::StatusCode::kInvalidArgument, "holds no PEM certificate"));
}

}  // namespace
}  // namespace bandana::server
