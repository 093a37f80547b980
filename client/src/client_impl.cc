#include "client/src/client_impl.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "client/core/features.h"
#include "client/src/base/once.h"
#include "client/src/privacy/mechanisms.h"
#include "client/src/privacy/policy.h"
#include "client/src/store/spent.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"

namespace bandana::device {
namespace {

// A drawn decision is remembered longer than any server would still take a report of it.
constexpr absl::Duration kClockSkew = absl::Hours(1);

bool AtStart(const ClientOptions& options) {
  return options.leave == ClientOptions::Leave::kAtStart;
}

BackoffOptions BackoffOf(const ClientOptions& options) {
  return {options.backoff_min, options.backoff_max};
}

absl::Duration RememberedFor(const PublicSpec& spec) { return spec.token_lifetime + kClockSkew; }

Outbox::Options OutboxOptions(const PublicSpec& spec, const ClientOptions& options,
                              const ReportMessage& form) {
  return {.model = spec.name,
          .form = &form,
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
                              const EventTraits& traits, std::shared_ptr<KeptAnswers> kept) {
  return {.spec = spec,
          .deadline = options.select_deadline,
          .posterior_interval = options.posterior_interval,
          .arm_effects_tag = options.arm_effects_tag,
          .backoff = BackoffOf(options),
          .traits = traits,
          .kept = std::move(kept)};
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
  info.mechanism = absl::AsciiStrToLower(spec.made->name());
  info.events_per_user_max = spec.events_per_user_max;
  if (spec.reward_window) info.reward_window = spec.reward_window->duration;
  info.default_reward = spec.default_reward();
  info.token_lifetime = spec.token_lifetime;
  return info;
}

absl::StatusOr<ClientImpl::Membership> ClientImpl::Join(Store& store, const PublicSpec& spec,
                                                        std::uint64_t events_max, bool went_back) {
  Membership membership;
  membership.owner = store.AddOwner();
  const auto live = store.live_owners();
  const bool local = spec.made->drawn_on_device();
  const absl::Status status = store.Run([&](Transaction& transaction) {
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
    if (went_back) tables.reports().TakeForOld(membership.owner);
    AdoptStreams(transaction, live, membership, policies);
    transaction.ledger.MarkExhausted(tables, spec.name, events_max);
    return absl::OkStatus();
  });
  if (!status.ok()) {
    store.RemoveOwner(membership.owner);
    return status;
  }
  return membership;
}

// Streams of other configurations end: their counter is not this client's, and the server would
// refuse their reports.
void ClientImpl::AdoptStreams(Transaction& transaction, const std::set<OwnerId>& live,
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

absl::StatusOr<std::unique_ptr<Client>> ClientImpl::Create(
    const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
    const PublicSpec& spec, std::uint64_t epoch, std::unique_ptr<Transport> transport,
    bool is_start) {
  const std::uint64_t events_max = EventsMax(spec, options.policy);
  auto base = std::make_unique<Base>(options, store, spec, epoch, std::move(transport));
  const bool went_back = store->ClockOver(*seams.clock).went_back();
  BANDANA_ASSIGN_OR_RETURN(const Membership membership, Join(*store, spec, events_max, went_back));
  auto mechanism = MakeEventMechanism(spec, {.policy = membership.policy,
                                             .owner = membership.owner,
                                             .events_max = events_max,
                                             .bits = seams.bits,
                                             .epoch = &base->model});
  if (!mechanism.ok()) {
    store->RemoveOwner(membership.owner);
    return mechanism.status();
  }
  base->mechanism =
      seams.wrap_mechanism ? seams.wrap_mechanism(*std::move(mechanism)) : *std::move(mechanism);
  std::unique_ptr<ClientImpl> client(
      new ClientImpl(options, std::move(store), seams, spec, membership, std::move(base)));
  BANDANA_RETURN_IF_ERROR(client->ranker_->Start());
  client->base_->counters.reports_rejected += membership.rejected;
  client->reporter_.Start(membership.adopted, membership.waiting);
  if (is_start && client->starts_ != nullptr) client->starts_->Begin(/*has_model=*/true);
  return client;
}

ClientImpl::Base::Base(const ClientOptions& options, const std::shared_ptr<Store>& store,
                       const PublicSpec& spec, std::uint64_t epoch,
                       std::unique_ptr<Transport> connected)
    : kept(AtStart(options)
               ? std::make_shared<KeptAnswers>(store, spec.name, store->KeptOf(spec.name))
               : nullptr),
      transport(std::move(connected)),
      pending(options.queue_reports_max, &counters),
      model({.spec = spec,
             .policy = options.policy,
             .deadline = AtStart(options) ? options.connect_timeout : options.select_deadline,
             .wait_for_server = AtStart(options),
             .epoch = epoch,
             .kept = kept},
            transport.get(), &pending) {}

ClientImpl::ClientImpl(const ClientOptions& options, std::shared_ptr<Store> store,
                       const Seams& seams, const PublicSpec& spec, const Membership& membership,
                       std::unique_ptr<Base> base)
    : options_(options),
      store_(std::move(store)),
      spec_(spec),
      info_(ToModelInfo(spec)),
      events_max_(EventsMax(spec, options.policy)),
      policy_(membership.policy),
      owner_(membership.owner),
      base_(std::move(base)),
      scheduler_(seams.make_scheduler()),
      clock_(store_->ClockOver(*seams.clock)),
      outbox_(OutboxOptions(spec, options, *base_->mechanism->traits().form),
              {.journal = store_,
               .transport = base_->transport.get(),
               .scheduler = scheduler_.get(),
               .counters = &base_->counters,
               .clock = &clock_,
               .pending = &base_->pending,
               .model = &base_->model}),
      stream_outbox_(StreamOutboxOptions(spec, options), {.journal = store_,
                                                          .transport = base_->transport.get(),
                                                          .scheduler = scheduler_.get(),
                                                          .counters = &base_->counters,
                                                          .pending = &base_->pending,
                                                          .model = &base_->model}),
      timer_({.owner = owner_,
              .policy = policy_,
              .deliverable = membership.deliverable,
              .remember = RememberedFor(spec),
              .recheck = seams.recheck,
              .at_start = AtStart(options)},
             {.journal = store_,
              .scheduler = scheduler_.get(),
              .clock = &clock_,
              .counters = &base_->counters,
              .mechanism = base_->mechanism.get(),
              .pending = &base_->pending,
              .outbox = &outbox_,
              .stream_outbox = &stream_outbox_}),
      reporter_({.policy = policy_,
                 .owner = owner_,
                 .dimension = spec.dimension,
                 .range = spec.reward_range,
                 .window = WindowHere(spec),
                 .remember = RememberedFor(spec),
                 .token_lifetime = spec.token_lifetime,
                 .when_full = options.when_full,
                 .queue_reports_max = options.queue_reports_max,
                 .at_start = AtStart(options)},
                {.journal = store_,
                 .clock = &clock_,
                 .counters = &base_->counters,
                 .mechanism = base_->mechanism.get(),
                 .epoch = &base_->model,
                 .pending = &base_->pending,
                 .outbox = &outbox_,
                 .stream_outbox = &stream_outbox_,
                 .timer = &timer_,
                 .on_reaction = seams.on_reaction}),
      ranker_(Ranker::Make(RankerOptions(spec, options, base_->mechanism->traits(), base_->kept),
                           base_->transport.get(), scheduler_.get())),
      starts_(AtStart(options)
                  ? std::make_unique<Starts>(
                        Starts::Options{.owner = owner_, .token_lifetime = spec.token_lifetime},
                        Starts::Services{.journal = store_,
                                         .gate = &store_->gate(),
                                         .clock = &clock_,
                                         .counters = &base_->counters,
                                         .pending = &base_->pending,
                                         .model = &base_->model,
                                         .outbox = &outbox_,
                                         .stream_outbox = &stream_outbox_,
                                         .timer = &timer_,
                                         .fetch =
                                             [this](std::function<void()> done) {
                                               ranker_->FetchAtStart(std::move(done));
                                             }})
                  : nullptr) {}

ClientImpl::~ClientImpl() {
  ranker_->Close();
  outbox_.Close();
  stream_outbox_.Close();
  timer_.Close();
  base_->pending.Close();
  base_->transport->Shutdown();
  scheduler_->Stop();
  // The store works in order: after the first wait everything enqueued so far has called back, and
  // after the second what those callbacks enqueued. A start has three such turns.
  for (int i = 0; i < 4; ++i) {
    store_->Run([](Transaction&) { return absl::OkStatus(); }).IgnoreError();
  }
  if (starts_ != nullptr) starts_->Abandon();
  store_->RemoveOwner(owner_);
}

absl::StatusOr<Handle> ClientImpl::CheckHandle(const Selection& selection,
                                               std::optional<int> shown) const {
  BANDANA_ASSIGN_OR_RETURN(Handle handle, DecodeHandle(selection.handle));
  if (handle.identity != store_->identity()) {
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
  if (reporter_.has_window() && *shown != handle.shown) {
    return InvalidArgument("shown must be ", handle.shown,
                           ", the rank that Select named: the model has a reward window, got ",
                           *shown);
  }
  handle.shown = *shown;
  return handle;
}

absl::Status ClientImpl::Report(const Selection& selection, std::optional<double> reward,
                                std::optional<int> shown, std::function<void(Delivery)> done) {
  Once<absl::Status> queued;
  ReportAsync(
      selection, reward, shown, [&queued](absl::Status status) { queued.Set(std::move(status)); },
      std::move(done));
  return queued.Get();
}

void ClientImpl::ReportAsync(const Selection& selection, std::optional<double> reward,
                             std::optional<int> shown, std::function<void(absl::Status)> queued,
                             std::function<void(Delivery)> done) {
  auto handle = CheckHandle(selection, shown);
  if (!handle.ok()) return queued(handle.status());
  reporter_.Report(*std::move(handle), reward, std::move(queued), std::move(done));
}

ClientStats ClientImpl::Stats() const {
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

absl::StatusOr<PrivacySpent> ClientImpl::Spent(std::string_view user) const {
  PrivacySpent spent;
  BANDANA_RETURN_IF_ERROR(store_->Run([&, name = std::string(user)](Transaction& t) {
    spent = SpentBy(t, spec_.name, name);
    return absl::OkStatus();
  }));
  return spent;
}

absl::StatusOr<LedgerReadings> ClientImpl::Readings(std::string_view user, double delta) const {
  LedgerReadings readings;
  BANDANA_RETURN_IF_ERROR(
      store_->Run([&, name = std::string(user)](Transaction& t) -> absl::Status {
        BANDANA_ASSIGN_OR_RETURN(readings, ReadingsOf(t, spec_.name, name, delta));
        return absl::OkStatus();
      }));
  return readings;
}

absl::StatusOr<std::vector<StreamInfo>> ClientImpl::Streams(std::string_view user) const {
  std::vector<StreamInfo> streams;
  BANDANA_RETURN_IF_ERROR(store_->Run([&, name = std::string(user)](Transaction& t) {
    streams = StreamsOf(t, spec_.name, name);
    return absl::OkStatus();
  }));
  return streams;
}

}  // namespace bandana::device
