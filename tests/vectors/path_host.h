// A host of the device core that behaves, and writes down every event that goes in and every hook
// call that comes out: what a second implementation must do byte by byte.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/core/device.h"
#include "common/promise/public_spec.h"
#include "tests/support/memory_rows.h"
#include "tests/vectors/scripted_bits.h"

namespace bandana::vectors {

// Rows stand as they are: the seal of paths is none.
class PathHost {
 public:
  struct Options {
    std::string name;
    PublicSpec spec;
    ClientOptions::Leave leave = ClientOptions::Leave::kWhenDue;
    std::uint64_t events_per_user_max = 0;
    double epsilon_max = 2;
    int reports_per_delivery_max = 32;
    bool accepts_anything = false;  // of models
  };
  explicit PathHost(Options options);
  ~PathHost();

  // Events. Each is one step of the path.
  void Start();
  void Connect();
  void Select(const std::string& user);
  void SelectSlots(const std::string& user, int slots);
  void SelectDeferred(const std::string& user);
  void SelectOnDevice(const std::string& user);
  void RefreshPosterior(const std::string& user);
  void Activate(int selection);
  void Report(int selection, std::optional<double> reward);
  void Begin();
  void Flush();
  void Close();
  // The alarm, so much later.
  void Wake(absl::Duration later);
  // The alarm when the device asked for it; nothing where it did not.
  void WakeWhenAsked();
  // The wall clock alone.
  void SetWall(absl::Duration by);
  // Answers the call that waits first: well, or with a status. `twice`: the call keeps waiting.
  void Answer(bool twice = false);
  void Fail(absl::StatusCode code, std::optional<absl::Duration> pushback = std::nullopt);
  // The answer to the call that waits first is of this policy.
  void AnswerModel(const PublicSpec& spec);
  void Lose();  // the call that waits first
  // Commits from now on.
  void FailCommits(bool fail);
  void HoldCommits();
  void AnswerCommit(bool stands);
  void FailEntropy(bool fail);
  // The process ends here, and the next one starts with the rows that were durable.
  void Crash();
  // As above, with the rows of the last call of Remember.
  void Remember();
  void CrashIntoRemembered();

  int selections() const { return static_cast<int>(selections_.size()); }
  bool waits() const { return !calls_.empty(); }
  bool has_client() const { return client_.has_value(); }
  const std::optional<absl::Duration>& wake_at() const { return wake_at_; }
  absl::Duration elapsed() const { return now_.elapsed; }

  std::string Json() const;

 private:
  class LoggingRows;

  void Step(const std::string& event, const std::function<void()>& run);
  void Take(device::Device::Result result);
  void OpenDevice(testing::MemoryRows::Content rows);
  void Hook(const std::vector<std::string>& parts);
  std::string AnswerOf(const device::Device::Call& call);
  device::ClientCore* core();

  const Options options_;
  ScriptedBits draw_bits_;
  ScriptedBits system_bits_;
  device::Device::Now now_;
  testing::MemoryRows::Content initial_;
  testing::MemoryRows::Content remembered_;
  std::optional<device::StoreMark> mark_;
  LoggingRows* rows_ = nullptr;  // of the device
  std::unique_ptr<device::Device> device_;
  std::optional<device::Device::ClientId> client_;
  std::deque<device::Device::Call> calls_;
  std::vector<Selection> selections_;
  std::uint64_t next_token_ = 0;
  std::optional<absl::Duration> wake_at_;
  std::vector<std::string> hooks_;
  std::vector<std::string> steps_;
};

}  // namespace bandana::vectors
