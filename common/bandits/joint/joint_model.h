// Joint differential privacy as a state machine: raw events in, posteriors of released numbers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/bit_source.h"
#include "common/ranking/posterior.h"

namespace bandana {

// LinUCB with one shared parameter whose rounds (decision set, chosen x, reward) are private.
// Events enter a JointCounter. Its releases, (S^p, beta^p) with their variances, become a posterior
// by docs/design/mechanisms.md#noise-aware-posterior (RepairStatistics, BanditModel). Every
// accessor but Seal reads releases and public numbers alone.
//
// Privacy: JointCounter's. By the caller: exactly one Apply per event, whatever the reward, in the
//   order of a log; cost() is debited durably before the first; bits of a key are addressed by the
//   event's step, so that a replay releases the same numbers; what Apply released is durable before
//   a posterior is shown.
// Threads: not thread-safe. Not copyable. Source: [SS18] with another mechanism,
//   docs/design/papers.md#constants-of-ss18.
class JointModel {
 public:
  struct Options {
    JointCounter::Options counter;
    double reward_stddev = 1;  // sigma_r: of a reward around its expectation; [1e-6, 1e6]
    double prior_stddev = 1;   // tau: of an entry of theta; [1e-6, 1e6]
    double theta_l2_max = 1;   // |theta|; [0, 1e6]. Larger: noise in S^p weighs more
    double alpha = 1;          // factor of the width in the scores, [0, 1e6]
    // A release reaches the posterior once it covers this share more events than the last that
    // did; [0, 1]. 0: every one. Larger: less work (blt releases every step).
    double refresh_share = 0;
  };
  // Errors: INVALID_ARGUMENT names option and range.
  static absl::StatusOr<std::unique_ptr<JointModel>> Create(const Options& options);

  // One event. True if posterior() changed. Errors: FAILED_PRECONDITION the cap is reached;
  // UNAVAILABLE the source failed: nothing was released and the event may be applied again.
  // Cost: the counter's step; at a refresh one eigendecomposition of d x d.
  absl::StatusOr<bool> Apply(const RawInteraction& event, BitSource& bits);

  const JointCounter& counter() const { return counter_; }
  const NodePosterior& posterior() const { return posterior_; }
  std::uint64_t events() const { return encoder_.step(); }  // applied
  std::uint64_t covered() const { return taken_.covered; }  // of them in the posterior
  std::uint64_t refreshes() const { return refreshes_; }    // of the posterior
  // Refreshes whose Gram matrix had negative eigenvalues, clipped to 0: a metric.
  std::uint64_t grams_repaired() const { return grams_repaired_; }

  // All of the state. `encoder` holds raw sums: for the server's own store.
  struct State {
    SealedState encoder;
    std::vector<std::byte> decoder;
    JointSums taken;  // what the posterior was made of
    std::uint64_t refreshes = 0;
    std::uint64_t grams_repaired = 0;
  };
  State Save() const;
  // A model in that state; its posterior has the same bits. Errors: as Create; DATA_LOSS damaged
  // bytes, or parts of different steps; FAILED_PRECONDITION a state of other options.
  static absl::StatusOr<std::unique_ptr<JointModel>> Restore(const Options& options,
                                                             const State& state);

 private:
  JointModel(const Options& options, JointCounter counter, std::unique_ptr<BanditModel> model,
             CounterEncoder encoder, CounterDecoder decoder);
  // Puts taken_ into the posterior; true if the Gram matrix was repaired.
  absl::StatusOr<bool> TakeUp();

  Options options_;
  JointCounter counter_;
  CounterEncoder encoder_;
  CounterDecoder decoder_;
  std::unique_ptr<BanditModel> model_;
  JointSums taken_;
  NodePosterior posterior_;
  std::uint64_t refreshes_ = 0;
  std::uint64_t grams_repaired_ = 0;
};

}  // namespace bandana
