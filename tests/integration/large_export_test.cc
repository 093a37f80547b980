// An export larger than what a stream could carry once (512 MiB), by bandana-ctl from file to file:
// the server's memory does not grow with it as it did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/limits.h"
#include "google/protobuf/text_format.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr int kDimension = 256;
constexpr int kArmsPerPut = 70'000;
constexpr int kPuts = 4;  // 580 MB of arms

// MiB; 0 where the kernel does not say.
double MiB(pid_t pid, const std::string& what) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; status >> word;) {
    if (word != what + ":") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

// From here on, as what it is now.
void ResetPeak(pid_t pid) { std::ofstream(absl::StrCat("/proc/", pid, "/clear_refs")) << "5"; }

TEST(LargeExportTest, IsTakenByAnotherServer) {
  const TempDir from_folder;
  const TempDir to_folder;
  auto from = ServerProcess::Start({.config = "", .folder = from_folder.path()});
  auto to = ServerProcess::Start({.config = "", .folder = to_folder.path()});
  ASSERT_THAT(from, IsOk());
  ASSERT_THAT(to, IsOk());
  const auto admin = AdminClient::Connect((*from)->listen(), absl::Minutes(5));
  ASSERT_THAT(admin, IsOk());
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'large' mode: NON_PRIVATE shared {} arms_max: 1000000", &config));
  config.set_dimension(kDimension);
  ASSERT_THAT((*admin)->CreateModel(config), IsOk());
  for (int put = 0; put < kPuts; ++put) {
    std::vector<v1::Arm> arms(kArmsPerPut);
    for (int a = 0; a < kArmsPerPut; ++a) {
      const int id = put * kArmsPerPut + a;
      arms[a].set_id(static_cast<std::uint32_t>(id));
      for (int i = 0; i < kDimension; ++i) arms[a].add_features(1.0 / (16 + (id + i) % 97));
    }
    ASSERT_THAT((*admin)->PutArms("large", arms), IsOk());
  }

  const std::string path = from_folder.File("large.export");
  const pid_t from_pid = (*from)->process().pid();
  const pid_t to_pid = (*to)->process().pid();
  ResetPeak(from_pid);
  const double from_before = MiB(from_pid, "VmRSS");
  absl::Time begin = absl::Now();
  const ProcessResult exported =
      RunProgram("bandana-ctl", {"--target=" + (*from)->listen(), "export", path, "--model=large"});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  std::printf("export_s=%.1f server_mib_before=%.0f peak=%.0f\n",
              absl::ToDoubleSeconds(absl::Now() - begin), from_before, MiB(from_pid, "VmHWM"));
  EXPECT_LT(MiB(from_pid, "VmHWM"), from_before + 128);
  const std::uint64_t bytes = std::filesystem::file_size(path);
  ASSERT_GT(bytes, kAdminStreamBytesMax);

  begin = absl::Now();
  const ProcessResult imported =
      RunProgram("bandana-ctl", {"--target=" + (*to)->listen(), "import", path, "--model=copy"});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  std::printf("import_s=%.1f bytes=%llu server_mib_after=%.0f peak=%.0f\n",
              absl::ToDoubleSeconds(absl::Now() - begin), static_cast<unsigned long long>(bytes),
              MiB(to_pid, "VmRSS"), MiB(to_pid, "VmHWM"));
  const auto other = AdminClient::Connect((*to)->listen(), absl::Minutes(1));
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ((*other)->GetStats("copy")->arms(), static_cast<std::uint32_t>(kPuts * kArmsPerPut));
}

}  // namespace
}  // namespace bandana::testing
