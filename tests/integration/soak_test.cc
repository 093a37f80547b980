// The real server under a steady load of fleets for SOAK_SECONDS: what it holds must not grow.
//
// Three fleets (non-private, coupled, private) come and go, each run with fresh devices and
// connections, while pages are read. Memory, descriptors, threads and the data folder are sampled
// from outside (/proc). Between the second third of the time (the first is warm-up) and the last
// they may grow by what Growth allows, no more. Prints a table; draws SOAK_SVG where it is set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/support/fleet_run.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"
#include "tools/base/gnuplot.h"

namespace bandana::testing {
namespace {

constexpr double kMiB = 1 << 20;
// Decisions a second and model: a fraction of what one core serves, so that nothing queues.
constexpr int kRate = 150;
constexpr int kSamples = 120;
// Ids of decisions are remembered so long: it bounds what the server has to hold.
constexpr char kPolicy[] =
    "models {\n  token_lifetime { seconds: 30 }\n  checkpoint { interval { seconds: 5 } }";

struct Sample {
  double seconds = 0;
  double resident_mib = 0;
  double descriptors = 0;
  double threads = 0;
  double folder_mib = 0;
};

// One figure, and by how much its mean may grow.
struct Growth {
  const char* name;
  double Sample::*figure;
  double absolute;
  double relative;
};
constexpr Growth kGrowths[] = {
    {"resident memory, MiB", &Sample::resident_mib, 8, 0.05},
    {"descriptors", &Sample::descriptors, 8, 0},
    {"threads", &Sample::threads, 2, 0},
    {"data folder, MiB", &Sample::folder_mib, 16, 0.25},
};

double CountEntries(const std::string& folder) {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

double FolderMiB(const std::string& folder) {
  std::error_code error;
  double bytes = 0;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    const auto size = it->file_size(gone);
    if (!gone) bytes += static_cast<double>(size);
  }
  return bytes / kMiB;
}

Sample Look(pid_t pid, const std::string& folder, double seconds) {
  const std::string proc = absl::StrCat("/proc/", pid);
  Sample sample{.seconds = seconds};
  double pages = 0;
  double resident = 0;
  std::ifstream(proc + "/statm") >> pages >> resident;
  sample.resident_mib = resident * 4096 / kMiB;
  sample.descriptors = CountEntries(proc + "/fd");
  sample.threads = CountEntries(proc + "/task");
  sample.folder_mib = FolderMiB(folder);
  return sample;
}

// Mean of a figure over part `third` (0, 1, 2) of the samples.
double Mean(const std::vector<Sample>& samples, int third, double Sample::*figure) {
  const std::size_t from = samples.size() * third / 3;
  const std::size_t to = samples.size() * (third + 1) / 3;
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += samples[i].*figure;
  return sum / static_cast<double>(to - from);
}

void Draw(const std::string& path, const std::vector<Sample>& samples) {
  std::string script = "set multiplot layout 2,2; unset key; set xlabel 'minutes'; ";
  for (const Growth& growth : kGrowths) {
    absl::StrAppend(&script, "set title ", QuotedForGnuplot(growth.name),
                    "; set yrange [0:*]; plot '-' with lines lw 2\n");
    for (const Sample& s : samples) {
      absl::StrAppend(&script, s.seconds / 60, " ", s.*growth.figure, "\n");
    }
    script += "e\n";
  }
  EXPECT_THAT(DrawSvg(path, script), IsOk());
}

int Seconds() {
  const char* given = std::getenv("SOAK_SECONDS");
  int seconds = 1800;
  return given == nullptr || absl::SimpleAtoi(given, &seconds) ? std::max(6, seconds) : 1800;
}

TEST(Soak, NothingGrowsUnderASteadyLoad) {
  const absl::Duration total = absl::Seconds(Seconds());
  FleetWorld world({"--environment=synthetic", "--set=dimension=10"});
  const std::string file = world.folder().File("server.textproto");
  const auto config = ReadFile(file, 1 << 20);
  ASSERT_THAT(config, IsOk());
  ASSERT_THAT(WriteFileDurably(file, absl::StrReplaceAll(*config, {{"models {", kPolicy}}), 0600),
              IsOk());
  world.StartServer();
  const pid_t pid = world.server().process().pid();

  const absl::Time start = absl::Now();
  std::atomic<int> runs = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> fleets;
  for (const char* model : {"linucb", "colin", "ldp-colin"}) {
    fleets.emplace_back([&, model] {
      while (absl::Now() < start + total) {
        const double left = absl::ToDoubleSeconds(start + total - absl::Now());
        const int rounds = std::max(1, static_cast<int>(kRate * std::min(10.0, left)));
        std::vector<std::string> flags =
            world.Flags(model, rounds, {absl::StrCat("--rate=", kRate)});
        flags.push_back("--json=" + world.folder().File(absl::StrCat(model, ".json")));
        flags.push_back(absl::StrCat("--seed=", ++runs));
        const ProcessResult run = RunProgram("bandana-fleet", flags);
        if (run.exit_code != 0 && ++failed == 1) {
          std::printf("%s: exit code %d\n%s%s\n", model, run.exit_code, run.out.c_str(),
                      run.err.c_str());
        }
      }
    });
  }
  std::vector<Sample> samples;
  for (int i = 1; i <= kSamples; ++i) {
    absl::SleepFor(start + total * i / kSamples - absl::Now());
    HttpRequest(world.server().http_listen(), i % 2 == 0 ? "/" : "/metrics");
    samples.push_back(
        Look(pid, world.folder().File("data"), absl::ToDoubleSeconds(absl::Now() - start)));
  }
  for (std::thread& fleet : fleets) fleet.join();

  std::printf("%d fleets in %.0f s\n%-24s %10s %10s %10s %10s\n", runs.load(),
              absl::ToDoubleSeconds(total), "mean of", "warm-up", "middle", "last", "at most");
  for (const Growth& growth : kGrowths) {
    const double middle = Mean(samples, 1, growth.figure);
    const double last = Mean(samples, 2, growth.figure);
    const double bound = middle + growth.absolute + growth.relative * middle;
    std::printf("%-24s %10.1f %10.1f %10.1f %10.1f\n", growth.name, Mean(samples, 0, growth.figure),
                middle, last, bound);
    EXPECT_LE(last, bound) << growth.name;
  }
  if (const char* path = std::getenv("SOAK_SVG"); path != nullptr) Draw(path, samples);
  EXPECT_EQ(failed, 0) << "of " << runs;
  EXPECT_EQ(world.server().Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
