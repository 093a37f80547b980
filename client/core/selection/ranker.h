// Where the arms of a model are ranked: by its server, or on this device.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "client/core/backoff.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/event_mechanism.h"
#include "client/core/handle.h"
#include "client/core/kept_answers.h"
#include "client/core/selection/selector.h"
#include "client/core/timers.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

// A selection is prepared, which finds its mistakes, and then run, once it has a place in the
// queue.
class Ranker {
 public:
  using Ranked = Callback<void(absl::StatusOr<Ranking>)>;
  // Runs what was prepared. Once.
  using Run = Callback<void(Ranked)>;

  struct Options {
    PublicSpec spec;
    absl::Duration deadline;  // of a selection, retries included, and of a posterior
    absl::Duration posterior_interval;
    std::string arm_effects_tag;
    BackoffOptions backoff;
    EventTraits traits;  // of the model's events
    // Not null: what the clock fetches is fetched at starts, and answers outlive the process.
    KeptAnswers* kept = nullptr;
  };
  // Both outlive it.
  static std::unique_ptr<Ranker> Make(Options options, Calls* calls, Timers* timers);
  virtual ~Ranker() = default;

  // Before the first selection; `started` hears when there may be one. Errors: as
  // PosteriorClock::Start.
  virtual void Start(Callback<void(const absl::Status&)> started) { started(absl::OkStatus()); }
  virtual void Close() {}
  // At a start: each fetch once. `done` runs when they were answered, or were not.
  virtual void FetchAtStart(Callback<void()> done) { done(); }

  // As Client's Select, SelectSlots, SelectPoint, SelectOnDevice and RefreshPosterior. `deferred`:
  // the server, which ranks, is to wait for an Activate.
  virtual absl::StatusOr<Run> Prepare(std::string_view user, const Arms& arms, const Ranks& ranks,
                                      bool deferred = false) = 0;
  virtual absl::StatusOr<Run> PrepareSlots(std::string_view user, const Arms& arms, int slots) = 0;
  virtual absl::StatusOr<Run> PreparePoint(std::string_view user) = 0;
  virtual absl::StatusOr<Run> PrepareHere(std::string_view user, const Arms& arms,
                                          const Ranks& ranks) = 0;
  using Refreshed = Callback<void(absl::StatusOr<bool>)>;
  virtual void Refresh(std::string_view user, Refreshed done) = 0;

  // Whether the handle of such a selection holds the features of all its ranks. `window`: the model
  // has a reward window, so the store holds the open decision.
  virtual bool HandleHasFeatures(const Handle& handle, bool window) const = 0;
};

}  // namespace bandana::device
