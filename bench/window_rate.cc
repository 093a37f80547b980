// Decisions a second through the SDK where a reward window holds: selections, with reactions to
// half of them, as fast as a number of callers in flight can make them, each durable on the device
// when it counts; then the wait until the server has every report. Against a server that runs:
//   window_rate --target 127.0.0.1:7070 --model M [--decisions 20000] [--in_flight 8]
// M: LOCAL_REWARD with a window. The last line is `decisions_per_second=R`.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "bandana/client.h"
#include "common/base/check.h"
#include "tools/base/work_folder.h"

ABSL_FLAG(std::string, target, "127.0.0.1:7070", "host:port of the server");
ABSL_FLAG(std::string, model, "", "its model, with a reward window");
ABSL_FLAG(int, decisions, 20'000, "in all");
ABSL_FLAG(int, in_flight, 8, "at a time");

namespace bandana::bench {
namespace {

constexpr int kInFlightMax = 1024;
constexpr int kArms = 10;

// Arms of unit length, other ones for each decision.
std::vector<double> ArmsOf(int n, int dimension) {
  std::vector<double> features;
  for (int arm = 0; arm < kArms; ++arm) {
    for (int i = 0; i < dimension; ++i) {
      features.push_back(std::sin(n + 0.37 * arm + 1.7 * i) / std::sqrt(dimension));
    }
  }
  return features;
}

int Main() {
  const auto folder = WorkFolder::Make("window-rate");
  BANDANA_CHECK(folder.ok());
  const int decisions = absl::GetFlag(FLAGS_decisions);
  ClientOptions options;
  options.target = absl::GetFlag(FLAGS_target);
  options.model = absl::GetFlag(FLAGS_model);
  options.policy = PrivacyPolicy::AcceptAnything();
  options.queue_reports_max = decisions;
  const auto store = DeviceStore::Open((*folder)->path() + "/device.db");
  auto client = Client::Connect(options, *store);
  if (!client.ok() || !(*client)->model().reward_window) {
    std::fprintf(stderr, "window_rate: %s\n",
                 client.ok() ? "the model has no reward window"
                             : std::string(client.status().message()).c_str());
    return 1;
  }
  std::counting_semaphore<kInFlightMax> places(absl::GetFlag(FLAGS_in_flight));
  std::atomic<int> failed{0};
  const absl::Time start = absl::Now();
  for (int n = 0; n < decisions; ++n) {
    places.acquire();
    const auto features =
        std::make_shared<std::vector<double>>(ArmsOf(n, (*client)->model().dimension));
    (*client)->SelectAsync("user" + std::to_string(n % 10), Arms::Inline(*features), 1,
                           [&, features, n](absl::StatusOr<Selection> selection) {
                             if (!selection.ok() || n % 2 == 1) {
                               failed += !selection.ok();
                               return places.release();
                             }
                             (*client)->ReportAsync(
                                 *selection, 1.0, 0,
                                 [&](const absl::Status& status) {
                                   failed += !status.ok();
                                   places.release();
                                 },
                                 nullptr);
                           });
  }
  for (int i = 0; i < absl::GetFlag(FLAGS_in_flight); ++i) places.acquire();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  while ((*client)->Stats().reports_pending > 0) absl::SleepFor(absl::Milliseconds(5));
  const double until_applied = absl::ToDoubleSeconds(absl::Now() - start);
  const ClientStats stats = (*client)->Stats();
  std::printf(
      "%d decisions, %d failed; %.2f s until the last was held, %.2f s until all were applied "
      "(%llu)\n",
      decisions, failed.load(), seconds, until_applied,
      static_cast<unsigned long long>(stats.reports_applied));
  std::printf("decisions_per_second=%.0f\n", decisions / seconds);
  (*client).reset();
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
