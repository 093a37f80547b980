#include "server/api/api_calls.h"

#include <utility>

#include "absl/time/clock.h"

namespace bandana::server {
namespace {

CallDeskOptions ToldBy(Handlers& handlers, CallDeskOptions options) {
  options.keeps_unrecorded = UnrecordedBy(handlers);
  return options;
}

}  // namespace

ApiCalls::ApiCalls(CallDeskOptions options, Handlers& handlers)
    : handlers_(handlers), desk_(ToldBy(handlers, std::move(options))) {}

std::shared_ptr<ApiCall> ApiCalls::Begin(const Rpc& rpc, const HttpCall& http,
                                         std::string_view model, const Credentials& credentials) {
  auto call = std::make_shared<ApiCall>(*this, http);
  call->taken_.TakeIn(desk_, rpc, model, *call);
  call->status_ = call->taken_.Admit(credentials);
  return call;
}

void ApiCalls::NoteTooLarge(const Rpc& rpc, std::string_view model) {
  CallObserver* const observer = desk_.options.observer;
  if (observer == nullptr || (rpc.may_be_unrecorded && handlers_.KeepsReportsUnrecorded(model))) {
    return;
  }
  observer->OnCall(rpc, static_cast<int>(absl::StatusCode::kResourceExhausted),
                   absl::ZeroDuration());
}

void ApiCalls::Close() {
  desk_.Refuse();
  desk_.EndUnfinished();
  while (desk_.slots.in_flight() > 0) absl::SleepFor(absl::Milliseconds(1));
}

ApiCall::ApiCall(ApiCalls& calls, const HttpCall& http)
    : calls_(calls), peer_(http.peer), trace_(ParseTraceparent(http.Header("traceparent"))) {}

void ApiCall::Run(const std::shared_ptr<Exchange>& exchange, Finish done) {
  taken_.Run(exchange, {calls_.handlers()}, std::move(done));
}

ApiCall::~ApiCall() { taken_.End(absl::CancelledError("")); }

}  // namespace bandana::server
