// Whether the server still has the model that was agreed on, and which epoch it is in.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/time/time.h"
#include "bandana/options.h"
#include "client/core/event_mechanism.h"
#include "client/src/base/transport.h"
#include "client/src/delivery/pending_reports.h"
#include "client/src/store/kept_answers.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

// Asks for the model when something the server said makes it doubtful. A model with another policy
// is refused: PendingReports::Refuse. Threads: safe.
class ModelWatch final : public ModelEpoch {
 public:
  struct Options {
    PublicSpec spec;  // has passed the policy
    PrivacyPolicy policy;
    absl::Duration deadline;
    bool wait_for_server = false;  // at most so long, instead of failing at once
    std::uint64_t epoch = 0;       // came with the spec
    // Where the answer is kept beyond the process; null: nowhere.
    std::shared_ptr<KeptAnswers> kept;
  };
  // Both outlive it; `transport` is shut down first.
  ModelWatch(Options options, Transport* transport, PendingReports* pending)
      : options_(std::move(options)),
        transport_(transport),
        pending_(pending),
        epoch_(options_.epoch) {}

  std::uint64_t value() const override { return epoch_; }
  void AskAgain() override {
    AskAgain([](bool) {});
  }
  // `then` runs once the server has answered, or has not (false). At most one question is under
  // way: who asks meanwhile hears of the same answer.
  using Then = std::function<void(bool answered)>;
  void AskAgain(Then then);

 private:
  void OnModel(const Answer& answer, const v1::GetModelResponse& response);

  const Options options_;
  Transport* const transport_;
  PendingReports* const pending_;
  std::atomic<std::uint64_t> epoch_;
  std::mutex mutex_;
  std::vector<Then> asking_;  // none: no question is under way
};

}  // namespace bandana::device
