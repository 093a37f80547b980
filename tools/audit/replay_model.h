// The models that the replay audit runs: one of every central mode, mechanism and event rule.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/base/clock.h"
#include "common/random/keyed_stream.h"
#include "server/models/hosted_model.h"

namespace bandana::audit {

// The kind of numbers that a model releases, which decides how two runs of it are compared.
enum class ReleaseForm {
  kLinear,  // counters: data and noise add up
  kValues,  // sparse estimates: a smooth function of both
  kDraws,   // the randomizer: one output per event
};

// Whether a user can be deleted, and what the deletion takes away.
enum class Deletion {
  kRefused,  // what users share cannot unlearn
  kName,     // the name of the user's node
  kOwnNode,  // what was learnt and released of the user
};

struct ReplayModel {
  std::string name;  // mechanism and event rule
  v1::ModelConfig config;
  Deletion deletion = Deletion::kRefused;
  ReleaseForm form = ReleaseForm::kLinear;
  int events = 0;
};
const std::vector<ReplayModel>& ReplayModels();

// A clock that stands still until told.
class ReplayClock final : public Clock {
 public:
  absl::Time Now() const override { return now_; }
  void Advance(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

// The two keys of noise that every case is looked at under.
std::shared_ptr<const NoiseKey> ReplayKey(int key);

// A stepped model in `folder`, as a server would open it. Errors: as HostedModel::Open, and
// INVALID_ARGUMENT for a configuration that no server takes.
absl::StatusOr<std::unique_ptr<server::HostedModel>> OpenReplayed(
    const v1::ModelConfig& config, const std::string& folder, const Clock& clock, int key,
    const NoiseBinding* binding = nullptr);

// Every key and run has these events: half of them, a checkpoint, the other half. Rewards are
// multiples of 1/8; the last but one is kMarkedReward, no other is. Errors: what the model
// answered.
inline constexpr double kMarkedReward = 0.3125;
// How many users there are, and the first of them, who has the first node where users have nodes of
// their own.
inline constexpr int kUsers = 2;
inline constexpr char kDeletedUser[] = "user0";
absl::Status RunEvents(const ReplayModel& model, server::HostedModel& hosted, ReplayClock& clock);

// All that the model has released, from an export of it: counters by stream and coordinate, the
// estimate by coordinate, the randomizer's outputs by event; 0 of a user who was deleted.
absl::StatusOr<std::vector<double>> ReleasesOf(const ReplayModel& model, std::string_view exported);

}  // namespace bandana::audit
