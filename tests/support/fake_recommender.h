// A Recommender in the test's own process that can misbehave: lose answers, refuse, hang, change
// its model. It applies a token once, as the real one does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"

namespace bandana::testing {

// A local model: d = 2, L = 1, rewards in [0, 1], epsilon 1, one report per decision.
PublicSpec LocalSpec();
// As LocalSpec, with a reward window.
PublicSpec WindowSpec(absl::Duration window, double default_reward);
// A local model whose rewards are counted on the device: d = 2, L = 1, rewards in [0, 1], epsilon
// 1, delta 1e-6, one report per decision.
PublicSpec CounterModelSpec();
// Contexts are private as well: d = 2, L = 1, rewards in [0, 1], one report per decision; PRIVUNIT
// at epsilon 1, or JOINT_GAUSSIAN at epsilon 1 and delta 1e-6.
PublicSpec ContextModelSpec(MechanismId mechanism = MechanismId::kPrivUnit);
// Without privacy.
PublicSpec RawSpec();

// Replaces the ordinary answer of one call.
struct Fault {
  enum class Kind {
    kRefuse,      // answers `status` and does nothing
    kLoseAnswer,  // applies, then answers `status`
    kHang,        // applies, then waits for a ReleaseHung before it answers `status`
  };
  Kind kind = Kind::kRefuse;
  absl::Status status;
  std::optional<int> pushback_ms;
};

// One delivery as it arrived.
struct Delivered {
  std::string bytes;  // the request, serialized
  absl::Time at;
  std::vector<std::string> reports;  // each report, serialized
};

// Threads: safe.
class FakeRecommender {
 public:
  // Listens on a free port of 127.0.0.1, or on `port` (after Stop of another).
  explicit FakeRecommender(const PublicSpec& spec, int port = 0);
  ~FakeRecommender();

  std::string target() const;
  int port() const;
  void SetSpec(const PublicSpec& spec);
  void SetPosterior(const v1::GetPosteriorResponse& posterior);
  // Pages, answered by their order and next_arm; with a status every call is answered with it.
  // Before the first call of it UNIMPLEMENTED, as of an older server.
  void SetArmEffects(std::vector<v1::GetArmEffectsResponse> pages);
  void FailArmEffects(absl::Status status);

  // The next Submit or Report (Select or BatchSelect) that arrives meets `fault`.
  void FailDelivery(const Fault& fault);
  void FailSelect(const Fault& fault);
  void FailActivation(const Fault& fault);
  // CENTRED_RANDOMIZER: the window of the first ranked arm; that of rank i lies i / 8 above it.
  void SetWindow(const RewardRange& window);
  // Sets the answer to a Select without arms.
  void SetPoint(std::vector<double> point);
  // Answers APPLIED reports with this result instead; nullopt = as usual.
  void SetResult(std::optional<v1::OutcomeResult> result);
  // Answers counter reports with this result instead, and takes nothing of them.
  void SetCounterResult(std::optional<v1::CounterResult> result);
  // GetModel answers it from now on.
  void SetEpoch(std::uint64_t epoch);
  // Lets one hung call go on, or the next one that comes.
  void ReleaseHung();

  std::vector<Delivered> deliveries() const;
  std::vector<std::string> selects() const;  // SelectRequests, serialized, single or of a batch
  // Applied, in order; each token once.
  std::vector<v1::PerturbedReport> applied_reports() const;
  std::vector<v1::Outcome> applied_outcomes() const;
  // Each counter report as it arrived, answered or not.
  std::vector<v1::CounterReport> counter_reports() const;
  // Each stream by its name on the wire: its newest step, the tokens of its steps, the moment it
  // had at each reported step. Steps count once; a step that comes again with another moment or
  // token, or a gap, is refused.
  struct StreamState {
    std::uint64_t step = 0;
    std::vector<std::string> tokens;
    std::map<std::uint64_t, std::vector<double>> moments;
  };
  std::map<std::string, StreamState> streams() const;
  // Forgets the stream's steps after `step`, as a server restored from an old backup.
  void RollBackStreams(std::uint64_t step);
  // Each context report that was taken, once an id.
  std::vector<v1::ContextReport> applied_contexts() const;
  // GetPosteriorRequests, serialized.
  std::vector<std::string> posterior_requests() const;
  // GetArmEffectsRequests, in order.
  std::vector<v1::GetArmEffectsRequest> arm_effects_requests() const;
  int model_requests() const;
  // ActivateRequests as they came, answered or not. Reports of decisions that were deferred are
  // refused before theirs was taken.
  std::vector<std::string> activations() const;

 private:
  class Service;
  struct State;
  std::unique_ptr<State> state_;
};

// Waits until the condition holds; false after ten seconds.
bool Eventually(const std::function<bool()>& condition);

}  // namespace bandana::testing
