#include "tools/base/work_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;

// Another process answers: there is nothing to step.
template <typename Condition>
bool Within10Seconds(const Condition& condition) {
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (!condition() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(20));
  return condition();
}

// Runs `work` in a process that gives back a line and is killed then.
template <typename Work>
std::string KilledAfter(int signal_number, const Work& work) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string line = work();
    static_cast<void>(!write(ends[1], line.data(), line.size()));
    for (;;) pause();
  }
  std::array<char, 256> line{};
  EXPECT_GT(read(ends[0], line.data(), line.size() - 1), 0);
  kill(child, signal_number);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return line.data();
}

TEST(WorkFolderTest, GoesWithTheObject) {
  std::string path;
  {
    const auto folder = WorkFolder::Make("test");
    ASSERT_THAT(folder, IsOk());
    path = (*folder)->path();
    std::ofstream(path + "/file") << "content";
    EXPECT_TRUE(fs::exists(path + "/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(WorkFolderTest, GoesWithAProcessThatIsKilled) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string path = KilledAfter(signal_number, [] {
      auto folder = WorkFolder::Make("test");
      std::ofstream((*folder)->path() + "/file") << "content";
      return (*folder).release()->path();
    });
    EXPECT_TRUE(Within10Seconds([&] { return !fs::exists(path); })) << signal_number << path;
  }
}

TEST(WorkFolderTest, ChildrenThatItHoldsAreKilledWithTheProcess) {
  const std::string text = KilledAfter(SIGKILL, [] {
    WorkFolder* const folder = WorkFolder::Make("test")->release();
    const pid_t released = fork();
    if (released == 0) _exit(0);
    folder->Hold(released);
    waitpid(released, nullptr, 0);
    folder->Release(released);
    const pid_t held = fork();
    if (held == 0) {
      execl("/bin/sleep", "sleep", "600", nullptr);
      _exit(1);
    }
    folder->Hold(held);
    return std::to_string(held);
  });
  const auto state = [&] {
    std::ifstream file("/proc/" + text + "/stat");
    std::string number, name, letter;
    return file >> number >> name >> letter ? letter : "gone";
  };
  // Where nobody waits for orphans it stays as a zombie.
  EXPECT_TRUE(Within10Seconds([&] { return state() == "gone" || state() == "Z"; })) << state();
}

}  // namespace
}  // namespace bandana::testing
