// Selections per second of one process by itself, of one server on PostgreSQL, and of two that
// share it, in one run, turn by turn: machines are noisy, ratios hold.
//   ./dev cluster --replicas 1 &      # prints where PostgreSQL and its key file are
//   ./dev bench replicas --connection "host=127.0.0.1 port=P dbname=bandana user=bandana"
//     --key_file F [--seconds 15]
// The model has 25 features and 25 arms; each server has a client, 64 selections in flight.
// Clients, servers and database share the processors, so that two servers are no faster than one
// where one takes them all: the processor time of the servers per selection says what a replica
// costs. The last line is `replicas_1=R replicas_2=R cpu_1=R cpu_2=R`: rates, and processor time
// per selection, over those of the process by itself.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/echo_load.h"
#include "bench/server_child.h"

ABSL_FLAG(std::string, connection, "", "to PostgreSQL, as log.postgresql.connection");
ABSL_FLAG(std::string, key_file, "", "log.postgresql.key_file of the servers of that database");
ABSL_FLAG(double, seconds, 15, "of each figure");

namespace bandana::bench {
namespace {

constexpr int kTurns = 3;

using Servers = std::vector<std::unique_ptr<ServerChild>>;

constexpr char kModel[] =
    "models { name: 'm' dimension: 25 mode: NON_PRIVATE shared {}"
    " reporting { one_per_decision: true } }\n";

std::string Replica(int number) {
  return absl::StrCat("log { postgresql { connection: \"", absl::GetFlag(FLAGS_connection),
                      "\" key_file: '", absl::GetFlag(FLAGS_key_file), "' server: 'bench-",
                      getpid(), "-", number, "' } } peers { listen: '127.0.0.1:0' } ", kModel);
}

struct Figures {
  double per_second = 0;
  double cpu_us = 0;  // per selection
};

Figures Measure(const Servers& servers, double seconds) {
  v1::SelectRequest request;
  request.set_model("m");
  request.set_user("u");
  request.mutable_arms()->mutable_catalogue_query();
  std::vector<double> rates(servers.size());
  std::vector<std::thread> clients;
  const auto cpu = [&] {
    double all = 0;
    for (const auto& server : servers) all += server->CpuSeconds();
    return all;
  };
  const double before = cpu();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    clients.emplace_back([&, i] {
      LoadClient client(servers[i]->address());
      rates[i] = client.Select({request}, seconds).calls_per_second;
    });
  }
  for (std::thread& client : clients) client.join();
  Figures out;
  for (const double rate : rates) out.per_second += rate;
  out.cpu_us = (cpu() - before) / (out.per_second * (seconds + LoadClient::kWarmUpSeconds)) * 1e6;
  return out;
}

void Add(const Figures& more, Figures& sum) {
  sum.per_second += more.per_second / kTurns;
  sum.cpu_us += more.cpu_us / kTurns;
}

int Main() {
  if (absl::GetFlag(FLAGS_connection).empty() || absl::GetFlag(FLAGS_key_file).empty()) {
    std::fprintf(stderr,
                 "--connection and --key_file: are required; `./dev cluster --replicas 1` prints "
                 "them\n");
    return 2;
  }
  const double seconds = absl::GetFlag(FLAGS_seconds) / kTurns;
  std::array<Figures, 3> figures;
  for (int turn = 0; turn < kTurns; ++turn) {
    {
      Servers alone;
      alone.push_back(std::make_unique<ServerChild>(kModel));
      PutUnitArms(alone[0]->address());
      Add(Measure(alone, seconds), figures[0]);
    }
    Servers shared;
    for (const std::size_t count : {1, 2}) {
      shared.push_back(std::make_unique<ServerChild>(Replica(static_cast<int>(count))));
      if (count == 1) PutUnitArms(shared[0]->address());
      std::this_thread::sleep_for(std::chrono::seconds(1));  // it follows the other
      Add(Measure(shared, seconds), figures[count]);
    }
  }
  const std::array<const char*, 3> names = {"alone", "1 on PostgreSQL", "2 on PostgreSQL"};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    std::printf(
        "%-16s %8.0f selections per second, %6.1f us of processor time of the servers each\n",
        names[i], figures[i].per_second, figures[i].cpu_us);
  }
  std::printf("replicas_1=%.2f replicas_2=%.2f cpu_1=%.2f cpu_2=%.2f\n",
              figures[1].per_second / figures[0].per_second,
              figures[2].per_second / figures[0].per_second, figures[1].cpu_us / figures[0].cpu_us,
              figures[2].cpu_us / figures[0].cpu_us);
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
