#include "bench/measure.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

namespace bandana::bench {
namespace {

// A line of the process's status that is given in kB.
double StatusMib(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size())) / 1024;
  }
  return 0;
}

}  // namespace

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double ResidentMib() { return StatusMib("VmRSS:"); }
double PeakMib() { return StatusMib("VmHWM:"); }

double Percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size() - 1, rank));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace bandana::bench
