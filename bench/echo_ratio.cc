// The cost of a scored selection beside the transport: the real server's Select (25 arms, d = 25)
// against an empty echo that runs on the same transport and moves the same numbers of bytes. Two
// server processes, one client, interleaved rounds; the machine drifts, so only the ratios within a
// round count. The last line is `ratio=R`, the smaller of the two median ratios.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/echo_load.h"
#include "bench/echo_servers.h"

namespace bandana::bench {
namespace {

constexpr int kRounds = 11;
constexpr double kSeconds = 0.8;
constexpr int kRequests = 64;  // different ones, in turn
constexpr int kBatch = 16;

v1::SelectRequest MakeRequest(int n, bool inline_arms) {
  v1::SelectRequest request;
  request.set_model(kModel);
  request.set_user("3f1c0c2e-7d5e-4a3f-9b62-" + std::to_string(100'000'000'000 + n));
  for (int a = 0; a < kArms; ++a) {
    if (!inline_arms) {
      request.mutable_arms()->mutable_catalogue_arms()->add_ids(
          static_cast<std::uint32_t>((n * 7919 + a * 389) % kCatalogueArms));
      continue;
    }
    for (int i = 0; i < kDimension; ++i) {
      request.mutable_arms()->mutable_inline_arms()->add_features(std::sin(n + a * 0.37 + i * 1.7) /
                                                                  kDimension);
    }
  }
  return request;
}

std::vector<v1::SelectRequest> MakeRequests(bool inline_arms) {
  std::vector<v1::SelectRequest> requests;
  for (int n = 0; n < kRequests; ++n) requests.push_back(MakeRequest(n, inline_arms));
  return requests;
}

std::vector<v1::BatchSelectRequest> MakeBatches(const std::vector<v1::SelectRequest>& requests) {
  std::vector<v1::BatchSelectRequest> batches(kRequests / kBatch);
  for (int n = 0; n < kRequests; ++n) *batches[n / kBatch].add_decisions() = requests[n];
  return batches;
}

// Token bytes that make an echo's SelectResponse `bytes` long: one byte of tag, and the length,
// come before them.
int TokenBytes(int bytes) { return bytes - (bytes - 2 < 128 ? 2 : 3); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One row of the table: what was measured of one server in all rounds.
struct Series {
  std::string name;
  std::vector<double> rates, p50, p99, cpu_us;

  void Add(const LoadResult& result, double cpu_seconds, double seconds) {
    rates.push_back(result.calls_per_second);
    p50.push_back(result.p50_us);
    p99.push_back(result.p99_us);
    cpu_us.push_back(cpu_seconds / (result.calls_per_second * seconds) * 1e6);
  }
  void Print() const {
    std::printf("%-14s %10.0f %9.0f %9.0f %12.1f\n", name.c_str(), Median(rates), Median(p50),
                Median(p99), Median(cpu_us));
  }
};

std::vector<double> Ratios(const Series& above, const Series& below, double factor) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.rates.size(); ++i)
    ratios.push_back(factor * above.rates[i] / below.rates[i]);
  return ratios;
}

void PrintRatios(const char* name, const std::vector<double>& ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-28s %.2f  [%.2f-%.2f]\n", name, Median(ratios), *least, *most);
}

template <typename Measure>
void Record(Series& series, const ServerProcess& server, Measure measure) {
  const double before = server.CpuSeconds();
  const LoadResult result = measure();
  // The warm-up counts in the processor time: 0.2 s beside kSeconds.
  series.Add(result, server.CpuSeconds() - before, kSeconds + 0.2);
}

int Main() {
  ServerProcess echo_server = ServerProcess::StartEcho();
  ServerProcess select_server = ServerProcess::StartSelect();
  ServerProcess logged_server = ServerProcess::StartLogged();
  LoadClient echo(echo_server.address());
  LoadClient select(select_server.address());
  LoadClient logged(logged_server.address());
  const std::vector<v1::SelectRequest> ids = MakeRequests(false);
  const std::vector<v1::SelectRequest> inlines = MakeRequests(true);
  const std::vector<v1::BatchSelectRequest> batches = MakeBatches(ids);

  const EchoSizes bytes{.ids = select.ResponseBytes(ids[1]),
                        .inline_arms = select.ResponseBytes(inlines[1])};
  echo_server.SendSizes(
      {.ids = TokenBytes(bytes.ids), .inline_arms = TokenBytes(bytes.inline_arms)});
  while (echo.ResponseBytes(ids[0]) < 0) {  // until the sizes have reached the echo
  }
  if (bytes.ids < 0 || echo.ResponseBytes(ids[1]) != bytes.ids ||
      echo.ResponseBytes(inlines[1]) != bytes.inline_arms) {
    std::fprintf(stderr, "echo_ratio: the echo does not send as many bytes as Select\n");
    return 1;
  }
  std::printf(
      "%d in flight, %d rounds of %.1f s; requests %zu and %zu bytes, responses %d and %d "
      "bytes\n\n",
      LoadClient::kInFlight, kRounds, kSeconds, ids[1].ByteSizeLong(), inlines[1].ByteSizeLong(),
      bytes.ids, bytes.inline_arms);

  Series echo_ids{"echo ids"}, select_ids{"select ids"}, echo_inline{"echo inline"},
      select_inline{"select inline"}, batch{"batch of 16"}, logged_ids{"logged ids"},
      logged_inline{"logged inline"};
  for (int round = 0; round < kRounds; ++round) {
    const auto pair = [&](const std::vector<v1::SelectRequest>& requests, Series& of_echo,
                          Series& of_select, Series& of_logged) {
      const auto run_echo = [&] {
        Record(of_echo, echo_server, [&] { return echo.Select(requests, kSeconds); });
      };
      const auto run_logged = [&] {
        Record(of_logged, logged_server, [&] { return logged.Select(requests, kSeconds); });
      };
      // Whoever comes first would always meet the same phase of whatever disturbs the machine.
      if (round % 2 == 0) run_echo();
      if (round % 2 == 1) run_logged();
      Record(of_select, select_server, [&] { return select.Select(requests, kSeconds); });
      if (round % 2 == 0) run_logged();
      if (round % 2 == 1) run_echo();
    };
    pair(ids, echo_ids, select_ids, logged_ids);
    pair(inlines, echo_inline, select_inline, logged_inline);
    Record(batch, select_server, [&] { return select.BatchSelect(batches, kSeconds); });
  }

  std::printf("%-14s %10s %9s %9s %12s\n", "", "calls/s", "p50 us", "p99 us", "server us");
  for (const Series* series :
       {&echo_ids, &select_ids, &logged_ids, &echo_inline, &select_inline, &logged_inline, &batch})
    series->Print();
  const std::vector<double> ids_ratios = Ratios(select_ids, echo_ids, 1);
  const std::vector<double> inline_ratios = Ratios(select_inline, echo_inline, 1);
  const std::vector<double> batch_ratios = Ratios(batch, select_ids, kBatch);
  std::printf("\nmedian of paired ratios      [min-max]\n");
  PrintRatios("select/echo, catalogue ids", ids_ratios);
  PrintRatios("select/echo, inline features", inline_ratios);
  PrintRatios("batch of 16/unary decisions", batch_ratios);
  const std::vector<double> logged_ids_ratios = Ratios(logged_ids, select_ids, 1);
  const std::vector<double> logged_inline_ratios = Ratios(logged_inline, select_inline, 1);
  PrintRatios("with a decision log, ids", logged_ids_ratios);
  PrintRatios("with a decision log, inline", logged_inline_ratios);
  std::printf("logged_ratio=%.2f\n",
              std::min(Median(logged_ids_ratios), Median(logged_inline_ratios)));
  std::printf("batch16_ratio=%.2f\n", Median(batch_ratios));
  std::printf("ratio=%.2f\n", std::min(Median(ids_ratios), Median(inline_ratios)));
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  if (argc > 1) {
    std::printf("usage: %s\nCompares Select with an empty echo; takes about %d seconds.\n", argv[0],
                static_cast<int>(bandana::bench::kRounds * 7 * (bandana::bench::kSeconds + 0.2)));
    return std::string(argv[1]) == "--help" ? 0 : 2;
  }
  return bandana::bench::Main();
}
