#include "tests/support/postgres_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "absl/time/clock.h"
#include "common/base/check.h"

namespace bandana::testing {
namespace {

constexpr char kPrograms[] = "/usr/lib/postgresql/15/bin/";
// PostgreSQL does not run as root.
constexpr char kUser[] = "postgres";
constexpr char kSetPriv[] = "/usr/bin/setpriv";

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  BANDANA_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  BANDANA_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

bool PostgresServer::Available() {
  return access("/usr/lib/postgresql/15/bin/initdb", X_OK) == 0 &&
         (geteuid() != 0 || (getpwnam(kUser) != nullptr && access(kSetPriv, X_OK) == 0));
}

std::string PostgresServer::Program(const std::string& name) { return kPrograms + name; }

std::vector<std::string> PostgresServer::AsUser(std::vector<std::string> command) const {
  if (geteuid() != 0) return command;
  std::vector<std::string> all = {kSetPriv, "--reuid",        kUser,         "--regid",
                                  kUser,    "--clear-groups", "--pdeathsig", "KILL"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

std::string PostgresServer::Run(const std::vector<std::string>& command) {
  ChildProcess process(AsUser(command));
  const int code = process.Wait();
  if (code != 0) fprintf(stderr, "%s: %s\n", command[0].c_str(), process.err().c_str());
  BANDANA_CHECK(code == 0);
  return process.out();
}

PostgresServer::PostgresServer(const std::vector<std::string>& settings)
    : settings_(settings), port_(FreePort()) {
  TakeFolder();
  Run({Program("initdb"), "-D", data(), "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
       "--locale", "C"});
  Start();
  Sql("CREATE ROLE bandana LOGIN");
  Sql("CREATE DATABASE bandana OWNER bandana");
}

PostgresServer::PostgresServer(OfPrimary of) : settings_(of.primary.settings_), port_(of.port) {
  TakeFolder();
  Run({Program("pg_basebackup"), "-h", "127.0.0.1", "-p", std::to_string(of.primary.port_), "-U",
       "postgres", "-D", data(), "-R", "-X", "stream", "-c", "fast"});
  Start();
}

std::unique_ptr<PostgresServer> PostgresServer::MakeStandby(int port) {
  std::unique_ptr<PostgresServer> standby(
      new PostgresServer(OfPrimary{*this, port == 0 ? FreePort() : port}));
  Sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
  Sql("SELECT pg_reload_conf()");
  return standby;
}

void PostgresServer::Promote() { Sql("SELECT pg_promote(true, 30)"); }

void PostgresServer::TakeFolder() {
  if (geteuid() != 0) return;
  const passwd* const user = getpwnam(kUser);
  BANDANA_CHECK(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) == 0);
}

PostgresServer::~PostgresServer() {
  if (server_ != nullptr) Kill();
}

std::string PostgresServer::connection(int port) const {
  return "host=127.0.0.1 port=" + std::to_string(port == 0 ? port_ : port) +
         " dbname=bandana user=bandana";
}

void PostgresServer::Start() {
  std::vector<std::string> command = {Program("postgres"), "-D", data(), "-p",
                                      std::to_string(port_)};
  std::vector<std::string> settings = settings_;
  for (const char* setting : {"listen_addresses=127.0.0.1", "unix_socket_directories=",
                              "shared_buffers=8MB", "max_connections=100"}) {
    settings.emplace_back(setting);
  }
  for (const std::string& setting : settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  server_ = std::make_unique<ChildProcess>(AsUser(command));
  for (int i = 0; i < 600 && !Answers(); ++i) absl::SleepFor(absl::Milliseconds(50));
  BANDANA_CHECK(Answers());
}

bool PostgresServer::Answers() {
  ChildProcess process(
      {Program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", std::to_string(port_)});
  return process.Wait() == 0;
}

void PostgresServer::Kill() {
  // The postmaster's children end with it as they notice.
  server_->Signal(SIGQUIT);
  server_->Wait();
  server_.reset();
}

void PostgresServer::Sql(const std::string& statement) {
  const bool tables = statement.find("bandana.") != std::string::npos;
  Run(Psql(tables ? "bandana" : "postgres", statement));
}

void PostgresServer::Dump() {
  Run({Program("pg_dump"), "-h", "127.0.0.1", "-p", std::to_string(port_), "-U", "postgres", "-n",
       "bandana", "-f", folder_.File("dump.sql"), "bandana"});
}

void PostgresServer::Restore() {
  Sql("DROP SCHEMA IF EXISTS bandana CASCADE; -- bandana.");
  std::vector<std::string> command = Psql("bandana", "");
  command.resize(command.size() - 2);
  command.insert(command.end(), {"-v", "ON_ERROR_STOP=1", "-f", folder_.File("dump.sql")});
  Run(command);
}

std::int64_t PostgresServer::Number(const std::string& query) {
  return std::stoll(Run(Psql("bandana", query)));
}

int PostgresServer::Count(const std::string& table) {
  return static_cast<int>(Number("SELECT count(*) FROM " + table));
}

std::vector<std::string> PostgresServer::Psql(const std::string& database,
                                              const std::string& statement) const {
  return {Program("psql"), "-qAt", "-h",     "127.0.0.1", "-p",     std::to_string(port_), "-U",
          "postgres",      "-d",   database, "-c",        statement};
}

}  // namespace bandana::testing
