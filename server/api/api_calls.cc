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
    : options_(std::move(options)), handlers_(handlers), slots_(options_.calls_in_flight_max) {}

std::shared_ptr<ApiCall> ApiCalls::Begin(const Rpc& rpc, const HttpCall& http,
                                         std::string_view model, const Credentials& credentials) {
  std::shared_ptr<ApiCall> call(new ApiCall(*this, rpc));
  call->trace_id_ = TraceIdOfTraceparent(http.Header("traceparent"));
  call->SetHushed(rpc.hushable && handlers_.HushesReports(model));
  if (options_.tells_all) options_.conduct(http.peer, Conduct::kArrived);
  call->status_ = Admit(*call, http, credentials);
  return call;
}

absl::Status ApiCalls::Admit(ApiCall& call, const HttpCall& http, const Credentials& credentials) {
  if (refusing_) return Unavailable("server is draining");
  if (options_.gatekeeper != nullptr) {
    Admittance admittance = options_.gatekeeper->Admit(credentials, &call.rpc_.rule);
    call.retry_after_ = admittance.retry_after;
    if (absl::IsUnauthenticated(admittance.status)) {
      options_.conduct(http.peer, Conduct::kRefused);
    }
    BANDANA_RETURN_IF_ERROR(admittance.status);
    call.caller_ = std::move(admittance.caller);
  }
  if (!slots_.Enter(call.rpc_.call_class)) {
    call.retry_after_ = kOverloadPause;
    return absl::ResourceExhaustedError("too many calls in flight");
  }
  call.admitted_ = true;
  return absl::OkStatus();
}

void ApiCalls::NoteTooLarge(const Rpc& rpc, std::string_view model) {
  if (rpc.hushable && handlers_.HushesReports(model)) return;
  if (options_.observer == nullptr) return;
  options_.observer->OnCall(rpc, static_cast<int>(absl::StatusCode::kResourceExhausted),
                            absl::ZeroDuration());
}

void ApiCalls::Close() {
  Refuse();
  for (const CallDone& done : unfinished_->Close()) done(Unavailable("server is shutting down"));
  while (slots_.in_flight() > 0) absl::SleepFor(absl::Milliseconds(1));
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

void ApiCall::SetHushed(bool hushed) {
  if (hushed != hushed_) calls_.slots_.Hush(hushed ? 1 : -1);
  hushed_ = hushed;
}

void ApiCall::Started() {
  if (hushed_ || std::exchange(started_, true)) return;
  if (CallObserver* const observer = calls_.options_.observer; observer != nullptr) {
    observer->OnStart(rpc_, absl::FromChrono(std::chrono::steady_clock::now() - arrival_));
  }
}

void ApiCall::Run(const std::shared_ptr<Exchange>& exchange, const CallDone& done) {
  if (hushed_ && !calls_.handlers_.HushesReports(exchange->model())) SetHushed(false);
  Started();
  if (absl::Status allowed = exchange->AllowModels(caller_); !allowed.ok()) return done(allowed);
  const std::shared_ptr<UnfinishedCalls> unfinished = calls_.unfinished_;
  const std::uint64_t ticket = unfinished->Add(done);
  if (ticket == 0) return done(Unavailable("server is shutting down"));
  // The exchange belongs to the Finish: the handler may still write into it when the call is over.
  exchange->Run(calls_.handlers_, caller_,
                [exchange, unfinished, ticket](const absl::Status& status) {
                  if (const CallDone waiting = unfinished->Take(ticket)) waiting(status);
                });
}

CallEnd ApiCall::End(const absl::Status& status) {
  CallEnd end{.status = status, .request_id = "", .retry_after = retry_after_};
  if (std::exchange(ended_, true)) return end;
  const absl::Duration duration = absl::FromChrono(std::chrono::steady_clock::now() - arrival_);
  if (!hushed_) {
    if (CallObserver* const observer = calls_.options_.observer; observer != nullptr) {
      observer->OnCall(rpc_, status.raw_code(), duration);
    }
    if (calls_.options_.log != nullptr && HasLine(status.raw_code(), duration)) {
      CallRecord record{.method = rpc_.method(),
                        .caller = std::string(NameOf(caller_)),
                        .status_code = status.raw_code(),
                        .duration = duration,
                        .request_id = NewRequestId(),
                        .trace_id = trace_id_};
      end.request_id = record.request_id;
      calls_.options_.log->Write(record);
    }
  }
  if (absl::IsResourceExhausted(status) && end.retry_after == absl::ZeroDuration()) {
    end.retry_after = kOverloadPause;
  }
  SetHushed(false);
  // The last that touches what all calls share: Close waits for it.
  if (std::exchange(admitted_, false)) calls_.slots_.Leave(rpc_.call_class);
  return end;
}

ApiCall::~ApiCall() { End(absl::CancelledError("")); }

}  // namespace bandana::server
