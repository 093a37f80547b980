#include "client/core/selection/ranker.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/core/callback.h"
#include "client/core/features.h"
#include "client/core/policy.h"
#include "client/core/selection/arm_effects_clock.h"
#include "client/core/selection/named_arms.h"
#include "client/core/selection/posterior_clock.h"
#include "client/core/selection/posterior_message.h"
#include "client/core/selection/posteriors.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

using Run = Ranker::Run;

absl::StatusOr<std::vector<double>> Clipped(const PublicSpec& spec, const Arms& arms) {
  return ClipArms(arms.features, spec.dimension, spec.feature_l2_max, spec.reject_features);
}

// Appends the ids of the ranked arms, where there are any.
void AppendIds(std::span<const std::uint32_t> ids, Ranking& ranking) {
  if (ids.empty()) return;
  std::vector<std::uint32_t> ranked;
  for (const RankedArm& arm : ranking.arms) {
    ranked.push_back(ids[static_cast<std::size_t>(arm.position)]);
  }
  AppendArmIds(ranked, ranking.features);
}

// The knowledge by which a device ranks.
struct Known {
  std::shared_ptr<const UserPosterior> posterior;  // null where there is none yet
  std::shared_ptr<const ArmEffects> arms;          // null where arms have no effects
};

// Arms as vectors, where a device needs them: it ranks or counts.
class ArmsAsVectors {
 public:
  // Errors: of EncodeHere.
  absl::Status Take(const PublicSpec& spec, const Arms& arms) {
    arms_ = arms;
    if (arms.form != Arms::Form::kNamed) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(encoded_, EncodeHere(spec, arms));
    for (const NamedArm& arm : arms.named) ids_.push_back(arm.id);
    arms_ = Arms::Inline(encoded_.features);
    return absl::OkStatus();
  }
  // Lives as long as this.
  const Arms& arms() const { return arms_; }
  // Gives a ranking of them its names, and says what was found.
  using Finish = Callback<void(Ranking&)>;
  Finish finish() const {
    return [ids = ids_, notes = encoded_.notes, count = encoded_.count](Ranking& ranking) {
      if (ids.empty()) return;
      for (RankedArm& arm : ranking.arms) arm.name = ids[static_cast<std::size_t>(arm.position)];
      ranking.notes = notes;
      ranking.count = count;
    };
  }

 private:
  Arms arms_;
  EncodedArms encoded_;
  std::vector<std::string> ids_;  // of named arms
};

// The device keeps the arms of all ranks that it has ranked, or counts.
absl::Status CheckRanksHere(const Ranks& ranks) {
  if (ranks.top_k <= kSealedRanksMax) return absl::OkStatus();
  return InvalidArgument("top_k must be in [1, ", kSealedRanksMax,
                         "] where the device ranks or counts, got ", ranks.top_k);
}

// A decision made here keeps ids of arms where their effects are known: the server learns those of
// the arm shown.
absl::StatusOr<Run> RankWith(const PublicSpec& spec, std::string_view user, const Arms& arms,
                             const Ranks& ranks, Callback<Known()> known) {
  ArmsAsVectors vectors;
  BANDANA_RETURN_IF_ERROR(vectors.Take(spec, arms));
  if (vectors.arms().form != Arms::Form::kInline || vectors.arms().context != nullptr) {
    return InvalidArgument("arms must be inline or named to be ranked on the device");
  }
  BANDANA_RETURN_IF_ERROR(CheckRanksHere(ranks));
  std::vector<double> finite;
  const Arms offered = ArmsToRank(spec, vectors.arms(), finite);
  BANDANA_RETURN_IF_ERROR(
      MakeSelectRequest(spec.name, spec.dimension, user, offered, ranks).status());
  BANDANA_ASSIGN_OR_RETURN(auto features, Clipped(spec, offered));
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t tie_key, SystemBits().NextWord());
  const std::vector<std::uint32_t> given(offered.ids.begin(), offered.ids.end());
  return Run([known = std::move(known), link = spec.link, features = std::move(features), given,
              finish = vectors.finish(), top_k = ranks.top_k, tie_key](const Ranker::Ranked& done) {
    // As late as this: a start may have fetched it since.
    const Known now = known();
    if (now.posterior == nullptr) {
      return done(FailedPrecondition("no posterior of this user yet: call RefreshPosterior first"));
    }
    const std::vector<std::uint32_t> ids =
        now.arms == nullptr ? std::vector<std::uint32_t>() : given;
    std::vector<ArmShare> shares;
    shares.reserve(ids.size());
    for (const std::uint32_t id : ids) shares.push_back(now.arms->ShareOf(id));
    Ranking ranking = RankOnDevice(*now.posterior, link, {features, shares}, top_k, tie_key);
    AppendIds(ids, ranking);
    finish(ranking);
    done(std::move(ranking));
  });
}

absl::Status NotOfPoints(const PublicSpec& spec) {
  return InvalidArgument("model ", spec.name, " is not of points: its arms are ranked");
}

// The server ranks; the device may, by a posterior that was fetched for the user. The first time
// one is fetched, the clock of the effects of arms starts.
class ServerRanker : public Ranker {
 public:
  ServerRanker(Options options, Calls* calls, Timers* timers)
      : options_(std::move(options)),
        calls_(calls),
        selector_({.dimension = spec().dimension,
                   .policy_hash = PolicyHashOf(spec()),
                   .range = options_.traits.windows_in,
                   .deadline = options_.deadline,
                   .backoff = options_.backoff},
                  calls, timers),
        arm_effects_({.model = spec().name,
                      .tag = options_.arm_effects_tag,
                      .interval = options_.posterior_interval,
                      .deadline = options_.deadline,
                      .kept = options_.kept},
                     calls, timers) {
    if (options_.kept != nullptr) RememberUsers(*options_.kept);
  }

  void Close() override { arm_effects_.Close(); }
  void FetchAtStart(Callback<void()> done) override { arm_effects_.FetchAtStart(std::move(done)); }

  absl::StatusOr<Run> Prepare(std::string_view user, const Arms& arms, const Ranks& ranks,
                              bool deferred) override {
    std::vector<double> finite;
    const Arms offered = ArmsToRank(spec(), arms, finite);
    BANDANA_ASSIGN_OR_RETURN(auto request, MakeSelectRequest(spec().name, spec().dimension, user,
                                                             offered, ranks, deferred));
    return Asking(std::move(request));
  }
  absl::StatusOr<Run> PrepareSlots(std::string_view user, const Arms& arms, int slots) override {
    BANDANA_ASSIGN_OR_RETURN(auto request,
                             MakeSlotsRequest(spec().name, spec().dimension, user, arms, slots));
    return Asking(std::move(request));
  }
  absl::StatusOr<Run> PreparePoint(std::string_view user) override {
    BANDANA_ASSIGN_OR_RETURN(auto request, MakePointRequest(spec().name, user));
    return Asking(std::move(request));
  }
  absl::StatusOr<Run> PrepareHere(std::string_view user, const Arms& arms,
                                  const Ranks& ranks) override {
    return RankWith(spec(), user, arms, ranks, [this, name = std::string(user)] {
      return Known{posteriors_.Find(name), arm_effects_.Latest()};
    });
  }
  void Refresh(std::string_view user, Refreshed done) override;
  bool HandleHasFeatures(const Handle&, bool) const override { return false; }

 protected:
  const PublicSpec& spec() const { return options_.spec; }

 private:
  // Takes over posteriors that an earlier process fetched.
  void RememberUsers(const KeptAnswers& kept) {
    for (const auto& [name, bytes] : kept.all()) {
      if (!name.starts_with(KeptAnswers::kOfUser)) continue;
      const auto response = ReadPosteriorResponse(bytes);
      if (!response.ok()) continue;
      auto posterior = ParsePosterior(*response, spec().dimension);
      if (!posterior.ok()) continue;
      posteriors_.Put(name.substr(KeptAnswers::kOfUser.size()), *std::move(posterior));
    }
  }

  void Fetch(const std::string& user, const Refreshed& done);

  Run Asking(SelectRequest request) {
    return [this, request = std::move(request)](Ranked done) mutable {
      selector_.Select(std::move(request), std::move(done));
    };
  }

  const Options options_;
  Calls* const calls_;
  Selector selector_;
  PosteriorCache posteriors_;
  ArmEffectsClock arm_effects_;
};

void ServerRanker::Refresh(std::string_view user, Refreshed done) {
  arm_effects_.Start(
      [this, name = std::string(user), done = std::move(done)](const absl::Status& status) {
        if (!status.ok()) return done(status);
        Fetch(name, done);
      });
}

void ServerRanker::Fetch(const std::string& user, const Refreshed& done) {
  const auto known = posteriors_.Find(user);
  calls_->Make(Method::kGetPosterior,
               PosteriorRequestBytes(spec().name, user, known == nullptr ? 0 : known->version),
               {.deadline = options_.deadline},
               [this, user, done, known](const Answer& answer, const std::string& bytes) {
                 if (!answer.status.ok()) return done(answer.status);
                 const auto response = ReadPosteriorResponse(bytes);
                 if (!response.ok()) return done(response.status());
                 if (response->not_modified && known != nullptr) return done(false);
                 auto posterior = ParsePosterior(*response, spec().dimension);
                 if (!posterior.ok()) return done(posterior.status());
                 posteriors_.Put(user, *std::move(posterior));
                 if (options_.kept != nullptr) {
                   options_.kept->Put(absl::StrCat(ToAbsl(KeptAnswers::kOfUser), user), bytes);
                 }
                 done(true);
               });
}

// The server ranks, and the device keeps the features of the ranks: a counter steps with those of
// the arm shown, and the server does not send those of a catalogue.
class CountingRanker final : public ServerRanker {
 public:
  using ServerRanker::ServerRanker;

  absl::StatusOr<Run> Prepare(std::string_view user, const Arms& arms, const Ranks& ranks,
                              bool deferred) override {
    BANDANA_RETURN_IF_ERROR(CheckRanksHere(ranks));
    return Keeping(arms, [&](const Arms& offered) {
      return ServerRanker::Prepare(user, offered, ranks, deferred);
    });
  }
  absl::StatusOr<Run> PrepareSlots(std::string_view user, const Arms& arms, int slots) override {
    return Keeping(arms, [&](const Arms& offered) {
      return ServerRanker::PrepareSlots(user, offered, slots);
    });
  }
  absl::StatusOr<Run> PreparePoint(std::string_view) override { return NotOfPoints(spec()); }
  absl::StatusOr<Run> PrepareHere(std::string_view, const Arms&, const Ranks&) override {
    return FailedPrecondition("model ", spec().name,
                              " counts on the device: its arms are ranked by Select");
  }
  bool HandleHasFeatures(const Handle& handle, bool) const override {
    return !handle.token.empty();
  }

 private:
  // Ranks the arms that `prepare` makes as vectors, and keeps their features with the ranking.
  template <typename Prepare>
  absl::StatusOr<Run> Keeping(const Arms& arms, Prepare prepare) {
    ArmsAsVectors vectors;
    BANDANA_RETURN_IF_ERROR(vectors.Take(spec(), arms));
    BANDANA_ASSIGN_OR_RETURN(const Run ask, prepare(vectors.arms()));
    if (vectors.arms().form != Arms::Form::kInline) {
      return FailedPrecondition("model ", spec().name,
                                " counts on the device: arms must be inline or named");
    }
    BANDANA_ASSIGN_OR_RETURN(const auto features, Clipped(spec(), vectors.arms()));
    return Run([this, ask, features, finish = vectors.finish()](Ranked done) {
      ask([this, features, finish, done = std::move(done)](absl::StatusOr<Ranking> ranking) {
        if (ranking.ok()) {
          finish(*ranking);
          for (const RankedArm& arm : ranking->arms) {
            ranking->features +=
                PackFeatures(FeaturesOfRow(features, arm.position, spec().dimension));
          }
        }
        done(std::move(ranking));
      });
    });
  }
};

// The device ranks, by a posterior that is fetched by the clock: nothing but reports leaves.
class ClockRanker final : public Ranker {
 public:
  ClockRanker(const Options& options, Calls* calls, Timers* timers)
      : spec_(options.spec),
        clock_({.model = spec_.name,
                .dimension = spec_.dimension,
                .interval = options.posterior_interval,
                .deadline = options.deadline,
                .kept = options.kept},
               calls, timers) {}

  void Start(Callback<void(const absl::Status&)> started) override {
    clock_.Start(std::move(started));
  }
  void Close() override { clock_.Close(); }
  void FetchAtStart(Callback<void()> done) override { clock_.FetchAtStart(std::move(done)); }

  absl::StatusOr<Run> Prepare(std::string_view user, const Arms& arms, const Ranks& ranks,
                              bool) override {
    return RankWith(spec_, user, arms, ranks, [this] { return Known{clock_.Latest(), nullptr}; });
  }
  absl::StatusOr<Run> PrepareSlots(std::string_view, const Arms&, int) override {
    return InvalidArgument("model ", spec_.name, " has no slots: its events have private contexts");
  }
  absl::StatusOr<Run> PreparePoint(std::string_view) override { return NotOfPoints(spec_); }
  absl::StatusOr<Run> PrepareHere(std::string_view user, const Arms& arms,
                                  const Ranks& ranks) override {
    return Prepare(user, arms, ranks, /*deferred=*/false);
  }
  void Refresh(std::string_view, Refreshed done) override {
    done(FailedPrecondition("model ", spec_.name,
                            " has private contexts: its posterior is fetched by the clock"));
  }
  bool HandleHasFeatures(const Handle&, bool window) const override { return !window; }

 private:
  const PublicSpec spec_;
  PosteriorClock clock_;
};

template <typename Made>
std::unique_ptr<Ranker> MakeOne(Ranker::Options options, Calls* calls, Timers* timers) {
  return std::make_unique<Made>(std::move(options), calls, timers);
}

struct RankerRow {
  RankedBy by;
  std::unique_ptr<Ranker> (*make)(Ranker::Options options, Calls* calls, Timers* timers);
};
constexpr RankerRow kRankers[] = {{RankedBy::kServer, MakeOne<ServerRanker>},
                                  {RankedBy::kServerKept, MakeOne<CountingRanker>},
                                  {RankedBy::kDevice, MakeOne<ClockRanker>}};

}  // namespace

std::unique_ptr<Ranker> Ranker::Make(Options options, Calls* calls, Timers* timers) {
  const auto* const row =
      std::find_if(std::begin(kRankers), std::end(kRankers),
                   [&options](const RankerRow& one) { return one.by == options.traits.ranked_by; });
  BANDANA_CHECK(row != std::end(kRankers));
  return row->make(std::move(options), calls, timers);
}

}  // namespace bandana::device
