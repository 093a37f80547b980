#include "server/api/api_calls.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// About the time in which a full server clears what it has admitted.
constexpr absl::Duration kOverloadPause = absl::Milliseconds(50);

}  // namespace

ApiCalls::ApiCalls(Options options, Handlers& handlers)
    : handlers_(handlers),
      desk_{.slots = CallSlots(options.calls_in_flight_max),
            .gatekeeper = options.gatekeeper,
            .observer = options.observer,
            .log = options.log,
            .keeps_unrecorded =
                [&handlers](std::string_view model, std::string_view policy_hash) {
                  return handlers.KeepsCallUnrecorded(model, policy_hash);
                }},
      conduct_(std::move(options.conduct)),
      tells_all_(options.tells_all) {}

std::shared_ptr<ApiCall> ApiCalls::Begin(const Rpc& rpc, const HttpCall& http,
                                         std::string_view model, const Credentials& credentials) {
  std::shared_ptr<ApiCall> call(new ApiCall(*this));
  call->trace_id_ = TraceIdOfTraceparent(http.Header("traceparent"));
  call->taken_.TakeIn(desk_, rpc, model);
  if (tells_all_) conduct_(http.peer, Conduct::kArrived);
  const Admittance admittance = call->taken_.Admit(credentials);
  if (absl::IsUnauthenticated(admittance.status)) conduct_(http.peer, Conduct::kRefused);
  call->status_ = admittance.status;
  call->retry_after_ = admittance.retry_after;
  return call;
}

void ApiCalls::NoteTooLarge(const Rpc& rpc, std::string_view model) {
  if (rpc.may_be_unrecorded && handlers_.KeepsReportsUnrecorded(model)) return;
  if (desk_.observer == nullptr) return;
  desk_.observer->OnCall(rpc, static_cast<int>(absl::StatusCode::kResourceExhausted),
                         absl::ZeroDuration());
}

void ApiCalls::Close() {
  Refuse();
  for (const CallDone& done : unfinished_->Close()) done(Unavailable("server is shutting down"));
  while (in_flight() > 0) absl::SleepFor(absl::Milliseconds(1));
}

std::uint64_t UnfinishedCalls::Add(CallDone done) {
  const std::lock_guard lock(mutex_);
  if (closed_) return 0;
  calls_.emplace(next_, std::move(done));
  return next_++;
}

CallDone UnfinishedCalls::Take(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return nullptr;
  CallDone done = std::move(found->second);
  calls_.erase(found);
  return done;
}

std::vector<CallDone> UnfinishedCalls::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::vector<CallDone> calls;
  for (auto& [ticket, done] : calls_) calls.push_back(std::move(done));
  calls_.clear();
  return calls;
}

void ApiCall::Run(const std::shared_ptr<Exchange>& exchange, const CallDone& done) {
  taken_.ModelKnown(exchange->model(), exchange->policy_hash());
  taken_.Started(absl::FromChrono(TakenCall::Clock::now() - taken_.arrival()));
  if (absl::Status allowed = exchange->AllowModels(caller()); !allowed.ok()) return done(allowed);
  const std::shared_ptr<UnfinishedCalls> unfinished = calls_.unfinished_;
  const std::uint64_t ticket = unfinished->Add(done);
  if (ticket == 0) return done(Unavailable("server is shutting down"));
  // The exchange belongs to the Finish: the handler may still write into it when the call is over.
  exchange->Run(calls_.handlers_, caller(),
                [exchange, unfinished, ticket](const absl::Status& status) {
                  if (const CallDone waiting = unfinished->Take(ticket)) waiting(status);
                });
}

CallEnd ApiCall::End(const absl::Status& status) {
  CallEnd end{.status = status, .request_id = "", .retry_after = retry_after_};
  if (std::exchange(ended_, true)) return end;
  if (absl::IsResourceExhausted(status) && end.retry_after == absl::ZeroDuration()) {
    end.retry_after = kOverloadPause;
  }
  end.request_id =
      taken_.End(status.raw_code(), TakenCall::Clock::now(), [this] { return trace_id_; });
  return end;
}

ApiCall::~ApiCall() { End(absl::CancelledError("")); }

}  // namespace bandana::server
