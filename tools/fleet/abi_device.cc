#include "tools/fleet/abi_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "examples/c/host.h"
#include "tools/fleet/mailbox.h"

namespace bandana {
namespace {

constexpr std::uint64_t kConnectTag = 2;  // host_open has used 1
constexpr auto kPauseMax = std::chrono::minutes(1);

bandana_bytes BytesOf(std::string_view text) { return {text.data(), text.size()}; }
std::string TextOf(const bandana_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

absl::Status StatusOf(int code, const std::string& message) {
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}
absl::Status StatusOf(const bandana_result& result) {
  return StatusOf(result.code, TextOf(result.message));
}
// The code that a function returned, and why.
absl::Status StatusOf(int code) {
  return StatusOf(code, code == BANDANA_OK ? "" : bandana_error());
}

Delivery DeliveryOf(int value) {
  constexpr std::array kDeliveries = {Delivery::kApplied, Delivery::kDuplicate, Delivery::kExpired,
                                      Delivery::kRejected, Delivery::kDropped};
  static_assert(BANDANA_APPLIED == 0 && BANDANA_DROPPED == kDeliveries.size() - 1);
  return kDeliveries.at(static_cast<std::size_t>(value));
}

absl::StatusOr<Selection> SelectionOf(const bandana_result& result) {
  if (result.code != BANDANA_OK) return StatusOf(result);
  if (result.selections_count != 1) return absl::InternalError("not one selection");
  const bandana_selection& told = *result.selections;
  Selection selection{.posterior_version = told.posterior_version, .handle = TextOf(told.handle)};
  for (std::size_t i = 0; i < told.arms_count; ++i) {
    const bandana_ranked_arm& arm = told.arms[i];
    selection.arms.push_back({.position = arm.position,
                              .arm_id = arm.arm_id,
                              .score = arm.score,
                              .mean = arm.mean,
                              .width = arm.width,
                              .propensity = arm.propensity,
                              .name = TextOf(arm.name)});
  }
  selection.point.assign(told.point, told.point + told.point_count);
  for (std::size_t i = 0; i < told.notes_count; ++i) {
    selection.notes.push_back(TextOf(told.notes[i]));
  }
  return selection;
}

ModelInfo ModelOf(const bandana_model_info& told) {
  ModelInfo model{.name = TextOf(told.name),
                  .dimension = told.dimension,
                  .feature_l2_max = told.feature_l2_max,
                  .reward_min = told.reward_min,
                  .reward_max = told.reward_max,
                  .reward_binary = told.reward_binary != 0,
                  .local = told.local != 0,
                  .local_context = told.local_context != 0,
                  .link = TextOf(told.link),
                  .epsilon = told.epsilon,
                  .delta = told.delta,
                  .guarantee = TextOf(told.guarantee),
                  .mechanism = TextOf(told.mechanism),
                  .events_per_user_max = told.events_per_user_max,
                  .default_reward = told.default_reward,
                  .token_lifetime = absl::Milliseconds(told.token_lifetime_ms)};
  if (told.reward_window_ms >= 0) model.reward_window = absl::Milliseconds(told.reward_window_ms);
  return model;
}

ClientStats StatsOf(const bandana_stats& told) {
  return {.selections = told.selections,
          .reports_queued = told.reports_queued,
          .reports_defaulted = told.reports_defaulted,
          .reports_applied = told.reports_applied,
          .reports_duplicate = told.reports_duplicate,
          .reports_expired = told.reports_expired,
          .reports_overtaken = told.reports_overtaken,
          .reports_rejected = told.reports_rejected,
          .reports_dropped = told.reports_dropped,
          .reports_pending = told.reports_pending,
          .delivery_attempts = told.delivery_attempts,
          .rewards_clipped = told.rewards_clipped,
          .streams_ended = told.streams_ended,
          .values_encoded = told.values_encoded,
          .values_missing = told.values_missing,
          .values_unknown = told.values_unknown,
          .values_out_of_bounds = told.values_out_of_bounds};
}

PrivacySpent SpentOf(const bandana_spent& told) {
  return {.epsilon_event = told.epsilon_event,
          .delta_event = told.delta_event,
          .events = told.events,
          .streams = told.streams,
          .epsilon_user = told.epsilon_user};
}

struct CloseHost {
  void operator()(host* open) const { host_close(open); }
};
using HostPointer = std::unique_ptr<host, CloseHost>;

// The thread alone enters the host; the methods send it what it shall do.
class AbiDevice : public FleetDevice {
 public:
  AbiDevice(HostPointer host, bandana_client client, ModelInfo model)
      : host_(std::move(host)),
        device_(host_device(host_.get())),
        client_(client),
        model_(std::move(model)) {
    host_listen(
        host_.get(),
        [](void* self, const bandana_result* result) {
          static_cast<AbiDevice*>(self)->Told(*result);
        },
        this);
    thread_ = std::thread([this] { Work(); });
  }
  ~AbiDevice() override {
    tasks_.Send([this] { ended_ = true; });
    thread_.join();
  }

  const ModelInfo& model() const override { return model_; }

  void Select(const std::string& user, const Arms& arms,
              std::function<void(absl::StatusOr<Selection>)> done) override {
    const std::vector<double> features(arms.features.begin(), arms.features.end());
    const std::vector<std::uint32_t> ids(arms.ids.begin(), arms.ids.end());
    const bool by_id = arms.form == Arms::Form::kCatalogue;
    tasks_.Send([this, user, features, ids, by_id, done = std::move(done)]() mutable {
      const bandana_arms given{.size = sizeof given,
                               .form = by_id ? BANDANA_CATALOGUE : BANDANA_INLINE,
                               .features = features.data(),
                               .features_count = features.size(),
                               .ids = ids.data(),
                               .ids_count = ids.size()};
      Ask({.size = sizeof(bandana_request),
           .by = BANDANA_SELECT,
           .top_k = 1,
           .user = BytesOf(user),
           .arms = &given},
          std::move(done));
    });
  }

  void SelectPoint(const std::string& user,
                   std::function<void(absl::StatusOr<Selection>)> done) override {
    tasks_.Send([this, user, done = std::move(done)]() mutable {
      Ask({.size = sizeof(bandana_request),
           .by = BANDANA_SELECT_POINT,
           .top_k = 1,
           .user = BytesOf(user)},
          std::move(done));
    });
  }

  void Report(const Selection& selection, double reward, std::function<void(absl::Status)> queued,
              std::function<void(Delivery)> done) override {
    tasks_.Send([this, handle = selection.handle, reward, queued = std::move(queued),
                 done = std::move(done)]() mutable {
      const bandana_report_of report{.size = sizeof report,
                                     .handle = BytesOf(handle),
                                     .reward = reward,
                                     .has_shown = 1,
                                     .shown = 0};
      const std::uint64_t tag = ++tag_;
      waiting_[tag] = {.queued = std::move(queued), .delivered = std::move(done)};
      const int code = bandana_report(device_, client_, &report, tag);
      if (code != BANDANA_OK) waiting_.extract(tag).mapped().queued(StatusOf(code));
    });
  }

  ClientStats Stats() override {
    return OnThread<ClientStats>([this](std::promise<ClientStats> promise) {
      bandana_stats stats{.size = sizeof stats};
      bandana_get_stats(device_, client_, &stats);
      promise.set_value(StatsOf(stats));
    });
  }

  absl::StatusOr<PrivacySpent> Spent(const std::string& user) override {
    using Answer = absl::StatusOr<PrivacySpent>;
    return OnThread<Answer>([this, &user](std::promise<Answer> promise) {
      const bandana_bytes name = BytesOf(user);
      const std::uint64_t tag = ++tag_;
      auto shared = std::make_shared<std::promise<Answer>>(std::move(promise));
      waiting_[tag] = {.spent = [shared](Answer spent) { shared->set_value(std::move(spent)); }};
      const int code = bandana_read_spent(device_, client_, &name, tag);
      if (code != BANDANA_OK) waiting_.extract(tag).mapped().spent(StatusOf(code));
    });
  }

 private:
  // Who is told of a tag.
  struct Waiting {
    std::function<void(absl::StatusOr<Selection>)> selected;
    std::function<void(absl::Status)> queued;
    std::function<void(Delivery)> delivered;
    std::function<void(absl::StatusOr<PrivacySpent>)> spent;
  };

  void Work() {
    while (!ended_) {
      const double alarm = host_wake(host_.get());
      const std::chrono::duration<double> pause(alarm < 0 ? 1e9 : alarm);
      const auto until = std::chrono::steady_clock::now() +
                         (pause < kPauseMax ? std::chrono::ceil<std::chrono::nanoseconds>(pause)
                                            : std::chrono::nanoseconds(kPauseMax));
      for (const std::function<void()>& task : tasks_.Receive(until)) task();
    }
  }

  void Ask(const bandana_request& request, std::function<void(absl::StatusOr<Selection>)> done) {
    const std::uint64_t tag = ++tag_;
    waiting_[tag] = {.selected = std::move(done)};
    const int code = bandana_select(device_, client_, &request, tag);
    if (code != BANDANA_OK) waiting_.extract(tag).mapped().selected(StatusOf(code));
  }

  void Told(const bandana_result& result) {
    const auto found = waiting_.find(result.tag);
    if (found == waiting_.end()) return;
    if (result.kind == BANDANA_QUEUED) {
      // Its delivery is told later, unless it was refused.
      found->second.queued(StatusOf(result));
      if (result.code != BANDANA_OK) waiting_.erase(found);
      return;
    }
    const Waiting waiting = std::move(waiting_.extract(found).mapped());
    if (result.kind == BANDANA_SELECTED) waiting.selected(SelectionOf(result));
    if (result.kind == BANDANA_DELIVERED) waiting.delivered(DeliveryOf(result.value));
    if (result.kind == BANDANA_READ_SPENT) {
      if (result.code != BANDANA_OK) return waiting.spent(StatusOf(result));
      waiting.spent(SpentOf(*result.spent));
    }
  }

  // Runs `ask` on the thread, and waits until it has kept its promise.
  template <typename Value, typename Ask>
  Value OnThread(Ask ask) {
    auto promise = std::make_shared<std::promise<Value>>();
    std::future<Value> value = promise->get_future();
    tasks_.Send([&ask, promise] { ask(std::move(*promise)); });
    return value.get();
  }

  const HostPointer host_;
  const bandana_device device_;
  const bandana_client client_;
  const ModelInfo model_;
  Mailbox<std::function<void()>> tasks_;
  std::uint64_t tag_ = kConnectTag;
  std::map<std::uint64_t, Waiting> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

// Accepts any model, as PrivacyPolicy::AcceptAnything.
bandana_options OptionsOf(const FleetDeviceOptions& given) {
  const PrivacyPolicy policy = PrivacyPolicy::AcceptAnything();
  bandana_options options;
  bandana_options_init(&options);
  options.target = BytesOf(given.target);
  options.model = BytesOf(given.model);
  options.require_local = policy.require_local;
  options.require_proven = policy.require_proven;
  options.allow_research = policy.allow_research;
  options.epsilon_max = policy.epsilon_max;
  options.delta_max = policy.delta_max;
  options.posterior_interval_ms = 100;
  options.connect_timeout_ms = absl::ToInt64Milliseconds(given.connect_timeout);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectAbiDevice(const FleetDeviceOptions& options) {
  HostPointer host(host_open(options.store.c_str(), options.target.c_str()));
  if (host == nullptr) {
    return Unavailable(
        "the host of --device abi does not open; --target must be IPv4:PORT of the "
        "server's api_listen, got ",
        options.target);
  }
  const bandana_device device = host_device(host.get());
  const bandana_options asked = OptionsOf(options);
  BANDANA_RETURN_IF_ERROR(StatusOf(bandana_connect(device, &asked, kConnectTag)));
  const double patience = absl::ToDoubleSeconds(options.connect_timeout) + 5;
  const host_result* result = host_wait(host.get(), kConnectTag, BANDANA_CONNECTED, patience);
  if (result == nullptr) return Unavailable("no server within ", patience, " s");
  if (result->code != BANDANA_OK) return StatusOf(result->code, result->message);
  bandana_model_info model{.size = sizeof model};
  BANDANA_RETURN_IF_ERROR(StatusOf(bandana_get_model(device, result->client, &model)));
  return std::make_unique<AbiDevice>(std::move(host), result->client, ModelOf(model));
}

}  // namespace bandana
