// A host of the device core that does everything wrong, and watches what the core does about it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bandana/client.h"
#include "client/core/device.h"
#include "common/promise/public_spec.h"
#include "tests/support/memory_rows.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {

// Plays a program, any bytes: decisions and reactions between answers that come out of order, twice
// or never, commits that fail or stay unanswered, clocks that jump, entropy that fails, restarts,
// and rows that are older, altered or foreign. After each step it looks for what must never be, and
// keeps it in problems().
class HostileHost {
 public:
  struct Options {
    PublicSpec spec;
    ClientOptions::Leave leave = ClientOptions::Leave::kWhenDue;
    std::uint64_t events_per_user_max = 3;
  };
  explicit HostileHost(Options options);
  ~HostileHost();

  void Play(std::string_view program);

  // Empty: nothing that must never be.
  const std::vector<std::string>& problems() const { return problems_; }
  // Events that came about: a test demands that its programs are not idle.
  int selections() const { return static_cast<int>(selections_.size()); }
  int reports_sent() const { return reports_sent_; }
  int refused_starts() const { return refused_starts_; }

 private:
  class Entropy;
  using Call = device::Device::Call;

  // Opens the rows and connects; where the rows are refused the host goes back to sound ones.
  void Boot();
  absl::Status OpenDevice();
  void Step(const std::function<void()>& event);
  void Take(device::Device::Result result);
  void Watch(const Call& call);
  void WatchReports(const Call& call);
  bool IsDurable(std::string_view report);
  void Problem(std::string text) { problems_.push_back(std::move(text)); }

  void Select(int user);
  void React(std::uint8_t which, std::uint8_t value);
  void Answer(const Call& call, std::uint8_t how);
  std::string AnswerOf(const Call& call);
  void AnswerCommit(bool stands);
  void Tamper(std::uint8_t how);

  const Options options_;
  const std::string model_;  // v1.GetModelResponse
  std::unique_ptr<Entropy> bits_;
  device::Device::Now now_;
  MemoryRows::Content rows_;  // while no device is open
  MemoryRows::Content older_;
  std::optional<device::StoreMark> mark_;
  MemoryRows* live_ = nullptr;  // of the device
  std::unique_ptr<device::Device> device_;
  std::optional<device::Device::ClientId> client_;
  std::deque<Call> calls_;
  std::vector<Call> answered_;
  std::vector<Selection> selections_;
  std::uint64_t next_token_ = 0;

  std::vector<std::string> problems_;
  std::map<std::string, std::string> sent_;              // report by its token or id
  std::map<std::string, std::string> user_of_;           // by token
  std::map<std::string, std::set<std::string>> events_;  // tokens by user
  int reports_sent_ = 0;
  int refused_starts_ = 0;
};

}  // namespace bandana::testing
