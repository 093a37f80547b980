// Processor time of a server per decision by HTTP, for bodies of several kinds, and decisions per
// second; other builds of the server beside it in the same run.
//   ./dev bench http_cost [--servers PROGRAM,PROGRAM] [--threads N] [--connections 4]
//       [--seconds 1] [--rounds 5]
// Without --servers, the bandana-server beside this program. Servers and bodies take turns, since a
// machine drifts; the figures are medians of the rounds. The last lines are `PROGRAM BODY cpu_us=N
// per_second=N`.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/server_child.h"

ABSL_FLAG(std::vector<std::string>, servers, {""}, "programs; empty: the one beside this");
ABSL_FLAG(int, threads, 0, "api.threads; 0: the server's default");
ABSL_FLAG(int, connections, 4, "calls in flight");
ABSL_FLAG(double, seconds, 1, "of each body and round");
ABSL_FLAG(int, rounds, 5, "of all bodies");

namespace bandana::bench {
namespace {

constexpr int kDimension = 25;
constexpr int kRequests = 16;  // different ones, in turn
constexpr char kVectors[] = "dimension: 25";
constexpr char kShop[] = R"(features {
  bias: true
  context { name: "device" categorical { values: ["ios", "android", "web"] } }
  context { name: "hour" cyclic { period: 24 } }
  arm { name: "price" numeric { low: 1 high: 500 log: true } }
  arm { name: "tags" set { hash_bits: 3 } }
  crosses { a: "device" b: "tags" }
})";

std::string Vectors(int arms, int n) {
  std::vector<std::string> numbers;
  for (int i = 0; i < arms * kDimension; ++i) {
    numbers.push_back(absl::StrFormat("%.4g", 0.01 * ((i * 37 + n) % 19 - 9) + 0.001 * (i % 7)));
  }
  return absl::StrCat(R"({"user":"ann","arms":{"inlineArms":{"features":[)",
                      absl::StrJoin(numbers, ","), "]}}}");
}

// As examples/shop asks.
std::string Shop(int n) {
  const char* const tags[] = {"rock", "jazz", "food", "kids", "sport"};
  std::vector<std::string> arms;
  for (int a = 0; a < 5; ++a) {
    arms.push_back(
        absl::StrFormat(R"({"id":"article-%d","features":{"price":%d,"tags":["%s","%s"]}})",
                        n * 5 + a, 1 + (n * 7 + a * 13) % 300, tags[a], tags[(a + n) % 5]));
  }
  return absl::StrFormat(
      R"({"user":"ann","context":{"device":"ios","hour":%d},"arms":{"namedArms":{"arms":[%s]}}})",
      n % 24, absl::StrJoin(arms, ","));
}

struct Body {
  const char* name;
  const char* model;
  std::vector<std::string> requests;
};

std::vector<Body> Bodies() {
  std::vector<Body> bodies = {{"1 arm x 25", kVectors, {}},
                              {"25 arms x 25", kVectors, {}},
                              {"100 arms x 25", kVectors, {}},
                              {"shop, 5 named arms", kShop, {}}};
  for (int n = 0; n < kRequests; ++n) {
    bodies[0].requests.push_back(SelectByHttp(Vectors(1, n)));
    bodies[1].requests.push_back(SelectByHttp(Vectors(25, n)));
    bodies[2].requests.push_back(SelectByHttp(Vectors(100, n)));
    bodies[3].requests.push_back(SelectByHttp(Shop(n)));
  }
  return bodies;
}

std::string Config(const char* model) {
  const int threads = absl::GetFlag(FLAGS_threads);
  return absl::StrCat("api_listen: '127.0.0.1:0' ",
                      threads == 0 ? "" : absl::StrCat("api { threads: ", threads, " } "),
                      "models { name: 'm' ", model, " mode: NON_PRIVATE shared {} }");
}

struct Series {
  std::vector<double> cpu_us, per_second;
};

int Main() {
  const std::vector<Body> bodies = Bodies();
  const std::vector<std::string> programs = absl::GetFlag(FLAGS_servers);
  std::map<std::pair<std::string, const char*>, std::unique_ptr<ServerChild>> servers;
  std::map<std::pair<std::string, const char*>, Series> all;
  for (const std::string& program : programs) {
    for (const char* model : {kVectors, kShop}) {
      servers[{program, model}] = std::make_unique<ServerChild>(Config(model), program);
    }
  }
  const auto ask = [&](ServerChild& server, const Body& body, absl::Duration time) {
    return AskByHttp(server.api_address(), body.requests, absl::GetFlag(FLAGS_connections), time);
  };
  const absl::Duration time = absl::Seconds(absl::GetFlag(FLAGS_seconds));
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (const Body& body : bodies) {
      for (const std::string& program : programs) {
        ServerChild& server = *servers[{program, body.model}];
        if (round == 0) ask(server, body, absl::Milliseconds(200));
        const double before = server.CpuSeconds();
        const auto calls = static_cast<double>(ask(server, body, time).size());
        Series& series = all[{program, body.name}];
        series.cpu_us.push_back((server.CpuSeconds() - before) / calls * 1e6);
        series.per_second.push_back(calls / absl::ToDoubleSeconds(time));
      }
    }
  }
  std::printf("%d in flight, %d rounds of %.1f s\n", absl::GetFlag(FLAGS_connections),
              absl::GetFlag(FLAGS_rounds), absl::GetFlag(FLAGS_seconds));
  for (const Body& body : bodies) {
    for (const std::string& program : programs) {
      const Series& series = all[{program, body.name}];
      std::printf("%s %s (%zu bytes) cpu_us=%.1f per_second=%.0f\n",
                  program.empty() ? "bandana-server" : program.c_str(), body.name,
                  body.requests[0].size(), Percentile(series.cpu_us, 0.5),
                  Percentile(series.per_second, 0.5));
    }
  }
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
