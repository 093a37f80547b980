#include "tools/audit/transcript/network.h"

#include <map>
#include <string_view>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"

namespace bandana::audit {
namespace {

using device::Answer;
using device::CallOptions;
using device::Method;
using device::OnAnswer;

template <typename Request>
std::string_view NameOf() {
  return Request::descriptor()->name();
}

constexpr absl::StatusCode kFalseCodes[] = {
    absl::StatusCode::kUnavailable,        absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kDeadlineExceeded,   absl::StatusCode::kInternal,
    absl::StatusCode::kNotFound,           absl::StatusCode::kUnauthenticated};

}  // namespace

// The fate of one call.
struct Network::Fate {
  absl::Duration there, back;
  bool lost_there = false;
  bool lost_back = false;
  bool twice = false;
  bool refused = false;  // answered falsely, and never seen by the server
  bool falsified = false;
  std::uint64_t lie = 0;  // what the peer answers
};

Network::Network(const Options& options, Timeline& timeline, Recorder& recorder)
    : options_(options),
      timeline_(timeline),
      recorder_(recorder),
      random_(options.seed ^ 0x6e6574776f726b) {}

Network::Fate Network::DrawFate() {
  Fate fate{.there = absl::Milliseconds(1 + random_.Below(30)),
            .back = absl::Milliseconds(1 + random_.Below(30)),
            .lie = random_.Word()};
  const double kind = random_.Unit();
  if (!random_.Chance(options_.trouble)) return fate;
  if (kind < 0.25) {
    (random_.Chance(0.5) ? fate.there : fate.back) *= random_.Between(10, 1000);
  } else if (kind < 0.4) {
    fate.lost_there = true;
  } else if (kind < 0.55) {
    fate.lost_back = true;
  } else if (kind < 0.7) {
    fate.twice = true;
  } else if (kind < 0.85) {
    fate.refused = true;
  } else {
    fate.falsified = true;
  }
  return fate;
}

// One client's transport; shared with its calls under way.
class Network::Link {
 public:
  explicit Link(Network& network) : network(network), generation(network.generation_) {}

  bool cut() const { return generation != network.generation_; }
  // Answers CANCELLED what is under way.
  void Close() {
    closed = true;
    while (!waiting.empty()) {
      const auto cancel = std::move(waiting.begin()->second);
      waiting.erase(waiting.begin());
      cancel();
    }
  }

  Network& network;
  const int generation;
  bool closed = false;
  std::uint64_t next = 0;
  std::map<std::uint64_t, std::function<void()>> waiting;
};

std::uint64_t Network::EpochNow() {
  const auto shown = server_ == nullptr ? std::nullopt : server_->EpochShown();
  return shown.value_or(1) + peers_epochs_;
}

template <typename Request>
void Network::Mask(Request& request) const {
  if constexpr (std::is_same_v<Request, v1::ReportRequest>) {
    for (v1::Outcome& outcome : *request.mutable_outcomes()) {
      if (options_.rewards_are_the_servers && outcome.has_reward()) outcome.set_reward(0);
      if (options_.contexts_are_the_servers) outcome.clear_token();
    }
  }
  if (!options_.contexts_are_the_servers) return;
  const auto mask = [](v1::SelectRequest& select) {
    select.clear_arms();
    select.clear_context();
    select.clear_rules();
  };
  if constexpr (std::is_same_v<Request, v1::SelectRequest>) mask(request);
  if constexpr (std::is_same_v<Request, v1::ActivateRequest>) {
    for (std::string& token : *request.mutable_tokens()) token.clear();
  }
  if constexpr (std::is_same_v<Request, v1::BatchSelectRequest>) {
    for (v1::SelectRequest& select : *request.mutable_decisions()) mask(select);
  }
}

template <typename Request>
void Network::Record(const Request& request) {
  Request shown = request;
  Mask(shown);
  recorder_.Message(Observer::kServer, std::string(NameOf<Request>()), shown);
  // A reward that is masked has a size all the same.
  if (std::is_same_v<Request, v1::ReportRequest> && options_.rewards_are_the_servers &&
      !options_.contexts_are_the_servers) {
    recorder_.Number(Observer::kServer, "ReportRequest bytes",
                     static_cast<std::int64_t>(request.ByteSizeLong()));
  }
}

// The device codes its messages by hand: they are what protobuf would write. Maps, of named
// features in a selection, have no order.
template <typename Request, typename Response>
void Network::Typed(const std::shared_ptr<Link>& link, const std::string& bytes, OnAnswer done) {
  Request request;
  BANDANA_CHECK(request.ParseFromString(bytes));
  if (!std::is_same_v<Request, v1::SelectRequest>) {
    BANDANA_CHECK(request.SerializeAsString() == bytes);
  }
  Start<Request, Response>(
      link, request, [done = std::move(done)](const Answer& answer, Response& response) {
        done(answer, answer.status.ok() ? response.SerializeAsString() : std::string());
      });
}

template <typename Request, typename Response>
void Network::Start(const std::shared_ptr<Link>& link, const Request& request,
                    Answered<Response> done) {
  if (link->closed || link->cut()) {
    Response none;
    return done({absl::CancelledError("the client is closing"), std::nullopt}, none);
  }
  recorder_.Now(timeline_.now());
  Record(request);
  if (at_once_ || (options_.prompt && std::is_same_v<Request, v1::GetModelRequest>)) {
    return Arrive<Request, Response>(
        request, Fate(), [&done](Answer answer, Response& response) { done(answer, response); });
  }
  Fate fate = DrawFate();
  if (options_.prompt && std::is_same_v<Request, v1::SelectRequest>) {
    fate = {.there = absl::Milliseconds(1 + static_cast<int>(fate.lie % 30)),
            .back = absl::Milliseconds(1 + static_cast<int>(fate.lie % 29))};
  }
  const std::uint64_t number = link->next++;
  auto shared = std::make_shared<Answered<Response>>(std::move(done));
  link->waiting[number] = [shared] {
    Response none;
    (*shared)({absl::CancelledError("the client is closing"), std::nullopt}, none);
  };
  const auto answer = [this, link, number, shared, back = fate.back](Answer answer,
                                                                     Response& response) {
    auto kept = std::make_shared<Response>(std::move(response));
    timeline_.After(back, Party::kDevice, [link, number, shared, answer, kept] {
      if (link->cut() || link->waiting.erase(number) == 0) return;
      (*shared)(answer, *kept);
    });
  };
  timeline_.After(fate.there, Party::kWorld, [this, link, request, fate, answer] {
    if (link->cut()) return;
    const Answer lost{absl::UnavailableError("lost"), std::nullopt};
    Response none;
    if (fate.lost_there) return answer(lost, none);
    if (fate.refused) {
      Answer lie;
      Falsify(fate, lie, none);
      if (lie.status.ok()) lie.status = absl::UnavailableError("later");
      return answer(lie, none);
    }
    if (fate.twice) Arrive<Request, Response>(request, fate, [](const Answer&, Response&) {});
    Arrive<Request, Response>(request, fate,
                              [this, fate, answer, lost](Answer given, Response& response) {
                                if (fate.lost_back) {
                                  Response nothing;
                                  return answer(lost, nothing);
                                }
                                if (fate.falsified) Falsify(fate, given, response);
                                answer(given, response);
                              });
  });
}

template <typename Request, typename Response>
void Network::Arrive(const Request& request, const Fate& fate,
                     std::function<void(Answer, Response&)> answered) {
  Response none;
  if (server_ == nullptr) {
    return answered({absl::UnavailableError("no server"), std::nullopt}, none);
  }
  if constexpr (std::is_same_v<Request, v1::SubmitRequest>) {
    if (policy_ && fate.lie % 2 == 0) {
      return answered({absl::FailedPreconditionError("policy"), std::nullopt}, none);
    }
  }
  server_->Call<Request, Response>(
      request, [this, answered = std::move(answered)](absl::Status status, Response& response) {
        if (status.ok()) Hear(response);
        answered({std::move(status), std::nullopt}, response);
      });
}

// The policy and the epoch that this network tells of.
template <typename Response>
void Network::Hear(Response& response) {
  if constexpr (std::is_same_v<Response, v1::GetModelResponse>) {
    const std::uint64_t epoch = response.epoch() + peers_epochs_;
    if (policy_) response = ToProto(*policy_);
    response.set_epoch(epoch);
    heard_epoch_ = response.epoch();
  }
}

// Statuses and codes of the peer's choice; what a device cannot use it must survive.
template <typename Response>
void Network::Falsify(const Fate& fate, Answer& answer, Response& response) {
  const std::uint64_t lie = fate.lie >> 8;
  if (fate.lie % 4 == 0) {
    answer.status = absl::Status(kFalseCodes[lie % std::size(kFalseCodes)], "no");
    if (lie % 3 == 0) answer.pushback = absl::Milliseconds(static_cast<int>(lie % 3000));
    response.Clear();
    return;
  }
  if constexpr (requires { response.counter_results(); }) {
    for (auto& result : *response.mutable_counter_results()) {
      result.set_code(static_cast<v1::OutcomeCode>(1 + lie % 4));
      result.set_reason(static_cast<v1::RejectReason>(lie % 12));
      if (lie % 5 == 0) result.set_acknowledged_step(lie % 7);
    }
  }
  if constexpr (std::is_same_v<Response, v1::SubmitResponse> ||
                std::is_same_v<Response, v1::ReportResponse> ||
                std::is_same_v<Response, v1::ActivateResponse>) {
    for (auto& result : *response.mutable_results()) {
      result.set_code(static_cast<v1::OutcomeCode>(1 + lie % 4));
      result.set_reason(lie % 3 == 0 ? v1::TOKEN_FOREIGN : static_cast<v1::RejectReason>(lie % 12));
    }
    if (lie % 11 == 0) response.add_results();
  }
  if constexpr (std::is_same_v<Response, v1::BatchSelectResponse>) {
    for (auto& result : *response.mutable_results()) {
      result.clear_selection();
      result.set_code(static_cast<int>(kFalseCodes[lie % std::size(kFalseCodes)]));
    }
  }
}

std::unique_ptr<device::Transport> Network::MakeTransport() {
  class LinkTransport final : public device::Transport {
   public:
    explicit LinkTransport(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    ~LinkTransport() override { Shutdown(); }

    void Make(Method method, std::string request, const CallOptions&, OnAnswer done) override {
      Network& network = link_->network;
      switch (method) {
        case Method::kGetModel:
          return network.Typed<v1::GetModelRequest, v1::GetModelResponse>(link_, request, done);
        case Method::kSelect:
          return network.Typed<v1::SelectRequest, v1::SelectResponse>(link_, request, done);
        case Method::kBatchSelect:
          return network.Typed<v1::BatchSelectRequest, v1::BatchSelectResponse>(link_, request,
                                                                                done);
        case Method::kReport:
          return network.Typed<v1::ReportRequest, v1::ReportResponse>(link_, request, done);
        case Method::kSubmit:
          return network.Typed<v1::SubmitRequest, v1::SubmitResponse>(link_, request, done);
        case Method::kGetPosterior:
          return network.Typed<v1::GetPosteriorRequest, v1::GetPosteriorResponse>(link_, request,
                                                                                  done);
        case Method::kGetArmEffects:
          return network.Typed<v1::GetArmEffectsRequest, v1::GetArmEffectsResponse>(link_, request,
                                                                                    done);
        case Method::kActivate:
          return network.Typed<v1::ActivateRequest, v1::ActivateResponse>(link_, request, done);
      }
    }
    void Shutdown() override { link_->Close(); }

   private:
    const std::shared_ptr<Link> link_;
  };
  return std::make_unique<LinkTransport>(std::make_shared<Link>(*this));
}

}  // namespace bandana::audit
