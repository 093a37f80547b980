#include "client/core/client_core.h"

#include <utility>

#include "client/core/callback.h"
#include "client/core/features.h"
#include "client/core/mechanisms.h"
#include "client/core/policy.h"
#include "client/core/spent.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"

namespace bandana::device {
namespace {

bool AtStart(const ClientOptions& options) {
  return options.leave == ClientOptions::Leave::kAtStart;
}

BackoffOptions BackoffOf(const ClientOptions& options) {
  return {options.backoff_min, options.backoff_max};
}

// A drawn decision is remembered longer than any server would still take a report of it.
absl::Duration RememberedFor(const PublicSpec& spec) { return spec.token_lifetime + kClockSkew; }

Outbox::Options OutboxOptions(const PublicSpec& spec, const ClientOptions& options,
                              const ReportForm& form) {
  return {.model = spec.name,
          .form = form,
          .policy_hash = PolicyHashOf(spec),
          .attempts = form.attempts(options.report_deadline, spec.token_lifetime),
          .backoff = BackoffOf(options),
          .in_flight_max = options.deliveries_in_flight_max,
          .batch_max = options.reports_per_delivery_max,
          .one_attempt = AtStart(options)};
}

StreamOutbox::Options StreamOutboxOptions(const PublicSpec& spec, const ClientOptions& options) {
  return {.model = spec.name,
          .policy_hash = PolicyHashOf(spec),
          .deadline = options.report_deadline,
          .backoff = BackoffOf(options),
          .in_flight_max = options.deliveries_in_flight_max,
          .steps_max = options.reports_per_delivery_max,
          .one_attempt = AtStart(options)};
}

Ranker::Options RankerOptions(const PublicSpec& spec, const ClientOptions& options,
                              const EventTraits& traits, KeptAnswers* kept) {
  return {.spec = spec,
          .deadline = options.select_deadline,
          .posterior_interval = options.posterior_interval,
          .arm_effects_tag = options.arm_effects_tag,
          .backoff = BackoffOf(options),
          .traits = traits,
          .kept = kept};
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

ModelInfo ToModelInfo(const PublicSpec& spec) {
  ModelInfo info;
  info.name = spec.name;
  info.dimension = spec.dimension;
  info.feature_l2_max = spec.feature_l2_max;
  info.reward_min = spec.reward_range.min;
  info.reward_max = spec.reward_range.max;
  info.reward_binary = spec.reward_binary;
  info.local = spec.made->drawn_on_device();
  info.local_context = spec.made->mode().contexts_on_device;
  info.link = std::string(LinkName(spec.link));
  info.epsilon = spec.epsilon.value;
  info.delta = spec.delta.value;
  info.guarantee = spec.guarantee;
  info.mechanism = LowerCase(spec.made->name());
  info.events_per_user_max = spec.events_per_user_max;
  if (spec.reward_window) info.reward_window = spec.reward_window->duration;
  info.default_reward = spec.default_reward();
  info.token_lifetime = spec.token_lifetime;
  return info;
}

void ClientCore::Join(Transaction& transaction, const PublicSpec& spec, std::uint64_t events_max,
                      bool went_back, const std::set<OwnerId>& live, Membership& membership) {
  const bool local = spec.made->drawn_on_device();
  Tables& tables = transaction.tables;
  membership.policy = tables.AddPolicy({.model = spec.name,
                                        .hash = PolicyHashOf(spec),
                                        .epsilon = spec.epsilon.value,
                                        .delta = spec.delta.value});
  const auto policies = tables.PoliciesOf(spec.name);
  membership.deliverable = {membership.policy};
  for (const PolicyRow& policy : policies) {
    // Raw outcomes carry no policy: those of an earlier non-private configuration still count.
    if (!local && policy.epsilon == 0) membership.deliverable.insert(policy.id);
  }
  membership.adopted = tables.Adopt(membership.owner, policies, live);
  membership.activations = Activations::Adopt(tables, spec.name, membership.owner, live);
  if (went_back) tables.reports().TakeForOld(membership.owner);
  AdoptStreams(transaction, live, membership, policies);
  transaction.ledger.MarkExhausted(tables, spec.name, events_max);
  membership.answers = tables.kept().Of(spec.name);
}

// Streams of other configurations end: their counter is not this client's, and the server would
// refuse their reports.
void ClientCore::AdoptStreams(Transaction& transaction, const std::set<OwnerId>& live,
                              Membership& membership, const std::vector<PolicyRow>& policies) {
  StreamRows& streams = transaction.tables.streams();
  for (const PolicyRow& policy : policies) {
    streams.Adopt(membership.owner, policy.id, live);
    for (const StreamRow& stream : streams.Of(policy.id, {})) {
      if (stream.owner != membership.owner) continue;
      if (policy.id == membership.policy) {
        const int steps = streams.CountSteps(stream.id);
        if (steps > 0) membership.waiting[stream.id] = steps;
        continue;
      }
      if (stream.end == StreamEnd::kNone) streams.End(stream, StreamEnd::kPolicy);
      membership.rejected += streams.DropSteps(stream.id).size();
    }
  }
}

void ClientCore::Create(const ClientOptions& options, const ClientHost& host,
                        const ModelAnswer& model, bool is_start, Made made) {
  struct Joining {
    ClientOptions options;
    ClientHost host;
    ModelAnswer model;
    Membership membership;
    Made made;
  };
  auto joining = std::make_shared<Joining>(
      Joining{options, host, model, {.owner = host.state->AddOwner()}, std::move(made)});
  const bool went_back = host.state->ClockOver(*host.wall).went_back();
  host.state->Enqueue(
      [joining, went_back, live = host.state->live_owners()](Transaction& transaction) {
        const PublicSpec& spec = joining->model.spec;
        Join(transaction, spec, EventsMax(spec, joining->options.policy), went_back, live,
             joining->membership);
        return absl::OkStatus();
      },
      [joining, is_start](const absl::Status& joined) {
        auto client = joined.ok() ? Assemble(joining->options, joining->host, joining->model,
                                             joining->membership)
                                  : joined;
        if (!client.ok()) {
          joining->host.state->RemoveOwner(joining->membership.owner);
          return joining->made(client.status());
        }
        const auto held = std::make_shared<std::unique_ptr<ClientCore>>(*std::move(client));
        (*held)->ranker_->Start([joining, held, is_start](const absl::Status& started) {
          if (!started.ok()) {
            held->reset();
            return joining->made(started);
          }
          ClientCore& core = **held;
          core.base_->counters.reports_rejected += joining->membership.rejected;
          core.reporter_.Start(joining->membership.adopted, joining->membership.waiting,
                               std::move(joining->membership.activations));
          if (is_start && core.starts_ != nullptr) core.starts_->Begin(/*has_model=*/true);
          joining->made(std::move(*held));
        });
      });
}

absl::StatusOr<std::unique_ptr<ClientCore>> ClientCore::Assemble(const ClientOptions& options,
                                                                 const ClientHost& host,
                                                                 const ModelAnswer& model,
                                                                 Membership& membership) {
  auto base = std::make_unique<Base>(options, host, model, std::move(membership.answers));
  BANDANA_ASSIGN_OR_RETURN(
      auto mechanism,
      MakeEventMechanism(model.spec, {.policy = membership.policy,
                                      .owner = membership.owner,
                                      .events_max = EventsMax(model.spec, options.policy),
                                      .bits = host.bits,
                                      .epoch = &base->model}));
  base->mechanism =
      host.wrap_mechanism ? host.wrap_mechanism(std::move(mechanism)) : std::move(mechanism);
  return std::unique_ptr<ClientCore>(
      new ClientCore(options, host, model.spec, membership, std::move(base)));
}

ClientCore::Base::Base(const ClientOptions& options, const ClientHost& host,
                       const ModelAnswer& agreed, std::map<std::string, std::string> answers)
    : kept(AtStart(options)
               ? std::make_unique<KeptAnswers>(host.state, agreed.spec.name, std::move(answers))
               : nullptr),
      pending(options.queue_reports_max, &counters),
      model({.spec = agreed.spec,
             .policy = options.policy,
             .deadline = AtStart(options) ? options.connect_timeout : options.select_deadline,
             .wait_for_server = AtStart(options),
             .epoch = agreed.epoch,
             .kept = kept.get()},
            host.calls, &pending) {}

ClientCore::ClientCore(const ClientOptions& options, const ClientHost& host, const PublicSpec& spec,
                       const Membership& membership, std::unique_ptr<Base> base)
    : options_(options),
      host_(host),
      spec_(spec),
      info_(ToModelInfo(spec)),
      events_max_(EventsMax(spec, options.policy)),
      policy_(membership.policy),
      owner_(membership.owner),
      base_(std::move(base)),
      clock_(host.state->ClockOver(*host.wall)),
      outbox_(OutboxOptions(spec, options, base_->mechanism->traits().form),
              {.journal = host_.state,
               .calls = host_.calls,
               .timers = host_.timers,
               .counters = &base_->counters,
               .clock = &clock_,
               .pending = &base_->pending,
               .model = &base_->model}),
      stream_outbox_(StreamOutboxOptions(spec, options), {.journal = host_.state,
                                                          .calls = host_.calls,
                                                          .timers = host_.timers,
                                                          .counters = &base_->counters,
                                                          .pending = &base_->pending,
                                                          .model = &base_->model}),
      activations_({.model = spec.name,
                    .policy_hash = PolicyHashOf(spec),
                    .owner = owner_,
                    .deadline = options.report_deadline,
                    .backoff = BackoffOf(options),
                    .in_flight_max = options.deliveries_in_flight_max,
                    .waiting_max = options.queue_reports_max},
                   {.journal = host_.state,
                    .calls = host_.calls,
                    .timers = host_.timers,
                    .pending = &base_->pending,
                    .model = &base_->model,
                    .outbox = &outbox_}),
      timer_({.owner = owner_,
              .policy = policy_,
              .deliverable = membership.deliverable,
              .remember = RememberedFor(spec),
              .recheck = host_.recheck,
              .at_start = AtStart(options)},
             {.journal = host_.state,
              .timers = host_.timers,
              .clock = &clock_,
              .counters = &base_->counters,
              .mechanism = base_->mechanism.get(),
              .epoch = &base_->model,
              .pending = &base_->pending,
              .activations = &activations_,
              .stream_outbox = &stream_outbox_}),
      reporter_({.policy = policy_,
                 .owner = owner_,
                 .dimension = spec.dimension,
                 .range = spec.reward_range,
                 .window = WindowHere(spec),
                 .remember = RememberedFor(spec),
                 .token_lifetime = spec.token_lifetime,
                 .activated_within = ActivatedWithin(spec),
                 .when_full = options.when_full,
                 .queue_reports_max = options.queue_reports_max,
                 .at_start = AtStart(options)},
                {.journal = host_.state,
                 .clock = &clock_,
                 .counters = &base_->counters,
                 .mechanism = base_->mechanism.get(),
                 .epoch = &base_->model,
                 .pending = &base_->pending,
                 .activations = &activations_,
                 .stream_outbox = &stream_outbox_,
                 .timer = &timer_,
                 .on_reaction = host_.on_reaction}),
      ranker_(
          Ranker::Make(RankerOptions(spec, options, base_->mechanism->traits(), base_->kept.get()),
                       host_.calls, host_.timers)),
      starts_(AtStart(options)
                  ? std::make_unique<Starts>(
                        Starts::Options{.owner = owner_, .token_lifetime = spec.token_lifetime},
                        Starts::Services{.journal = host_.state,
                                         .gate = &host_.state->gate(),
                                         .clock = &clock_,
                                         .counters = &base_->counters,
                                         .pending = &base_->pending,
                                         .model = &base_->model,
                                         .outbox = &outbox_,
                                         .stream_outbox = &stream_outbox_,
                                         .timer = &timer_,
                                         .fetch =
                                             [this](Callback<void()> done) {
                                               ranker_->FetchAtStart(std::move(done));
                                             }})
                  : nullptr) {}

ClientCore::~ClientCore() {
  if (starts_ != nullptr) starts_->Abandon();
  host_.state->RemoveOwner(owner_);
}

void ClientCore::Close() {
  ranker_->Close();
  outbox_.Close();
  stream_outbox_.Close();
  activations_.Close();
  timer_.Close();
  base_->pending.Close();
  host_.state->gate().Release(owner_);
}

void ClientCore::Begin() {
  if (starts_ != nullptr) starts_->Begin(/*has_model=*/false);
}

void ClientCore::Flush(Callback<void()> flushed) {
  auto told = [this, flushed = std::move(flushed)] { host_.tell(flushed); };
  starts_ == nullptr ? reporter_.Flush(std::move(told)) : starts_->WhenEnded(std::move(told));
}

absl::StatusOr<Handle> ClientCore::CheckHandle(const Selection& selection,
                                               std::optional<int> shown) const {
  BANDANA_ASSIGN_OR_RETURN(Handle handle, DecodeHandle(selection.handle));
  if (handle.identity != host_.state->identity()) {
    return InvalidArgument("selection was made with another device store");
  }
  if (handle.policy != policy_) {
    return InvalidArgument("selection is not one of model ", spec_.name,
                           " under the configuration in force");
  }
  const bool in_store = reporter_.has_window() && !handle.deferral;
  const bool needed = ranker_->HandleHasFeatures(handle, in_store);
  if ((needed || !handle.features.empty()) &&
      !ArePackedArms(handle.features, handle.ranks, static_cast<std::size_t>(spec_.dimension))) {
    return InvalidArgument("selection.handle was not made by this SDK, or was changed");
  }
  if (!handle.windows.empty() && !WindowOf(handle.windows, handle.ranks - 1)) {
    return InvalidArgument("selection.handle was not made by this SDK, or was changed");
  }
  if (!shown) return handle;
  if (*shown < 0 || *shown >= handle.ranks) {
    return InvalidArgument("shown must be in [0, ", handle.ranks, "), got ", *shown);
  }
  // The rank is sent in clear: one that is named with the reaction would tell of it.
  if (handle.ranks > kSealedRanksMax && *shown != handle.shown) {
    return InvalidArgument("shown must be ", handle.shown,
                           ", the rank that Select named: of more than ", kSealedRanksMax,
                           " ranks the token has that one alone, got ", *shown);
  }
  if (reporter_.has_window() && *shown != handle.shown) {
    return InvalidArgument("shown must be ", handle.shown,
                           ", the rank that Select named: the model has a reward window, got ",
                           *shown);
  }
  handle.shown = *shown;
  return handle;
}

void ClientCore::Report(const Selection& selection, std::optional<double> reward,
                        std::optional<int> shown, Callback<void(absl::Status)> queued,
                        Callback<void(Delivery)> done) {
  auto told = [this, queued = std::move(queued)](absl::Status status) {
    host_.tell([queued, status = std::move(status)] { queued(status); });
  };
  auto handle = CheckHandle(selection, shown);
  if (!handle.ok()) return told(handle.status());
  PendingReports::Done delivered;
  if (done) {
    delivered = [this, done = std::move(done)](Delivery delivery) {
      host_.tell([done, delivery] { done(delivery); });
    };
  }
  reporter_.Report(*std::move(handle), reward, std::move(told), std::move(delivered));
}

ClientStats ClientCore::Stats() const {
  const Counters& counters = base_->counters;
  return {.selections = counters.selections,
          .reports_queued = counters.reports_queued,
          .reports_defaulted = counters.reports_defaulted,
          .reports_applied = counters.reports_applied,
          .reports_duplicate = counters.reports_duplicate,
          .reports_expired = counters.reports_expired,
          .reports_overtaken = counters.reports_overtaken,
          .reports_rejected = counters.reports_rejected,
          .reports_dropped = counters.reports_dropped,
          .reports_pending = static_cast<std::uint64_t>(base_->pending.slots().used()),
          .delivery_attempts = counters.delivery_attempts,
          .rewards_clipped = counters.rewards_clipped,
          .streams_ended = counters.streams_ended,
          .values_encoded = counters.values_encoded,
          .values_missing = counters.values_missing,
          .values_unknown = counters.values_unknown,
          .values_out_of_bounds = counters.values_out_of_bounds};
}

template <typename Found>
void ClientCore::Look(Callback<absl::StatusOr<Found>(Transaction&)> look,
                      Callback<void(absl::StatusOr<Found>)> done) {
  auto found = std::make_shared<absl::StatusOr<Found>>(Found());
  host_.state->Enqueue(
      [found, look = std::move(look)](Transaction& transaction) {
        *found = look(transaction);
        return found->status();
      },
      [this, found, done = std::move(done)](const absl::Status& status) {
        host_.tell([found, status, done] { status.ok() ? done(*std::move(found)) : done(status); });
      });
}

void ClientCore::Spent(std::string_view user, Callback<void(absl::StatusOr<PrivacySpent>)> done) {
  Look<PrivacySpent>(
      [this, user = std::string(user)](Transaction& transaction) {
        return SpentBy(transaction, spec_.name, user);
      },
      std::move(done));
}

void ClientCore::Readings(std::string_view user, double delta,
                          Callback<void(absl::StatusOr<LedgerReadings>)> done) {
  Look<LedgerReadings>(
      [this, user = std::string(user), delta](Transaction& transaction) {
        return ReadingsOf(transaction, spec_.name, user, delta);
      },
      std::move(done));
}

void ClientCore::Streams(std::string_view user,
                         Callback<void(absl::StatusOr<std::vector<StreamInfo>>)> done) {
  Look<std::vector<StreamInfo>>(
      [this, user = std::string(user)](Transaction& transaction) {
        return StreamsOf(transaction, spec_.name, user);
      },
      std::move(done));
}

}  // namespace bandana::device
