#include "bench/echo_servers.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "common/design/wire_messages.h"
#include "common/features/encoder.h"
#include "server/models/registry.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "server/service/transport/grpc_server.h"
#include "tools/base/work_folder.h"

namespace bandana::bench {
namespace {

[[noreturn]] void Die(std::string_view what) {
  std::fprintf(stderr, "echo_ratio: %.*s\n", static_cast<int>(what.size()), what.data());
  ::_exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) Die(result.status().ToString());
  return *std::move(result);
}
void Must(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

// Answers Select with as many bytes as the real one, and does nothing else.
class EchoHandlers final : public server::Handlers {
 public:
  void SetSizes(const EchoSizes& sizes) {
    ids_ = std::string(sizes.ids, 'x');
    inline_arms_ = std::string(sizes.inline_arms, 'x');
    ready_.store(true, std::memory_order_release);
  }

  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    if (!ready_.load(std::memory_order_acquire)) return absl::UnavailableError("no sizes yet");
    response.set_token(request.arms().has_catalogue_arms() ? ids_ : inline_arms_);
    return absl::OkStatus();
  }
  absl::Status GetModel(const v1::GetModelRequest&, v1::GetModelResponse&) override {
    return NotServed();
  }
  absl::Status BatchSelect(const v1::BatchSelectRequest&, v1::BatchSelectResponse&) override {
    return NotServed();
  }
  absl::Status GetPosterior(const v1::GetPosteriorRequest&, v1::GetPosteriorResponse&) override {
    return NotServed();
  }
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest&, v1::GetArmEffectsResponse&) override {
    return NotServed();
  }
  void Report(const v1::ReportRequest&, v1::ReportResponse&, server::Finish finish) override {
    finish(NotServed());
  }
  void Activate(const v1::ActivateRequest&, v1::ActivateResponse&, server::Finish finish) override {
    finish(NotServed());
  }
  void Submit(const v1::SubmitRequest&, v1::SubmitResponse&, server::Finish finish) override {
    finish(NotServed());
  }
  server::Serving ServingOf(std::string_view) override { return server::Serving::kServing; }

 private:
  static absl::Status NotServed() {
    return absl::UnimplementedError("the echo serves Select only");
  }

  std::atomic<bool> ready_{false};
  std::string ids_;
  std::string inline_arms_;
};

std::unique_ptr<server::GrpcServer> Listen(server::Handlers& handlers, int ready) {
  server::GrpcServerOptions options;
  options.listen = "127.0.0.1:0";
  auto server = Must(server::GrpcServer::Start(options, handlers));
  const std::string line = server->address() + "\n";
  if (::write(ready, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    Die("cannot report the address");
  ::close(ready);
  return server;
}

// Reads until the other end is closed. Calls `line` for each line.
template <typename Line>
void ReadLines(int fd, Line line) {
  std::string text;
  char c = 0;
  while (::read(fd, &c, 1) == 1) {
    if (c == '\n') {
      line(std::exchange(text, {}));
    } else {
      text += c;
    }
  }
}

void ServeEcho(int control, int ready) {
  EchoHandlers handlers;
  const auto server = Listen(handlers, ready);
  ReadLines(control, [&](const std::string& line) {
    EchoSizes sizes;
    std::istringstream(line) >> sizes.ids >> sizes.inline_arms;
    handlers.SetSizes(sizes);
  });
}

std::vector<server::CatalogueArm> MakeArms() {
  std::vector<server::CatalogueArm> arms(kCatalogueArms);
  for (int a = 0; a < kCatalogueArms; ++a) {
    arms[a].id = static_cast<std::uint32_t>(a);
    for (int i = 0; i < kDimension; ++i)
      arms[a].features.push_back(std::cos(a * 0.7 + i * 1.3) / kDimension);
  }
  return arms;
}

// Serves one model until `control` is closed.
void ServeModel(const v1::ModelConfig& config, const std::vector<server::CatalogueArm>& arms,
                int control, int ready) {
  const auto folder = Must(WorkFolder::Make("bench"));
  const std::string& data_dir = folder->path();
  {
    std::vector<ConfigError> errors;
    std::optional<ModelSpec> spec = ParseModelConfig(config, data_dir, false, errors);
    if (!spec.has_value()) Die(errors.front().field + ": " + errors.front().message);
    const auto registry =
        Must(server::ModelRegistry::Open({.data_dir = data_dir, .models_max = 1}, SystemClock()));
    const auto model = Must(registry->Create(*std::move(spec)));
    v1::PutArmsResponse put;
    Must(model->PutArms(arms, &put));
    const auto keys =
        Must(server::TokenKeys::Open({.file = data_dir + "/token_keys"}, SystemClock()));
    server::TokenCodec tokens(*keys);
    const auto recommender = server::MakeRecommender({}, *registry, tokens, SystemClock());
    const auto server = Listen(*recommender, ready);
    ReadLines(control, [](const std::string&) {});
  }
}

v1::ModelConfig PlainModel() {
  v1::ModelConfig config;
  config.set_name(kModel);
  config.set_dimension(kDimension);
  config.mutable_shared();
  config.set_mode(v1::NON_PRIVATE);
  return config;
}

void ServeSelect(int control, int ready) { ServeModel(PlainModel(), MakeArms(), control, ready); }

void ServeLogged(int control, int ready) {
  v1::ModelConfig config = PlainModel();
  config.mutable_decision_log();
  ServeModel(config, MakeArms(), control, ready);
}

void ServeShop(int control, int ready) {
  v1::ModelConfig config;
  config.set_name(kModel);
  config.mutable_shared();
  config.set_mode(v1::NON_PRIVATE);
  if (!google::protobuf::TextFormat::ParseFromString(kShopFeatures, config.mutable_features())) {
    Die("the schema does not parse");
  }
  const auto schema = FeatureSchema::Make(FromProto(config.features()), 1, 256, [](auto, auto) {});
  std::vector<server::CatalogueArm> arms(kCatalogueArms);
  ValueLog log;
  log.Begin(ValueRule::kOpen, schema->fields().size());
  for (int a = 0; a < kCatalogueArms; ++a) {
    google::protobuf::Struct values;
    (*values.mutable_fields())["price"].set_number_value(1 + a % 300);
    arms[a].id = static_cast<std::uint32_t>(a);
    arms[a].features.resize(static_cast<std::size_t>(schema->dimension()));
    Must(EncodeArm(*schema, FromProto(values), {.list = "arm"}, log, arms[a].features));
  }
  ServeModel(config, arms, control, ready);
}

}  // namespace

ServerProcess ServerProcess::StartShop() { return Start(&ServeShop); }
ServerProcess ServerProcess::StartEcho() { return Start(&ServeEcho); }
ServerProcess ServerProcess::StartSelect() { return Start(&ServeSelect); }
ServerProcess ServerProcess::StartLogged() { return Start(&ServeLogged); }

ServerProcess ServerProcess::Start(void (*serve)(int control, int ready)) {
  int control[2];
  int ready[2];
  if (::pipe2(control, O_CLOEXEC) != 0 || ::pipe2(ready, O_CLOEXEC) != 0) Die("cannot make pipes");
  const pid_t pid = ::fork();
  if (pid < 0) Die("cannot fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as bandana-server
    ::close(control[1]);
    ::close(ready[0]);
    serve(control[0], ready[1]);
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(control[0]);
  ::close(ready[1]);
  std::string address;
  ReadLines(ready[0], [&](const std::string& line) { address = line; });
  ::close(ready[0]);
  if (address.empty()) Die("a server did not start");
  return ServerProcess(pid, control[1], std::move(address));
}

ServerProcess::ServerProcess(pid_t pid, int control, std::string address)
    : pid_(pid), control_(control), address_(std::move(address)) {}
ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      control_(std::exchange(other.control_, -1)),
      address_(std::move(other.address_)) {}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) return;
  ::close(control_);
  ::waitpid(pid_, nullptr, 0);
}

void ServerProcess::SendSizes(const EchoSizes& sizes) {
  const std::string line =
      std::to_string(sizes.ids) + " " + std::to_string(sizes.inline_arms) + "\n";
  if (::write(control_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    Die("the echo server is gone");
}

double ServerProcess::CpuSeconds() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));  // from field 3, the state, on
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace bandana::bench
