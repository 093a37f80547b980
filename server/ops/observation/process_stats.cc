#include "server/ops/observation/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bandana::server {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::uint64_t CountEntries(const char* folder) {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t virtual_pages = 0, resident_pages = 0;
  if (std::ifstream statm("/proc/self/statm"); statm >> virtual_pages >> resident_pages) {
    stats.virtual_bytes = virtual_pages * page;
    stats.resident_bytes = resident_pages * page;
  }
  stats.open_fds = CountEntries("/proc/self/fd");
  stats.threads = CountEntries("/proc/self/task");
  if (rlimit limit; ::getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_fds = limit.rlim_cur;
  if (rusage usage; ::getrusage(RUSAGE_SELF, &usage) == 0) {
    stats.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  return stats;
}

}  // namespace bandana::server
