// The SDK: it selects arms, and reports rewards so that the server learns no more than the policy
// of the model says. These headers show no gRPC, protobuf or Eigen type.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/features.h"
#include "bandana/options.h"
#include "bandana/rules.h"
#include "bandana/store.h"

namespace bandana {

// A model's public configuration, as checked against the PrivacyPolicy.
struct ModelInfo {
  std::string name;
  int dimension = 0;
  double feature_l2_max = 0;
  double reward_min = 0;
  double reward_max = 0;
  bool reward_binary = false;
  bool local = false;          // rewards are randomized, or counted with noise, on this device
  bool local_context = false;  // features as well, and this device chooses the arm
  std::string link;            // of the expected reward: "linear" or "logistic"
  double epsilon = 0;          // per event, so per slot; 0 when non-private
  double delta = 0;
  std::string guarantee;  // "proven", "published" or ""
  std::string mechanism;  // lower case, "" when non-private
  std::uint64_t events_per_user_max = 0;
  std::optional<absl::Duration> reward_window;
  double default_reward = 0;
  absl::Duration token_lifetime;
};

// Which arms of the model's catalogue are meant: with at least one of `tags_any` (empty: every
// arm), all of `tags_all` and none of `tags_none`, but never those that are excluded.
struct ArmQuery {
  std::vector<std::string> tags_any;
  std::vector<std::string> tags_all;
  std::vector<std::string> tags_none;
  std::vector<std::uint32_t> excluded_ids;
  std::vector<std::string> excluded_names;
};

// The arms of one decision. Views: what they point to must live until the call returns.
struct Arms {
  // The id of an inline arm that has none.
  static constexpr std::uint32_t kNoId = 0xffffffff;
  // n x d, row-major. `ids`: none, or one per arm, by which a model with effects of arms knows it.
  static Arms Inline(std::span<const double> features, std::span<const std::uint32_t> ids = {}) {
    return {features, ids, {}, Form::kInline};
  }
  // Ids in the model's catalogue.
  static Arms Catalogue(std::span<const std::uint32_t> ids) {
    return {{}, ids, {}, Form::kCatalogue};
  }
  // Every catalogue arm with at least one of the tags (no tags: every arm).
  static Arms Query(std::span<const std::string> tags_any) {
    return {{}, {}, tags_any, Form::kQuery};
  }
  static Arms Matching(const ArmQuery& query) {
    Arms arms{{}, {}, {}, Form::kQuery};
    arms.query = &query;
    return arms;
  }
  // Names in the model's catalogue.
  static Arms CatalogueNames(std::span<const std::string> names) {
    Arms arms{{}, {}, {}, Form::kCatalogue};
    arms.names = names;
    return arms;
  }
  // Arms in the words of the model's schema of named features; ids differ. A device that ranks, or
  // counts, encodes them itself; else they go to the server as they are.
  static Arms Named(std::span<const NamedArm> named) {
    Arms arms{{}, {}, {}, Form::kNamed};
    arms.named = named;
    return arms;
  }
  // Those arms in a context: values of the schema's context fields. Not for inline arms.
  Arms In(const Features& values) const {
    Arms arms = *this;
    arms.context = &values;
    return arms;
  }
  Arms In(Features&&) const = delete;  // it must live until the call returns
  // Those arms, of the catalogue, by these rules.
  Arms By(const SelectionRules& selection_rules) const {
    Arms arms = *this;
    arms.rules = &selection_rules;
    return arms;
  }
  Arms By(SelectionRules&&) const = delete;  // they must live until the call returns

  enum class Form { kInline, kCatalogue, kQuery, kNamed };
  std::span<const double> features;
  std::span<const std::uint32_t> ids;
  std::span<const std::string> tags;
  Form form = Form::kInline;
  std::span<const std::string> names = {};
  std::span<const NamedArm> named = {};
  const ArmQuery* query = nullptr;
  const Features* context = nullptr;
  const SelectionRules* rules = nullptr;
};

// How many arms to rank, and which of them the application shows: the one whose reward counts.
struct Ranks {
  // Implicit, so that Select(user, arms, 5) ranks five.
  Ranks(int top_k = 1, int shown = 0) : top_k(top_k), shown(shown) {}  // NOLINT
  // [1, 100]; where the device ranks or counts [1, 16]. Of more than 16 ranks Report takes the
  // reward of `shown` alone.
  int top_k;
  int shown;  // 0 = best; below top_k, and below the number of arms
};

// In reward units. With the logistic link z = x . theta is normal a posteriori, with mean m and
// standard deviation s; mu(z) = 1 / (1 + e^-z); arms are ranked by m + alpha s.
struct RankedArm {
  int position = 0;          // in the Arms given; for a query, among the matching arms by id
  std::uint32_t arm_id = 0;  // catalogue id, 0 for inline arms
  double score = 0;          // mean + alpha width; logistic: mu(m + alpha s)
  double mean = 0;           // expected reward at the posterior mean; logistic: mu(m)
  double width = 0;          // posterior standard deviation; logistic: mu'(m) s, to first order
  double propensity = 0;
  std::string name;  // of a named arm its id, of a catalogue arm its name; else empty
};

// One selection. Keep it until its reward is reported. Copies mean the same decision.
struct Selection {
  std::vector<RankedArm> arms;  // best first; empty from SelectPoint
  std::uint64_t posterior_version = 0;
  std::string handle;         // opaque
  std::vector<double> point;  // from SelectPoint: d numbers, the action to take; else empty
  // Errors in named values, at most 16 lines: each counted as missing, or as the nearest bound. Of
  // this decision's caller alone: private contexts are not quoted.
  std::vector<std::string> notes;
};

// A decision that a backend asked the server for: v1.SelectResponse, and the facts of its request.
// It is a stranger's: nothing in it is believed that the device can check.
struct BackendAnswer {
  std::string user;  // of the request, as are model, policy_hash and shown
  std::string model;
  std::string policy_hash;  // 32 bytes: that of the model's configuration
  absl::Time decided;       // when the backend was answered, by its clock
  int shown = 0;            // rank that is shown, 0 = best
  std::vector<RankedArm> arms;
  std::string token;
  std::uint64_t posterior_version = 0;
  std::vector<double> reward_windows;  // CENTRED_RANDOMIZER: low and high end, per arm
};

// The outcome of one report.
enum class Delivery {
  kApplied,    // durable on the server
  kDuplicate,  // was already there (a repeat after a lost answer)
  kExpired,
  kRejected,
  kDropped,  // the queue was full and the options say drop
};

struct ClientStats {
  std::uint64_t selections = 0;         // each slot is one
  std::uint64_t reports_queued = 0;     // handed to Report, or defaulted when a window closed
  std::uint64_t reports_defaulted = 0;  // those of them that took the default reward
  std::uint64_t reports_applied = 0;
  std::uint64_t reports_duplicate = 0;
  std::uint64_t reports_expired = 0;
  // Those of them that no start could send within token_lifetime (ClientOptions::Leave::kAtStart):
  // each start found a window open, or none came. A shorter reward window ends that.
  std::uint64_t reports_overtaken = 0;
  std::uint64_t reports_rejected = 0;
  std::uint64_t reports_dropped = 0;
  std::uint64_t reports_pending = 0;  // in the queue now
  std::uint64_t delivery_attempts = 0;
  std::uint64_t rewards_clipped = 0;
  // Counter streams that an answer of the server ended before their last step (Client::Streams
  // says why). Their waiting reports count as rejected.
  std::uint64_t streams_ended = 0;
  // Named values that this device encoded itself. They never leave it.
  std::uint64_t values_encoded = 0;
  std::uint64_t values_missing = 0;        // fields without a value, or with a wrong one
  std::uint64_t values_unknown = 0;        // that the schema does not have
  std::uint64_t values_out_of_bounds = 0;  // counted as the nearest bound
};

// The device's ledger of one user of this model. It includes, for every user, the debits that an
// older copy of the store had forgotten (DeviceStore::rolled_back).
struct PrivacySpent {
  double epsilon_event = 0;  // of any one event: the largest (parallel composition)
  double delta_event = 0;
  std::uint64_t events = 0;   // debited, one per slot, unused rests of lost blocks included
  std::uint64_t streams = 0;  // counters: streams debited; an event lies in one of them
  // All of the user's events together, at delta_event: events * epsilon for the randomizer;
  // group privacy of the events in a counter.
  double epsilon_user = 0;
};

// The sum of all debits of one user of this model, as if they concerned one secret. It is an upper
// bound of the loss of an event, and what an auditor computes again from the ledger. Each reading
// that is present is a valid epsilon for the same debits.
struct LedgerReadings {
  std::optional<double> epsilon_pure;      // delta 0: every debit is pure
  std::optional<double> epsilon_gaussian;  // at `delta`, the exact curve: every debit is Gaussian
  std::optional<double> epsilon_zcdp;      // at `delta`, the tight conversion
  double delta = 0;
};

// One counter of one user.
struct StreamInfo {
  std::uint64_t epoch = 0;
  std::uint64_t steps = 0;         // events in it
  std::uint64_t acknowledged = 0;  // newest step that the server has
  // Why it takes no more steps; empty while it goes on. "exhausted", "forked" (the server has other
  // steps of it: a store was copied), "gap" (the server lost steps), "token", "refused", "epoch",
  // "policy" (the model changed), "rolled back" (DeviceStore::rolled_back).
  std::string ended;
};

// Threads: all methods are safe. Callbacks run on SDK threads, or on the caller's before the call
// returns; they must not block and must not call the blocking methods. Cost: Connect is a round
// trip and starts two threads. Make one client per model and process, and share it. Destruction
// stops delivery; what is queued stays in the store and leaves with the next client.
class Client {
 public:
  // Errors: INVALID_ARGUMENT options; NOT_FOUND model; FAILED_PRECONDITION the model is weaker than
  // options.policy (the message names the point), or is local and the store is not durable;
  // UNAVAILABLE no server within connect_timeout.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options,
                                                         std::shared_ptr<DeviceStore> store);
  virtual ~Client() = default;

  virtual const ModelInfo& model() const = 0;

  // Ranks arms on the server. Retries UNAVAILABLE, and RESOURCE_EXHAUSTED with a pushback, within
  // options.select_deadline. With a reward window (private models) the open decision is durable on
  // the device, and paid for, when it returns.
  //
  // Where contexts are private it ranks on the device, from the posterior that the client fetches
  // by the clock (ClientOptions::posterior_interval). Then arms must be inline or named, `user` is
  // for the ledger of the device, and nothing leaves. There and in mode JOINT a row with a feature
  // that is not finite counts as zeros, and a wrong named value as missing, so that no error tells
  // of a feature.
  //
  // Errors: INVALID_ARGUMENT shape, range, named values (a message names field and value), or
  // contexts are private and the arms are of the catalogue; NOT_FOUND; UNAVAILABLE;
  // DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED, also when the user has no events left, or with a window
  // no place is left in the queue; FAILED_PRECONDITION the configuration of the model changed since
  // Connect, or it has a counter and the arms are of the catalogue.
  virtual absl::StatusOr<Selection> Select(std::string_view user, const Arms& arms,
                                           Ranks ranks = {}) = 0;

  // As Select, without blocking.
  virtual void SelectAsync(std::string_view user, const Arms& arms, Ranks ranks,
                           std::function<void(absl::StatusOr<Selection>)> done) = 0;

  // As Select, of a decision that is not shown yet. It is nothing but the ranking until Activate:
  // no event, nothing paid, and nothing is kept of it but its handle, which then also holds the
  // features of the ranks where Select would have stored them. A decision that is never activated
  // is never reported. For models with a reward window; where the server closes it, it is asked to
  // wait for Activate. Errors also: FAILED_PRECONDITION the model has none.
  virtual absl::StatusOr<Selection> SelectDeferred(std::string_view user, const Arms& arms,
                                                   Ranks ranks = {}) = 0;
  // Makes a deferred decision an event: it is paid for, its window opens now, and when it is over
  // the decision is reported, reaction or not. Blocks until that is durable. Call it when the arm
  // is shown, before anybody can react: it is seen that a decision was activated, and when, so it
  // must never follow from a reaction. A repeat changes nothing, nor does a selection that is not
  // deferred. Where it fails the decision is no event: do not show it, or ask again. A server that
  // closes the windows is told by a call that is durable first, and repeated until it is answered;
  // the report waits for that.
  //
  // Errors: INVALID_ARGUMENT not a selection of this client's model and store; FAILED_PRECONDITION
  // the user's events are used up, the model has gone into another epoch or changed, or the
  // decision is so old that its report would come after token_lifetime or that the server would
  // not activate it; RESOURCE_EXHAUSTED no place in the queue; UNAVAILABLE the store failed.
  virtual absl::Status Activate(const Selection& selection) = 0;

  // A decision that a backend fetched becomes this device's, once: it counts from now on, as by
  // Activate. A token is never adopted twice by a store. Makes no call, and blocks until it is
  // durable. Call it when what shows the arm is loaded: that a decision was adopted, and when, is
  // seen, so it must never follow from a reaction. For local models with a reward window.
  //
  // Errors: those of Activate; INVALID_ARGUMENT, naming the field: the answer is of another user,
  // model or policy, or its ranks or windows are none; FAILED_PRECONDITION the token was adopted
  // before; decided more than an hour ahead of this device's time, or so long ago that the report
  // would come after token_lifetime; reports of the model need features; or the store was an older
  // copy of itself, and less than an hour lies between that and the decision.
  virtual absl::StatusOr<Selection> Adopt(std::string_view user, BackendAnswer answer) = 0;

  // `slots` arms that are shown at once, each with a reward of its own: as many selections of one
  // arm each, the best slot first, chosen by the server. Report takes each by itself.
  //
  // Each slot is an event, so the decision costs `slots` events of events_per_user_max. Their
  // number is fixed here: every slot is reported, the default where no reaction came, and all of
  // them at one time that no reaction moves. The loss of the whole decision is at most
  // slots * ModelInfo::epsilon and slots * ModelInfo::delta. In a counter it is that of a group of
  // `slots` events of one stream, slots^2 times the stream's rho. A single slot's reward is as
  // private as that of any event.
  //
  // All of it is paid for and durable when the call returns, or nothing: where the user has fewer
  // events left, nothing is sent or debited. Errors are those of Select; RESOURCE_EXHAUSTED also
  // when fewer than `slots` events, or places in the queue, are left; INVALID_ARGUMENT also: slots
  // not in [1, 16], more slots than arms, modes JOINT and LOCAL_CONTEXT, whose unit is the whole
  // decision; FAILED_PRECONDITION also: a private model without a reward window, where nothing
  // would report the slots that got no reaction.
  virtual absl::StatusOr<std::vector<Selection>> SelectSlots(std::string_view user,
                                                             const Arms& arms, int slots) = 0;
  // As SelectSlots, without blocking.
  virtual void SelectSlotsAsync(
      std::string_view user, const Arms& arms, int slots,
      std::function<void(absl::StatusOr<std::vector<Selection>>)> done) = 0;

  // The next action of a model of points (continuous actions): a point near the best one known,
  // drawn by the server. Report takes its reward like that of an arm. Deadline, retries and errors
  // are those of Select; also INVALID_ARGUMENT when the model ranks arms.
  virtual absl::StatusOr<Selection> SelectPoint(std::string_view user) = 0;
  // As SelectPoint, without blocking.
  virtual void SelectPointAsync(std::string_view user,
                                std::function<void(absl::StatusOr<Selection>)> done) = 0;

  // Ranks inline or named arms on the device with the posterior that RefreshPosterior fetched. No
  // call is made, and arms that were not chosen never leave the device. The token of the chosen arm
  // is fetched when the decision is reported. In models with effects of arms an arm with an id has
  // the effects that were fetched last of it, or those of an arm of which nothing is known; an arm
  // without id has none. Errors: FAILED_PRECONDITION no posterior yet, or a model with a counter;
  // INVALID_ARGUMENT arms not inline, shape.
  virtual absl::StatusOr<Selection> SelectOnDevice(std::string_view user, const Arms& arms,
                                                   Ranks ranks = {}) = 0;
  // Fetches the user's posterior if the server has a newer one. Returns whether it changed. The
  // first call also fetches the effects of arms, where the model has any; from then on the clock
  // does (ClientOptions::arm_effects_tag and posterior_interval). With Leave::kAtStart it waits
  // until the calls of a start have ended, as selections do. Errors: FAILED_PRECONDITION contexts
  // are private, so that only the clock fetches the posterior; or only the server can rank (arms
  // without features, points, effects of pairs or of the features of each arm).
  virtual absl::StatusOr<bool> RefreshPosterior(std::string_view user) = 0;

  // Takes the reaction to a decision. Missing (nullopt) and NaN mean the default reward.
  //
  // With a reward window (private models) the clipped reaction is held, sealed, until the report is
  // due. Then every decision is drawn and reported, reaction or not. A reaction changes nothing
  // else that anyone sees. Without a window it clips, debits the ledger, draws once, persists and
  // sends. A local model only ever sends the randomized value, or the noisy sum of the counter.
  //
  // Returns when the reaction, or the report, is durable on the device; delivery goes on in the
  // background. `done` (optional) runs once the server has answered, unless the client is destroyed
  // first or another client made the selection. `shown` is the rank of the arm that was shown, if
  // it is not the one that Select named; with a reward window it must be that one. A second report
  // of the same decision is ignored (OK, kDuplicate). So is one after the window has closed (OK,
  // kExpired).
  //
  // Errors: INVALID_ARGUMENT not a selection of this client's model and store, shown;
  // FAILED_PRECONDITION the user's events or the counter's steps are used up, the configuration of
  // the model changed since Connect, or the decision is deferred and was not activated, which
  // leaves nothing of the reaction; RESOURCE_EXHAUSTED queue full and when_full is kDrop
  // (counted); UNAVAILABLE store or entropy failed, and nothing was sent.
  virtual absl::Status Report(const Selection& selection, std::optional<double> reward,
                              std::optional<int> shown = std::nullopt,
                              std::function<void(Delivery)> done = nullptr) = 0;
  // As Report, without blocking: `queued` runs once the report is durable, or refused. While the
  // queue is full and when_full is kBlock, at most queue_reports_max calls wait for a place.
  // Further calls are dropped.
  virtual void ReportAsync(const Selection& selection, std::optional<double> reward,
                           std::optional<int> shown, std::function<void(absl::Status)> queued,
                           std::function<void(Delivery)> done) = 0;

  // The application comes to the front. With Leave::kAtStart this is a start, as Connect is: where
  // no window of the store is open, the model is asked for, what is due is drawn and sent, and
  // posteriors are fetched; selections wait until these calls have been answered or timed out.
  // Where a window is open nothing is sent. Returns at once. With Leave::kWhenDue it does nothing.
  virtual void Begin() = 0;

  // Waits until every queued report that is due has been answered. False after the timeout. With
  // Leave::kAtStart it waits for the start that is under way, and sends nothing.
  virtual bool Flush(absl::Duration timeout) = 0;

  virtual ClientStats Stats() const = 0;
  virtual absl::StatusOr<PrivacySpent> Spent(std::string_view user) const = 0;
  // delta in [0, 1). Errors: INVALID_ARGUMENT.
  virtual absl::StatusOr<LedgerReadings> Readings(std::string_view user, double delta) const = 0;
  // The user's counter streams on this device, oldest first; none without a counter.
  virtual absl::StatusOr<std::vector<StreamInfo>> Streams(std::string_view user) const = 0;
};

}  // namespace bandana
