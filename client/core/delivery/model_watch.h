// Whether the server still has the model that was agreed on, and which epoch it is in.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bandana/options.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/event_mechanism.h"
#include "client/core/kept_answers.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

// Asks for the model when something the server said makes it doubtful. A model with another policy
// is refused: PendingReports::Refuse.
class ModelWatch final : public ModelEpoch {
 public:
  struct Options {
    PublicSpec spec;  // has passed the policy
    PrivacyPolicy policy;
    absl::Duration deadline;
    bool wait_for_server = false;  // at most so long, instead of failing at once
    std::uint64_t epoch = 0;       // came with the spec
    // Where the answer is kept beyond the process; null: nowhere.
    KeptAnswers* kept = nullptr;
  };
  // Both outlive it.
  ModelWatch(Options options, Calls* calls, PendingReports* pending)
      : options_(std::move(options)), calls_(calls), pending_(pending), epoch_(options_.epoch) {}

  std::uint64_t value() const override { return epoch_; }
  void AskAgain() override {
    AskAgain([](bool) {});
  }
  // `then` runs once the server has answered, or has not (false). At most one question is under
  // way: who asks meanwhile hears of the same answer.
  using Then = Callback<void(bool answered)>;
  void AskAgain(Then then);

 private:
  void OnModel(const std::string& response);

  const Options options_;
  Calls* const calls_;
  PendingReports* const pending_;
  std::uint64_t epoch_;
  std::vector<Then> asking_;  // none: no question is under way
};

}  // namespace bandana::device
