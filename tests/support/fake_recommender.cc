#include "tests/support/fake_recommender.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <set>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/design/wire_messages.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace

PublicSpec LocalSpec() {
  PublicSpec spec;
  spec.name = "fake";
  spec.dimension = 2;
  spec.feature_l2_max = 1;
  spec.reward_range = {0, 1};
  spec.mode = Mode::kLocalReward;
  spec.mechanism = MechanismId::kRewardRandomizer;
  spec.epsilon = {1.0};
  spec.unit_of_privacy = "event";
  spec.guarantee = "proven";
  spec.one_per_decision = true;
  spec.token_lifetime = absl::Hours(24);
  return spec;
}

PublicSpec WindowSpec(absl::Duration window, double default_reward) {
  PublicSpec spec = LocalSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{window, default_reward};
  return spec;
}

PublicSpec CounterModelSpec() {
  PublicSpec spec = LocalSpec();
  spec.mechanism = MechanismId::kCounter;
  spec.delta = {1e-6};
  spec.counter = CounterSpec{.kind = CounterKind::kBlt, .horizon = 1000, .steps_max = 1'000'000};
  return spec;
}

PublicSpec ContextModelSpec(MechanismId mechanism) {
  PublicSpec spec = LocalSpec();
  spec.mode = Mode::kLocalContext;
  spec.mechanism = mechanism;
  if (mechanism == MechanismId::kJointGaussian) spec.delta = {1e-6};
  spec.context = testing::ContextsOf(spec)->spec();
  return spec;
}

PublicSpec RawSpec() {
  PublicSpec spec = LocalSpec();
  spec.mode = Mode::kNonPrivate;
  spec.mechanism = MechanismId::kUnspecified;
  spec.epsilon = {};
  spec.unit_of_privacy.clear();
  spec.guarantee.clear();
  return spec;
}

struct FakeRecommender::State {
  mutable std::mutex mutex;
  std::condition_variable released;
  v1::GetModelResponse model;
  v1::GetPosteriorResponse posterior;
  std::vector<v1::GetArmEffectsResponse> arm_effects;
  absl::Status arm_effects_status = absl::UnimplementedError("GetArmEffects");
  std::vector<v1::GetArmEffectsRequest> arm_effects_requests;
  std::deque<Fault> delivery_faults;
  std::deque<Fault> select_faults;
  std::deque<Fault> activation_faults;
  std::vector<std::string> activations;
  std::set<std::string> deferred;  // tokens that were not activated
  RewardRange window{0, 1};
  std::vector<double> point;
  std::optional<v1::OutcomeResult> result;
  std::optional<v1::CounterResult> counter_result;
  std::vector<v1::CounterReport> counter_reports;
  std::map<std::string, StreamState> streams;
  std::uint64_t epoch = 1;
  int releases = 0;
  std::vector<Delivered> deliveries;
  std::vector<std::string> selects;
  std::vector<v1::PerturbedReport> reports;
  std::vector<v1::Outcome> outcomes;
  std::vector<v1::ContextReport> contexts;
  std::vector<std::string> posterior_requests;
  std::set<std::string> tokens;
  int model_requests = 0;
  std::uint64_t next_token = 0;
  bool stopping = false;

  std::unique_ptr<Service> service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

class FakeRecommender::Service final : public v1::Recommender::Service {
 public:
  explicit Service(State* state) : state_(*state) {}

  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest*,
                        v1::GetModelResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    ++state_.model_requests;
    *response = state_.model;
    response->set_epoch(state_.epoch);
    return grpc::Status::OK;
  }

  grpc::Status Select(grpc::ServerContext* context, const v1::SelectRequest* request,
                      v1::SelectResponse* response) override {
    if (auto status = CheckPolicy(*request); !status.ok()) return status;
    return WithFault(context, state_.select_faults, [&] { Rank(*request, *response); });
  }

  grpc::Status BatchSelect(grpc::ServerContext* context, const v1::BatchSelectRequest* request,
                           v1::BatchSelectResponse* response) override {
    return WithFault(context, state_.select_faults, [&] {
      for (const auto& decision : request->decisions()) {
        v1::SelectResult& result = *response->add_results();
        if (decision.policy_hash() == state_.model.policy_hash()) {
          Rank(decision, *result.mutable_selection());
        } else {
          result.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
        }
      }
    });
  }

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::SubmitResponse* response) override {
    if (request->counter_reports_size() > 0) return Count(context, *request, *response);
    if (request->context_reports_size() > 0) {
      return Deliver(context, *request, request->context_reports(), state_.contexts, *response);
    }
    return Deliver(context, *request, request->reports(), state_.reports, *response);
  }

  grpc::Status Report(grpc::ServerContext* context, const v1::ReportRequest* request,
                      v1::ReportResponse* response) override {
    return Deliver(context, *request, request->outcomes(), state_.outcomes, *response);
  }

  grpc::Status Activate(grpc::ServerContext* context, const v1::ActivateRequest* request,
                        v1::ActivateResponse* response) override {
    {
      const std::lock_guard lock(state_.mutex);
      state_.activations.push_back(request->SerializeAsString());
    }
    if (auto status = CheckPolicy(*request); !status.ok()) return status;
    return WithFault(context, state_.activation_faults, [&] {
      for (const std::string& token : request->tokens()) {
        state_.deferred.erase(token);
        response->add_results()->set_code(v1::APPLIED);
      }
    });
  }

  grpc::Status GetPosterior(grpc::ServerContext*, const v1::GetPosteriorRequest* request,
                            v1::GetPosteriorResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.posterior_requests.push_back(request->SerializeAsString());
    response->set_version(state_.posterior.version());
    if (state_.posterior.version() <= request->if_newer_than()) {
      response->set_not_modified(true);
    } else {
      *response = state_.posterior;
    }
    return grpc::Status::OK;
  }

  grpc::Status GetArmEffects(grpc::ServerContext*, const v1::GetArmEffectsRequest* request,
                             v1::GetArmEffectsResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.arm_effects_requests.push_back(*request);
    if (!state_.arm_effects_status.ok()) return ToGrpc(state_.arm_effects_status);
    const auto& pages = state_.arm_effects;
    std::size_t page = 0;
    while (request->first_arm() != 0 && page + 1 < pages.size() &&
           pages[page].next_arm() != request->first_arm()) {
      ++page;
    }
    *response = pages[request->first_arm() == 0 ? 0 : page + 1];
    if (request->if_newer_than() != 0 && response->version() <= request->if_newer_than()) {
      response->Clear();
      response->set_not_modified(true);
    }
    return grpc::Status::OK;
  }

 private:
  // `apply` runs under the lock.
  template <typename Apply>
  grpc::Status WithFault(grpc::ServerContext* context, std::deque<Fault>& faults, Apply apply) {
    std::unique_lock lock(state_.mutex);
    std::optional<Fault> fault;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    if (!fault || fault->kind != Fault::Kind::kRefuse) apply();
    if (!fault) return grpc::Status::OK;
    if (fault->pushback_ms) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(*fault->pushback_ms));
    }
    if (fault->kind == Fault::Kind::kHang) {
      state_.released.wait(lock, [&] { return state_.stopping || state_.releases > 0; });
      --state_.releases;
    }
    return ToGrpc(fault->status);
  }

  void Rank(const v1::SelectRequest& request, v1::SelectResponse& response) {
    state_.selects.push_back(request.SerializeAsString());
    const int arms = request.arms().has_inline_arms()
                         ? request.arms().inline_arms().features_size() / state_.model.dimension()
                         : request.arms().catalogue_arms().ids_size();
    const std::uint32_t ranks = request.slots() > 0 ? request.slots() : request.top_k();
    for (int i = 0; i < std::min<int>(arms, ranks); ++i) {
      response.add_positions(i);
      if (!request.arms().has_inline_arms()) {
        response.add_arm_ids(request.arms().catalogue_arms().ids(i));
      }
      response.add_scores(1 - i);
      response.add_means(1 - i);
      response.add_widths(0);
      response.add_propensities(i == 0 ? 1 : 0);
      if (state_.model.mechanism() != v1::CENTRED_RANDOMIZER) continue;
      for (const double end : {state_.window.min, state_.window.max})
        response.add_reward_windows(end + 0.125 * i);
    }
    if (!request.has_arms())
      response.mutable_point()->Add(state_.point.begin(), state_.point.end());
    const auto next_token = [&] { return "token-" + std::to_string(++state_.next_token); };
    if (request.slots() == 0) response.set_token(next_token());
    if (request.deferred()) state_.deferred.insert(response.token());
    for (std::uint32_t i = 0; i < request.slots(); ++i) response.add_slot_tokens(next_token());
    response.set_posterior_version(7);
  }

  template <typename Request, typename Reports, typename Applied, typename Response>
  grpc::Status Deliver(grpc::ServerContext* context, const Request& request, const Reports& reports,
                       Applied& applied, Response& response) {
    {
      const std::lock_guard lock(state_.mutex);
      Delivered delivered = {.bytes = request.SerializeAsString(), .at = absl::Now()};
      for (const auto& report : reports) delivered.reports.push_back(report.SerializeAsString());
      state_.deliveries.push_back(std::move(delivered));
    }
    if (const auto status = CheckPolicy(request); !status.ok()) return status;
    return WithFault(context, state_.delivery_faults, [&] {
      for (const auto& report : reports) {
        v1::OutcomeResult& result = *response.add_results();
        if (state_.result) {
          result = *state_.result;
        } else if (state_.deferred.contains(NameOf(report))) {
          result.set_code(v1::REJECTED);
          result.set_reason(v1::NOT_ACTIVATED);
        } else if (state_.tokens.insert(NameOf(report)).second) {
          applied.push_back(report);
          result.set_code(v1::APPLIED);
        } else {
          result.set_code(v1::DUPLICATE);
        }
      }
    });
  }

  grpc::Status Count(grpc::ServerContext* context, const v1::SubmitRequest& request,
                     v1::SubmitResponse& response) {
    {
      const std::lock_guard lock(state_.mutex);
      Delivered delivered = {.bytes = request.SerializeAsString(), .at = absl::Now()};
      for (const auto& report : request.counter_reports()) {
        delivered.reports.push_back(report.SerializeAsString());
        state_.counter_reports.push_back(report);
      }
      state_.deliveries.push_back(std::move(delivered));
    }
    if (const auto status = CheckPolicy(request); !status.ok()) return status;
    return WithFault(context, state_.delivery_faults, [&] {
      for (const auto& report : request.counter_reports()) {
        *response.add_counter_results() =
            state_.counter_result ? *state_.counter_result : ResultOf(report);
      }
    });
  }

  static v1::CounterResult Rejected(v1::RejectReason reason, std::uint64_t newest) {
    v1::CounterResult result;
    result.set_code(v1::REJECTED);
    result.set_reason(reason);
    result.set_acknowledged_step(newest);
    return result;
  }

  v1::CounterResult ResultOf(const v1::CounterReport& report) {
    StreamState& stream = state_.streams[report.stream()];
    const std::uint64_t first = report.step() - report.steps_size() + 1;
    if (first > stream.step + 1) return Rejected(v1::STREAM_GAP, stream.step);
    const std::vector<double> moment(report.moment().begin(), report.moment().end());
    const auto known = stream.moments.find(report.step());
    if (known != stream.moments.end() && known->second != moment) {
      return Rejected(v1::STREAM_FORKED, stream.step);
    }
    for (int i = 0; i < report.steps_size(); ++i) {
      const std::uint64_t step = first + i;
      if (step > stream.step) {
        stream.tokens.push_back(report.steps(i).token());
      } else if (stream.tokens[step - 1] != report.steps(i).token()) {
        return Rejected(v1::STREAM_FORKED, stream.step);
      }
    }
    stream.moments[report.step()] = moment;
    v1::CounterResult result;
    result.set_code(report.step() > stream.step ? v1::APPLIED : v1::DUPLICATE);
    stream.step = std::max(stream.step, report.step());
    result.set_acknowledged_step(stream.step);
    return result;
  }

  // The name by which a report is counted once.
  template <typename R>
  static std::string NameOf(const R& report) {
    return report.token();
  }
  static std::string NameOf(const v1::ContextReport& report) { return report.report_id(); }

  template <typename Request>
  grpc::Status CheckPolicy(const Request& request) {
    const std::lock_guard lock(state_.mutex);
    if (request.policy_hash() == state_.model.policy_hash()) return grpc::Status::OK;
    return {grpc::StatusCode::FAILED_PRECONDITION, "policy_hash differs"};
  }

  State& state_;
};

FakeRecommender::FakeRecommender(const PublicSpec& spec, int port)
    : state_(std::make_unique<State>()) {
  state_->model = ModelMessage(spec);
  state_->service = std::make_unique<Service>(state_.get());
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                           &state_->port);
  builder.RegisterService(state_->service.get());
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr) {
    std::fprintf(stderr, "fake server: cannot listen on port %d\n", port);
    std::abort();
  }
}

FakeRecommender::~FakeRecommender() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->released.notify_all();
  state_->server->Shutdown(std::chrono::system_clock::now());
}

int FakeRecommender::port() const { return state_->port; }

std::string FakeRecommender::target() const { return "127.0.0.1:" + std::to_string(port()); }

void FakeRecommender::SetSpec(const PublicSpec& spec) {
  const std::lock_guard lock(state_->mutex);
  state_->model = ModelMessage(spec);
}

void FakeRecommender::SetPosterior(const v1::GetPosteriorResponse& posterior) {
  const std::lock_guard lock(state_->mutex);
  state_->posterior = posterior;
}

void FakeRecommender::SetArmEffects(std::vector<v1::GetArmEffectsResponse> pages) {
  const std::lock_guard lock(state_->mutex);
  state_->arm_effects = std::move(pages);
  state_->arm_effects_status = absl::OkStatus();
}

void FakeRecommender::FailArmEffects(absl::Status status) {
  const std::lock_guard lock(state_->mutex);
  state_->arm_effects_status = std::move(status);
}

void FakeRecommender::FailDelivery(const Fault& fault) {
  const std::lock_guard lock(state_->mutex);
  state_->delivery_faults.push_back(fault);
}

void FakeRecommender::SetWindow(const RewardRange& window) {
  const std::lock_guard lock(state_->mutex);
  state_->window = window;
}

void FakeRecommender::SetPoint(std::vector<double> point) {
  const std::lock_guard lock(state_->mutex);
  state_->point = std::move(point);
}

void FakeRecommender::FailSelect(const Fault& fault) {
  const std::lock_guard lock(state_->mutex);
  state_->select_faults.push_back(fault);
}

void FakeRecommender::FailActivation(const Fault& fault) {
  const std::lock_guard lock(state_->mutex);
  state_->activation_faults.push_back(fault);
}

void FakeRecommender::SetResult(std::optional<v1::OutcomeResult> result) {
  const std::lock_guard lock(state_->mutex);
  state_->result = std::move(result);
}

void FakeRecommender::SetCounterResult(std::optional<v1::CounterResult> result) {
  const std::lock_guard lock(state_->mutex);
  state_->counter_result = std::move(result);
}

void FakeRecommender::SetEpoch(std::uint64_t epoch) {
  const std::lock_guard lock(state_->mutex);
  state_->epoch = epoch;
}

void FakeRecommender::RollBackStreams(std::uint64_t step) {
  const std::lock_guard lock(state_->mutex);
  for (auto& [name, stream] : state_->streams) {
    stream.step = std::min(stream.step, step);
    stream.tokens.resize(stream.step);
    stream.moments.erase(stream.moments.upper_bound(step), stream.moments.end());
  }
}

std::vector<v1::CounterReport> FakeRecommender::counter_reports() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counter_reports;
}

std::map<std::string, FakeRecommender::StreamState> FakeRecommender::streams() const {
  const std::lock_guard lock(state_->mutex);
  return state_->streams;
}

void FakeRecommender::ReleaseHung() {
  const std::lock_guard lock(state_->mutex);
  ++state_->releases;
  state_->released.notify_all();
}

std::vector<Delivered> FakeRecommender::deliveries() const {
  const std::lock_guard lock(state_->mutex);
  return state_->deliveries;
}

std::vector<std::string> FakeRecommender::selects() const {
  const std::lock_guard lock(state_->mutex);
  return state_->selects;
}

std::vector<v1::PerturbedReport> FakeRecommender::applied_reports() const {
  const std::lock_guard lock(state_->mutex);
  return state_->reports;
}

std::vector<v1::Outcome> FakeRecommender::applied_outcomes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outcomes;
}

std::vector<v1::ContextReport> FakeRecommender::applied_contexts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->contexts;
}

std::vector<std::string> FakeRecommender::posterior_requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->posterior_requests;
}

std::vector<v1::GetArmEffectsRequest> FakeRecommender::arm_effects_requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->arm_effects_requests;
}

std::vector<std::string> FakeRecommender::activations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->activations;
}

int FakeRecommender::model_requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->model_requests;
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

}  // namespace bandana::testing
