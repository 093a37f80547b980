#include "bench/server_child.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "common/base/check.h"

extern char** environ;

namespace bandana::bench {
namespace {

constexpr int kUnitArms = 25;  // and so many features

// The value of a key in the ready line; empty: it has none.
std::string ValueOf(const std::string& key, const std::string& line) {
  const std::size_t at = line.find(" " + key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + 1 + key.size();
  return line.substr(begin, line.find(' ', begin) - begin);
}

}  // namespace

ServerChild::ServerChild(const std::string& config, std::string program)
    : folder_(*WorkFolder::Make("bench")) {
  const std::string& folder = folder_->path();
  std::ofstream(folder + "/server.textproto") << config;
  if (program.empty()) {
    program =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bandana-server").string();
  }
  std::string arguments[] = {program, absl::StrCat("--config=", folder, "/server.textproto"),
                             absl::StrCat("--data_dir=", folder, "/data"), "--listen=127.0.0.1:0",
                             "--http_listen=127.0.0.1:0"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string out = folder + "/ready";
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_CREAT | O_WRONLY, 0600);
  BANDANA_CHECK(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  folder_->Hold(pid_);
  posix_spawn_file_actions_destroy(&actions);
  for (int i = 0; i < 300 && address_.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ReadAddresses(out);
  }
  if (address_.empty()) std::fprintf(stderr, "the server was not ready\n");
  BANDANA_CHECK(!address_.empty());
}

ServerChild::~ServerChild() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  folder_->Release(pid_);
}

int ServerChild::RssMib() const {
  std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    int kib = 0;
    if (words >> key >> kib && key == "VmRSS:") return kib / 1024;
  }
  return 0;
}

double ServerChild::CpuSeconds() const {
  std::ifstream stat(absl::StrCat("/proc/", pid_, "/stat"));
  std::string line;
  std::getline(stat, line);
  // After the name in parentheses: the state, ten numbers, and the ticks of user and system.
  constexpr int kBefore = 11;
  const std::size_t end = line.rfind(')');
  BANDANA_CHECK(end != std::string::npos);
  std::istringstream words(line.substr(end + 1));
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) words >> skipped;
  unsigned long user = 0, system = 0;
  words >> user >> system;
  BANDANA_CHECK(!words.fail());
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void ServerChild::ReadAddresses(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || in.eof()) return;  // not whole yet
  address_ = ValueOf("listen=", line);
  api_address_ = ValueOf("api=", line);
}

void PutUnitArms(const std::string& address) {
  const auto admin =
      v1::Admin::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  v1::PutArmsRequest request;
  request.set_model("m");
  request.set_last(true);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int arm = 0; arm < kUnitArms; ++arm) {
    v1::Arm& out = *request.add_arms();
    out.set_id(static_cast<std::uint32_t>(arm));
    std::vector<double> features(kUnitArms);
    double square = 0;
    for (double& x : features) {
      x = normal(random);
      square += x * x;
    }
    for (const double x : features) out.add_features(x / std::sqrt(square));
  }
  // A server of several may find out first who owns the model.
  grpc::Status done;
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    v1::PutArmsResponse response;
    const auto writer = admin->PutArms(&context, &response);
    BANDANA_CHECK(writer->Write(request) && writer->WritesDone());
    done = writer->Finish();
    if (done.error_code() != grpc::StatusCode::UNAVAILABLE) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error_message().c_str());
  BANDANA_CHECK(done.ok());
}

}  // namespace bandana::bench
