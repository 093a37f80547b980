// TLS and access in configurations: what is refused, and how it is said.
#include "server/ops/config/security_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "common/base/file.h"
#include "server/ops/config/config_file.h"
#include "server/ops/config/config_summary.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kDigest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::string Tls(const std::string& more = "") {
  return "tls { certificate_file: 's.pem' private_key_file: 's.key' " + more + " } ";
}
constexpr char kLog[] = "connection: 'host=h' key_file: 'log.key'";
constexpr char kClientCa[] = "client_ca_file: 'ca.pem'";

class SecuritySpecTest : public ::testing::Test {
 protected:
  SecuritySpecTest() {
    WritePair(folder_.path(), "s", authority_.Issue({.common_name = "s"}));
    EXPECT_THAT(WriteFileDurably(folder_.File("ca.pem"), authority_.certificate(), 0644), IsOk());
  }
  ConfigResult Parse(const std::string& text) { return ParseConfig(text, folder_.path(), {}); }
  static std::string Access(const std::string& principal) {
    return "access { principals { " + principal + " } }";
  }
  static std::string Token(const std::string& rest) {
    return Access("name: 'app' token_sha256: '" + std::string(kDigest) + "' " + rest);
  }
  static std::string Peers(const std::string& log, const std::string& peers) {
    const std::string engine = log.empty() ? "" : "log { postgresql { " + log + " } } ";
    return engine + "peers { " + peers + " }";
  }

  const TempDir folder_;
  const TestAuthority authority_{"authority"};
};

TEST_F(SecuritySpecTest, NamesFieldAndConstraintOfEveryMistake) {
  struct Row {
    std::string text, field, message;
  };
  const std::vector<Row> rows = {
      {"tls { private_key_file: 's.key' }", "tls.certificate_file", "must be set"},
      {"tls { certificate_file: 's.pem' }", "tls.private_key_file", "must be set"},
      {"tls { certificate_file: 'x.pem' private_key_file: 's.key' }", "tls.certificate_file",
       "x.pem"},
      {"tls { certificate_file: 's.key' private_key_file: 's.key' }", "tls.certificate_file",
       "holds no PEM certificate"},
      {"tls { certificate_file: 's.pem' private_key_file: 'ca.pem' }", "tls.private_key_file",
       "has mode 0644, must be 0600"},
      {Tls("require_client_certificate: true"), "tls.require_client_certificate",
       "needs client_ca_file"},
      {Tls("reload_interval { nanos: 1 }"), "tls.reload_interval", "must be in"},
      {"access {}", "access.principals", "must have at least one"},
      {"access { generate_token: true principals { name: 'a' certificate_subject: 'x' } }",
       "access.generate_token", "must be the only rule"},
      {"access { generate_token: true anonymous_roles: ROLE_SELECT }", "access.generate_token",
       "must be the only rule"},
      {Access("name: 'app' roles: ROLE_SELECT"), "access.principals[0].token_sha256",
       "exactly one of"},
      {Token("certificate_subject: 'x' roles: ROLE_SELECT"), "access.principals[0].token_sha256",
       "exactly one of"},
      {Access("name: 'app' token_sha256: 'my-token' roles: ROLE_SELECT"),
       "access.principals[0].token_sha256", "must be 64 hexadecimal digits, got 8 characters"},
      {Token(""), "access.principals[0].roles", "must have at least one role"},
      {Token("roles: ROLE_UNSPECIFIED"), "access.principals[0].roles[0]", "must be ROLE_SELECT"},
      {Access("name: 'App' token_sha256: '" + std::string(kDigest) + "' roles: ROLE_SELECT"),
       "access.principals[0].name", "lower-case letters"},
      {Token("roles: ROLE_SELECT models: 'A B'"), "access.principals[0].models[0]",
       "lower-case letters"},
      {Token("roles: ROLE_SELECT calls_per_second: 0.01"), "access.principals[0].calls_per_second",
       "must be in [0.1"},
      {Token("roles: ROLE_SELECT new_users_per_day: 2000000000"),
       "access.principals[0].new_users_per_day", "must be in [1, 1000000000]"},
      {Token("roles: ROLE_SELECT calls_per_second: nan"), "access.principals[0].calls_per_second",
       "must be in [0.1"},
      {Token("roles: ROLE_SELECT burst: 5"), "access.principals[0].burst",
       "needs calls_per_second"},
      {Access("name: 'app' certificate_subject: 'x' roles: ROLE_SELECT"),
       "access.principals[0].certificate_subject", "needs tls.client_ca_file"},
      {Tls() + Access("name: 'app' certificate_subject: 'x' roles: ROLE_SELECT"),
       "access.principals[0].certificate_subject", "needs tls.client_ca_file"},
      {Token("roles: ROLE_SELECT } principals { name: 'app' token_sha256: '" +
             std::string(kDigest) + "' roles: ROLE_SELECT"),
       "access.principals[1].name", "is that of principals[0] already"},
      {"listen: '0.0.0.0:70'", "listen", "it needs tls, or insecure_non_loopback: true"},
      {"listen: '0.0.0.0:70' " + Tls(), "listen", "every caller would have every role"},
      {"admin_listen: '0.0.0.0:72'", "admin_listen", "the transport is plaintext"},
      {"admin_listen: '7072'", "admin_listen", "must be host:port"},
      {"api_listen: '0.0.0.0:73'", "api_listen", "the transport is plaintext"},
      {"api {}", "api", "needs api_listen"},
      {"api_listen: '127.0.0.1:0' api { threads: 65 }", "api.threads", "must be in [1, 64]"},
      {"api_listen: '127.0.0.1:0' api { body_bytes_max: 9 }", "api.body_bytes_max",
       "must be in [1024, 16777216]"},
      {"api_listen: '127.0.0.1:0' api { allowed_origins: '*' allowed_origins: 'Shop.example/' }",
       "api.allowed_origins[1]", "must be \"*\""},
      {"api_listen: '127.0.0.1:0' api { personalizer { model: 'A' } }", "api.personalizer.model",
       "must be 1 to 63"},
      {"access { jwt_issuers {} }", "access.jwt_issuers[0].issuer", "must have 1 to 256"},
      {"access { jwt_issuers { issuer: 'i' audience: 'a b' roles: ROLE_SELECT } }",
       "access.jwt_issuers[0].audience", "without spaces"},
      {"access { jwt_issuers { issuer: 'i' audience: 'a' roles: ROLE_SELECT } }",
       "access.jwt_issuers[0].keys_file", "must be set"},
      {"access { jwt_issuers { issuer: 'i' audience: 'a' roles: ROLE_ADMIN keys_file: 'k' } }",
       "access.jwt_issuers[0].roles", "ROLE_ADMIN is for configured principals"},
      {"access { jwt_issuers { issuer: 'i' audience: 'a' roles: ROLE_SELECT keys_file: 's.pem' } }",
       "access.jwt_issuers[0].keys_file", "s.pem"},
      {"log { postgresql {} }", "log.postgresql.connection", "is required"},
      {"log { postgresql { connection: 'host=h my-token' } }", "log.postgresql.connection",
       "must be keywords and values, or a URI"},
      {"log { postgresql { connection: 'host=h' lease { seconds: 1 } } }", "log.postgresql.lease",
       "must be in [2s, 5m]"},
      {Peers("", "listen: '127.0.0.1:0'"), "peers", "needs log.postgresql:"},
      {Peers("connection: 'host=h'", "listen: '127.0.0.1:0'"), "peers",
       "needs log.postgresql.key_file"},
      {Peers(kLog, ""), "peers.listen", "is required"},
      {Peers(kLog, "listen: '7074'"), "peers.listen", "must be host:port"},
      {Peers(kLog, "listen: '0.0.0.0:74'"), "peers.address",
       "is required: nobody can reach 0.0.0.0:74"},
      {Peers(kLog, "listen: '127.0.0.1:0' address: 'h'"), "peers.address", "must be host:port"},
      {Peers(kLog, "listen: '127.0.0.1:0' address: 'h:0'"), "peers.address", "must have a port"},
      {Peers(kLog, "listen: '127.0.0.1:0' ca_file: 'ca.pem'"), "peers.ca_file",
       "is not used any more"},
      {"http_listen: '0.0.0.0:71' " + Tls(), "http_listen",
       "only insecure_non_loopback: true allows that"},
  };
  for (const Row& row : rows) {
    const ConfigResult result = Parse(row.text);
    ASSERT_FALSE(result.mistakes.empty()) << row.text;
    bool found = false;
    for (const ConfigMistake& mistake : result.mistakes) {
      found |= mistake.field == row.field && mistake.message.find(row.message) != std::string::npos;
      EXPECT_THAT(mistake.message, Not(HasSubstr("my-token")));
    }
    EXPECT_TRUE(found) << row.text << "\n" << ToString("", result.mistakes[0]);
  }
}

TEST_F(SecuritySpecTest, TheApiHasAThreadPerProcessorAtMostFour) {
  const auto threads = [&](const std::string& api) {
    const ConfigResult result = Parse("api_listen: '127.0.0.1:0' " + api);
    return result.spec ? result.spec->api->threads : 0;
  };
  EXPECT_EQ(threads(""), static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U)));
  EXPECT_EQ(threads("api { threads: 64 }"), 64);
}

TEST_F(SecuritySpecTest, ServersOfOneDatabaseReachOneAnother) {
  // They have TLS of their own: no file of certificates is read, whatever names one.
  const ConfigResult result = Parse(Peers(kLog, "listen: '10.0.0.1:74' address: 'b.example:74'"));
  ASSERT_TRUE(result.spec) << ToString("", result.mistakes[0]);
  ASSERT_TRUE(result.spec->peers);
  EXPECT_EQ(ToString(result.spec->peers->listen), "10.0.0.1:74");
  EXPECT_EQ(result.spec->peers->address, "b.example:74");
  EXPECT_THAT(result.spec->peers->key_file, HasSubstr("/log.key"));
  EXPECT_THAT(Summary(*result.spec),
              HasSubstr("peers 10.0.0.1:74, reached at b.example:74, TLS by key_file\n"));
}

TEST_F(SecuritySpecTest, ExplainsWhoMayDoWhatWithoutSecrets) {
  const ConfigResult result =
      Parse("listen: '0.0.0.0:70' admin_listen: '127.0.0.1:72' " + Tls(kClientCa) +
            "access { principals { name: 'app' token_sha256: '" + kDigest +
            "' roles: ROLE_SELECT roles: ROLE_REPORT models: 'news' calls_per_second: 100 }"
            " principals { name: 'ops' certificate_subject: 'ops.internal' roles: ROLE_ADMIN }"
            " anonymous_roles: ROLE_SELECT anonymous_calls_per_second: 5 }");
  ASSERT_TRUE(result.spec) << ToString("", result.mistakes[0]);
  const std::string summary = Summary(*result.spec);
  EXPECT_THAT(summary, HasSubstr("admin_listen 127.0.0.1:72\n"));
  EXPECT_THAT(summary, HasSubstr("transport TLS, client certificates optional"));
  EXPECT_THAT(
      summary,
      HasSubstr("access app by token: select, report of news, at most 100 calls per second"));
  EXPECT_THAT(summary, HasSubstr("access ops by certificate: admin of all models\n"));
  EXPECT_THAT(summary, HasSubstr("access anybody else: select, at most 5 calls per second"));
  EXPECT_THAT(summary, Not(HasSubstr(kDigest)));
  EXPECT_EQ(result.spec->access->principals[0].burst, 100);  // one second's
}

TEST_F(SecuritySpecTest, AGeneratedTokenIsNobodyBeforeItIsOpened) {
  const ConfigResult result = Parse("access { generate_token: true }");
  ASSERT_TRUE(result.spec) << ToString("", result.mistakes[0]);
  const AccessRules& rules = *result.spec->access;
  EXPECT_THAT(Summary(*result.spec),
              HasSubstr("access generated by token: select, report, admin of all models\n"
                        "access anybody else: none"));
  EXPECT_FALSE(Identify(rules, {.authorization = {"Bearer "}, .subjects = {}}).ok());
  EXPECT_EQ(Identify(rules, {.authorization = {}, .subjects = {""}})->principal, nullptr);
}

TEST_F(SecuritySpecTest, MutualTlsAloneAnswersForWhoMayCall) {
  const std::string listen = "listen: '0.0.0.0:70' ";
  EXPECT_FALSE(Parse(listen + Tls(kClientCa)).spec);
  EXPECT_TRUE(
      Parse(listen + Tls(std::string(kClientCa) + " require_client_certificate: true")).spec);
}

}  // namespace
}  // namespace bandana::server
