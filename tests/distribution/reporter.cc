// Reports one reward for every slot of many decisions, by the C++ SDK: SERVER MODEL STORE DECISIONS
// REWARD. Prints how many reports were applied, and how many of them by default.
#include <bandana/client.h>
#include <bandana/store.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  constexpr int kSlots = 16;
  const int decisions = static_cast<int>(std::strtol(argv[4], nullptr, 10));
  const double reward = std::strtod(argv[5], nullptr);
  const auto store = bandana::DeviceStore::Open(argv[3]);
  bandana::ClientOptions options;
  options.target = argv[1];
  options.model = argv[2];
  options.policy.epsilon_max = 20;
  const auto client = bandana::Client::Connect(options, *store);
  if (!client.ok()) {
    std::fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 1;
  }
  std::vector<double> arms;
  for (int i = 0; i < kSlots; ++i) arms.insert(arms.end(), {std::cos(i), std::sin(i)});
  for (int i = 0; i < decisions; ++i) {
    const auto slots = (*client)->SelectSlots("user", bandana::Arms::Inline(arms), kSlots);
    if (!slots.ok()) {
      std::fprintf(stderr, "%s\n", slots.status().ToString().c_str());
      return 1;
    }
    for (const bandana::Selection& slot : *slots) {
      if (!(*client)->Report(slot, reward).ok()) return 1;
    }
  }
  bandana::ClientStats stats = (*client)->Stats();
  while (stats.reports_pending > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stats = (*client)->Stats();
  }
  std::printf("%d %d\n", static_cast<int>(stats.reports_applied),
              static_cast<int>(stats.reports_defaulted));
  return 0;
}
