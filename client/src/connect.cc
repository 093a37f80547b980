// Client::Connect: options, store, model, policy, in this order.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "bandana/client.h"
#include "client/core/backoff.h"
#include "client/src/base/once.h"
#include "client/src/base/transport.h"
#include "client/src/client_impl.h"
#include "client/src/privacy/policy.h"
#include "client/src/seams.h"
#include "client/src/store/kept_answers.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "common/random/bit_source.h"

namespace bandana {
namespace device {
namespace {

ChannelSecurity SecurityOf(const TransportSecurity& security) {
  return {.ca_file = security.ca_file,
          .certificate_file = security.certificate_file,
          .private_key_file = security.private_key_file,
          .server_name = security.server_name,
          .token_file = security.token_file};
}

// Asks until the server answers or the time is over.
absl::StatusOr<v1::GetModelResponse> FetchModel(Transport& transport,
                                                const ClientOptions& options) {
  v1::GetModelRequest request;
  request.set_model(options.model);
  // By the steady clock: a wall clock that is set moves no deadline.
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + absl::ToChronoNanoseconds(options.connect_timeout);
  const auto left = [end] { return absl::FromChrono(end - SteadyClock::now()); };
  // At a start the model is asked for once, as Client::Begin does it.
  const bool once = options.leave == ClientOptions::Leave::kAtStart;
  const BackoffOptions backoff = {options.backoff_min, options.backoff_max};
  for (int attempt = 0;; ++attempt) {
    Once<absl::StatusOr<v1::GetModelResponse>> result;
    std::optional<absl::Duration> pushback;
    transport.GetModel(request, {.deadline = left(), .wait_for_ready = true},
                       [&](const Answer& answer, v1::GetModelResponse& response) {
                         pushback = answer.pushback;
                         if (!answer.status.ok()) return result.Set(answer.status);
                         result.Set(std::move(response));
                       });
    auto response = result.Get();
    const absl::StatusCode code = response.status().code();
    if (code == absl::StatusCode::kDeadlineExceeded) {
      return Unavailable("no server at ", options.target, " within ",
                         absl::FormatDuration(options.connect_timeout));
    }
    if (code != absl::StatusCode::kUnavailable && code != absl::StatusCode::kResourceExhausted) {
      return response;
    }
    const absl::Duration pause =
        BackoffWithPushback(backoff, attempt, SystemBits().NextWord().value_or(0), pushback);
    if (once || pause >= left()) {
      return Unavailable("no answer from ", options.target, " within ",
                         absl::FormatDuration(options.connect_timeout), ": ",
                         response.status().message());
    }
    absl::SleepFor(pause);
  }
}

// With Leave::kAtStart: whether this process must not be noticed, because a window is open or
// because it takes the store over from another one, and knows the model without asking.
bool ServesFromStore(const ClientOptions& options, const Seams& seams,
                     const std::shared_ptr<Store>& store, v1::GetModelResponse& response) {
  if (options.leave == ClientOptions::Leave::kWhenDue) return false;
  bool open = store->taken_over();
  const MonotoneClock& clock = store->ClockOver(*seams.clock);
  const absl::Status looked = store->Run([&](Transaction& transaction) {
    open = open || transaction.tables.reports().IsAnyOpen(clock.Now());
    return absl::OkStatus();
  });
  if (!looked.ok() || !open) return false;
  const auto kept =
      KeptAnswers(store, options.model, store->KeptOf(options.model)).Find(KeptAnswers::kModel);
  return kept != nullptr && response.ParseFromString(*kept);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options,
                                                std::shared_ptr<DeviceStore> store,
                                                const Seams& seams) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  if (store == nullptr) return InvalidArgument("store must not be null");
  auto opened = OpenTransport(options.target, SecurityOf(options.security),
                              options.leave == ClientOptions::Leave::kAtStart);
  if (!opened.ok()) return Annotate(opened.status(), "options.security");
  std::unique_ptr<Transport> transport = *std::move(opened);
  auto body = std::static_pointer_cast<Store>(std::move(store));
  v1::GetModelResponse response;
  const bool served = ServesFromStore(options, seams, body, response);
  const bool is_start = !served && !body->taken_over();
  if (!served) {
    BANDANA_ASSIGN_OR_RETURN(response, FetchModel(*transport, options));
    if (options.leave == ClientOptions::Leave::kAtStart) {
      KeptAnswers(body, options.model, {}).Put(KeptAnswers::kModel, response.SerializeAsString());
    }
  }
  BANDANA_ASSIGN_OR_RETURN(const PublicSpec spec, ParsePublicSpec(response.SerializeAsString()));
  if (spec.name != options.model) {
    return FailedPrecondition("the server answered with model ", spec.name, " instead of ",
                              options.model);
  }
  BANDANA_RETURN_IF_ERROR(CheckPolicy(spec, options.policy));
  BANDANA_RETURN_IF_ERROR(CheckStore(spec, body->durable()));
  BANDANA_RETURN_IF_ERROR(CheckLeave(spec, options.leave));
  return ClientImpl::Create(options, std::move(body), seams, spec, response.epoch(),
                            std::move(transport), is_start);
}

}  // namespace device

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ClientOptions& options,
                                                        std::shared_ptr<DeviceStore> store) {
  return device::Connect(options, std::move(store), {});
}

}  // namespace bandana
