// The cost of named values over unary gRPC: Select of 25 arms by name and in a context, against the
// same arms as vectors of as many entries, against the same server. One client, 64 in flight,
// interleaved rounds; only the ratios within a round count. Prints a table, and `ratio=R` last, of
// named arms to vectors.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/echo_load.h"
#include "bench/echo_servers.h"

namespace bandana::bench {
namespace {

constexpr int kRounds = 11;
constexpr double kSeconds = 0.8;
constexpr int kRequests = 64;  // different ones, in turn
constexpr int kEntries = 39;   // of kShopFeatures

using Requests = std::vector<v1::SelectRequest>;

v1::SelectRequest Empty(int n) {
  v1::SelectRequest request;
  request.set_model(kModel);
  request.set_user("3f1c0c2e-7d5e-4a3f-9b62-" + std::to_string(100'000'000'000 + n));
  return request;
}

void SetContext(int n, v1::SelectRequest& request) {
  auto& context = *request.mutable_context()->mutable_fields();
  const char* const devices[] = {"ios", "android", "web"};
  context["device"].set_string_value(devices[n % 3]);
  context["hour"].set_number_value(n % 24);
}

Requests Vectors() {
  Requests requests;
  for (int n = 0; n < kRequests; ++n) {
    v1::SelectRequest& request = requests.emplace_back(Empty(n));
    for (int i = 0; i < kArms * kEntries; ++i) {
      request.mutable_arms()->mutable_inline_arms()->add_features(std::sin(n + i * 0.37) /
                                                                  kEntries);
    }
  }
  return requests;
}

Requests Named() {
  Requests requests;
  const char* const tags[] = {"rock", "jazz", "food", "kids", "sport"};
  for (int n = 0; n < kRequests; ++n) {
    v1::SelectRequest& request = requests.emplace_back(Empty(n));
    SetContext(n, request);
    for (int a = 0; a < kArms; ++a) {
      v1::NamedArm& arm = *request.mutable_arms()->mutable_named_arms()->add_arms();
      arm.set_id("article-" + std::to_string(n * kArms + a));
      auto& values = *arm.mutable_features()->mutable_fields();
      values["price"].set_number_value(1 + (n * 7 + a * 13) % 300);
      auto& list = *values["tags"].mutable_list_value();
      list.add_values()->set_string_value(tags[a % 5]);
      list.add_values()->set_string_value(tags[(a + n) % 5]);
    }
  }
  return requests;
}

Requests Catalogue(bool in_context) {
  Requests requests;
  for (int n = 0; n < kRequests; ++n) {
    v1::SelectRequest& request = requests.emplace_back(Empty(n));
    if (in_context) SetContext(n, request);
    for (int a = 0; a < kArms; ++a) {
      request.mutable_arms()->mutable_catalogue_arms()->add_ids(
          static_cast<std::uint32_t>((n * 7919 + a * 389) % kCatalogueArms));
    }
  }
  return requests;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Series {
  const char* name;
  Requests requests;
  std::vector<double> rates = {};
  std::vector<double> cpu_us = {};
};

void PrintRatio(const char* words, const Series& above, const Series& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.rates.size(); ++i) {
    ratios.push_back(above.rates[i] / below.rates[i]);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-42s %.2f  [%.2f-%.2f]\n", words, Median(ratios), *least, *most);
}

int Main() {
  ServerProcess server = ServerProcess::StartShop();
  LoadClient client(server.address());
  std::vector<Series> series = {{"vectors", Vectors()},
                                {"named arms in a context", Named()},
                                {"catalogue ids", Catalogue(false)},
                                {"catalogue ids in a context", Catalogue(true)}};
  for (int round = 0; round < kRounds; ++round) {
    for (Series& one : series) {
      const double before = server.CpuSeconds();
      const LoadResult result = client.Select(one.requests, kSeconds);
      one.rates.push_back(result.calls_per_second);
      // The warm-up counts in the processor time: 0.2 s beside kSeconds.
      one.cpu_us.push_back((server.CpuSeconds() - before) /
                           (result.calls_per_second * (kSeconds + 0.2)) * 1e6);
    }
  }
  std::printf("%-28s %10s %14s %14s\n", "25 arms, 39 entries", "calls/s", "server us/call",
              "request bytes");
  for (const Series& one : series) {
    std::printf("%-28s %10.0f %14.1f %14zu\n", one.name, Median(one.rates), Median(one.cpu_us),
                one.requests[0].ByteSizeLong());
  }
  PrintRatio("named arms / vectors", series[1], series[0]);
  PrintRatio("catalogue in a context / without", series[3], series[2]);
  std::vector<double> ratios;
  for (int i = 0; i < kRounds; ++i) ratios.push_back(series[1].rates[i] / series[0].rates[i]);
  std::printf("ratio=%.3f\n", Median(ratios));
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main() { return bandana::bench::Main(); }
