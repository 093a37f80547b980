#include "server/service/transport/exchange.h"

#include "common/base/check.h"

namespace bandana::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class CheckExchange final
    : public exchange_internal::Messages<HealthCheckRequest, HealthCheckResponse> {
 public:
  bool answers_at_once() const override { return true; }
  void Run(const Callees& callees, const Caller&, Finish finish) override {
    BANDANA_CHECK(callees.serving != nullptr);
    const Serving status = (*callees.serving)(request_->service());
    if (status == Serving::kUnknownService) return finish(NotFound("service: no such model"));
    response_.set_status(status == Serving::kServing ? HealthCheckResponse::SERVING
                                                     : HealthCheckResponse::NOT_SERVING);
    finish(absl::OkStatus());
  }
};

}  // namespace

std::unique_ptr<Exchange> MakeCheckExchange() { return std::make_unique<CheckExchange>(); }

absl::Status exchange_internal::NameOne(std::string_view field, const std::string& model,
                                        std::string& name) {
  if (name.empty()) name = model;
  if (name == model) return absl::OkStatus();
  return InvalidArgument(ToAbsl(field), ": must be empty or the one of the path");
}

}  // namespace bandana::server
