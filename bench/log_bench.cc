// Durable records and reports per second through SQLite and through PostgreSQL, in one run, turn by
// turn: machines are noisy, ratios hold.
//   ./dev cluster --replicas 1 &      # prints where PostgreSQL is
//   ./dev bench log --connection "host=127.0.0.1 port=P dbname=bandana user=bandana" [--seconds 5]
// Records: 200 bytes, as many in a transaction as the batch says. Reports: of a model of 25
// features, as many in flight: what waits goes into one transaction. The last line is
// `records_64=R records_1024=R reports_64=R reports_512=R`, each PostgreSQL's rate over SQLite's.
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/design/planner/served_config.h"
#include "google/protobuf/text_format.h"
#include "server/log/postgresql/pg_engine.h"
#include "server/models/hosted_model.h"
#include "tools/base/work_folder.h"

ABSL_FLAG(std::string, connection, "", "to PostgreSQL, as log.postgresql.connection");
ABSL_FLAG(double, seconds, 5, "of each figure, per engine");

namespace bandana::bench {
namespace {

using server::HostedModel;
using server::LogEngine;

constexpr int kTurns = 3;
constexpr int kRecordBytes = 200;
constexpr int kInFlightMax = 512;  // reports: a call may bring several

double RecordsPerSecond(const LogEngine& engine, const std::string& folder, int batch,
                        absl::Duration time) {
  std::filesystem::create_directories(folder);
  BANDANA_CHECK(engine.Create(folder, {}).ok());
  auto log = engine.Open(folder, {});
  BANDANA_CHECK(log.ok());
  const std::string record(kRecordBytes, 'r');
  server::LogBatch records;
  for (int i = 0; i < batch; ++i) records.Add(record);
  const absl::Time start = absl::Now();
  std::uint64_t count = 0;
  while (absl::Now() < start + time) {
    BANDANA_CHECK((*log)->Append(records).ok());
    count += static_cast<std::uint64_t>(batch);
  }
  const double rate = static_cast<double>(count) / absl::ToDoubleSeconds(absl::Now() - start);
  log->reset();
  BANDANA_CHECK(engine.Remove(folder).ok());
  return rate;
}

ModelSpec Spec() {
  v1::ModelConfig config;
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 25 mode: NON_PRIVATE shared {} reporting { one_per_decision: true }",
      &config));
  std::vector<ConfigError> errors;
  auto spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  BANDANA_CHECK(spec.has_value());
  return *std::move(spec);
}

double ReportsPerSecond(std::shared_ptr<const LogEngine> engine, const std::string& folder,
                        int in_flight, absl::Duration time) {
  std::filesystem::create_directories(folder);
  server::HostedModelOptions options;
  options.log = engine;
  auto model = HostedModel::Open(Spec(), folder, SystemClock(), options);
  BANDANA_CHECK(model.ok());
  std::counting_semaphore<kInFlightMax> places(in_flight);
  std::atomic<std::uint64_t> applied{0};
  const absl::Time start = absl::Now();
  while (absl::Now() < start + time) {
    places.acquire();
    Decision decision{.instance = (*model)->instance(), .epoch = (*model)->epoch()};
    decision.time = absl::Now();
    decision.node = 0;
    decision.arms = {{.propensity = 1, .features = std::vector<double>(25, 0.2), .window = {}}};
    (*model)->NumberDecision(decision.id);
    (*model)->Report({{.decision = std::move(decision), .reward = 1.0}}, [&](auto results) {
      applied += results.ok() && results->front().code == v1::APPLIED;
      places.release();
    });
  }
  for (int i = 0; i < in_flight; ++i) places.acquire();
  const double rate = static_cast<double>(applied) / absl::ToDoubleSeconds(absl::Now() - start);
  model->reset();
  BANDANA_CHECK(engine->Remove(folder).ok());
  return rate;
}

int Main() {
  if (absl::GetFlag(FLAGS_connection).empty()) {
    std::fprintf(stderr, "--connection: is required; `./dev cluster --replicas 1` starts one\n");
    return 2;
  }
  const auto postgresql = server::MakePgEngine(
      {.connection = absl::GetFlag(FLAGS_connection), .key_file = "", .holder = "bench"});
  const std::array<std::pair<const char*, std::shared_ptr<const LogEngine>>, 2> engines = {
      {{"sqlite", server::DefaultLogEngine()}, {"postgresql", postgresql}}};
  const auto work = WorkFolder::Make("log-bench");
  BANDANA_CHECK(work.ok());
  const std::string folder = (*work)->path() + "/turn";
  const absl::Duration time = absl::Seconds(absl::GetFlag(FLAGS_seconds) / kTurns);
  double rates[2][4] = {};
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t e = 0; e < engines.size(); ++e) {
      std::filesystem::remove_all(folder);
      const auto& engine = engines[e].second;
      rates[e][0] += RecordsPerSecond(*engine, folder + "/a", 64, time) / kTurns;
      rates[e][1] += RecordsPerSecond(*engine, folder + "/b", 1024, time) / kTurns;
      rates[e][2] += ReportsPerSecond(engine, folder + "/c", 64, time) / kTurns;
      rates[e][3] += ReportsPerSecond(engine, folder + "/d", kInFlightMax, time) / kTurns;
    }
  }
  for (std::size_t e = 0; e < engines.size(); ++e) {
    std::printf(
        "%-10s  records per second: %9.0f at 64, %9.0f at 1024; reports per second: %8.0f with 64 "
        "in flight, %8.0f with 512\n",
        engines[e].first, rates[e][0], rates[e][1], rates[e][2], rates[e][3]);
  }
  std::printf("records_64=%.2f records_1024=%.2f reports_64=%.2f reports_512=%.2f\n",
              rates[1][0] / rates[0][0], rates[1][1] / rates[0][1], rates[1][2] / rates[0][2],
              rates[1][3] / rates[0][3]);
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
