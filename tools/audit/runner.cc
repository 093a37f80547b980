#include "tools/audit/runner.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/buffered_bits.h"
#include "common/random/keyed_stream.h"

namespace bandana::audit {
namespace {

constexpr double kTrialsMax = 1e11;
constexpr int kThreadsMax = 1024;
// Runs of one stream of bits: blocks, not threads, own streams, so that counts do not depend on the
// number of threads.
constexpr std::uint64_t kBlockTrials = 4096;

absl::Status CheckOptions(const AuditOptions& options) {
  const auto& [claim, trials, alpha, threads, seed] = options;
  if (!(claim.epsilon.value > 0 && claim.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           claim.epsilon.value);
  }
  if (!(claim.delta.value >= 0 && claim.delta.value < 1)) {
    return InvalidArgument("delta must be in [0, 1), got ", claim.delta.value);
  }
  if (trials < 1 || static_cast<double>(trials) > kTrialsMax) {
    return InvalidArgument("trials must be in [1, 1e11], got ", trials);
  }
  if (!(alpha > 0 && alpha <= 0.5)) {
    return InvalidArgument("alpha must be in (0, 0.5], got ", alpha);
  }
  if (threads < 1 || threads > kThreadsMax) {
    return InvalidArgument("threads must be in [1, ", kThreadsMax, "], got ", threads);
  }
  return absl::OkStatus();
}

// The seed as a key; no secret.
absl::StatusOr<NoiseKey> KeyOf(std::uint64_t seed) {
  return NoiseKey::FromBytes(Sha256Of("bandana audit " + std::to_string(seed)));
}

absl::StatusOr<std::uint64_t> CountHits(const Attack& attack, Neighbour neighbour,
                                        std::uint64_t trials, BitSource& bits) {
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    BANDANA_ASSIGN_OR_RETURN(const bool hit, attack(neighbour, bits));
    hits += hit;
  }
  return hits;
}

// Blocks of trials, taken one by one by the threads: even blocks are P's, odd ones Q's.
class Work {
 public:
  Work(const Attack& attack, const AuditOptions& options)
      : attack_(attack),
        options_(options),
        blocks_(2 * ((options.trials + kBlockTrials - 1) / kBlockTrials)) {}

  absl::StatusOr<HitCounts> Run() {
    std::vector<std::thread> helpers;
    for (int i = 1; i < options_.threads; ++i) helpers.emplace_back([this] { Drain(); });
    Drain();
    for (std::thread& helper : helpers) helper.join();
    BANDANA_RETURN_IF_ERROR(status_);
    return HitCounts{options_.trials, hits_[0], hits_[1]};
  }

 private:
  void Drain() {
    for (;;) {
      const std::uint64_t block = next_.fetch_add(1);
      if (block >= blocks_) return;
      const absl::StatusOr<std::uint64_t> hits = RunBlock(block);
      const std::lock_guard lock(mutex_);
      if (hits.ok()) {
        hits_[block % 2] += *hits;
      } else {
        status_ = hits.status();
        next_ = blocks_;
      }
    }
  }

  absl::StatusOr<std::uint64_t> RunBlock(std::uint64_t block) const {
    const Neighbour neighbour = block % 2 == 0 ? Neighbour::kP : Neighbour::kQ;
    const std::uint64_t first = block / 2 * kBlockTrials;
    const std::uint64_t trials = std::min(kBlockTrials, options_.trials - first);
    if (!options_.seed) return CountHits(attack_, neighbour, trials, BufferedBits());
    BANDANA_ASSIGN_OR_RETURN(const NoiseKey key, KeyOf(*options_.seed));
    BANDANA_ASSIGN_OR_RETURN(
        KeyedStream bits, KeyedStream::ForNode(key, {.node = block, .input = NoiseInput::None()}));
    return CountHits(attack_, neighbour, trials, bits);
  }

  const Attack& attack_;
  const AuditOptions& options_;
  const std::uint64_t blocks_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::uint64_t hits_[2] = {0, 0};
  absl::Status status_;
};

}  // namespace

absl::StatusOr<AuditResult> Judge(ClaimKind kind, const Claim& claim, const HitCounts& hits,
                                  double alpha) {
  const HitBounds bounds = BoundHits(hits, alpha);
  AuditResult result{.hits = hits};
  if (kind == ClaimKind::kPure) {
    result.lower = EpsilonLower(bounds, {0});
  } else {
    // Both read the same four bounds: no further share of alpha is spent.
    BANDANA_ASSIGN_OR_RETURN(const Epsilon gaussian, GaussianEpsilonLower(bounds, claim.delta));
    result.lower = {std::max(gaussian.value, EpsilonLower(bounds, claim.delta).value)};
  }
  result.violated = result.lower.value > claim.epsilon.value;
  return result;
}

absl::StatusOr<AuditResult> RunAudit(const Subject& subject, const AuditOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  if (subject.claim == ClaimKind::kGaussian && !(options.claim.delta.value > 0)) {
    return InvalidArgument("delta must be in (0, 1) for ", ToAbsl(subject.name), ", got 0");
  }
  BANDANA_ASSIGN_OR_RETURN(const Attack attack, subject.make(options.claim));
  BANDANA_ASSIGN_OR_RETURN(const HitCounts hits, Work(attack, options).Run());
  return Judge(subject.claim, options.claim, hits, options.alpha);
}

}  // namespace bandana::audit
