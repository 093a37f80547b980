// One call of an rpc as messages: every listener runs the handlers by it.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/status.h"
#include "grpc/health/v1/health.pb.h"
#include "server/service/access/access.h"
#include "server/service/access/current_caller.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {

// Threads: not safe. Lives until the call is finished.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual google::protobuf::Message& request() = 0;
  virtual const google::protobuf::Message& response() const = 0;
  // Whether Run finishes before it returns.
  virtual bool answers_at_once() const = 0;
  // Empties it for another call. Its request is good until the arena is reset.
  virtual void Renew(google::protobuf::Arena& arena) = 0;
  // The model that the request names; empty for those that name several, or none.
  virtual std::string_view model() const = 0;
  // The policy that the request as a whole names; empty where it names none.
  virtual std::string_view policy_hash() const = 0;
  // Puts a name into the request, and into its decisions, where there is none. Errors:
  // INVALID_ARGUMENT there is another.
  virtual absl::Status NameModel(const std::string& model) = 0;
  // Whether the caller may name every model that the request names. Errors: PERMISSION_DENIED.
  virtual absl::Status AllowModels(const Caller& caller) const = 0;
  // Runs the handler, which finishes now or later, on any thread.
  virtual void Run(const Callees& callees, const Caller& caller, Finish finish) = 0;
};

namespace exchange_internal {

absl::Status NameOne(std::string_view field, const std::string& model, std::string& name);

// Whether the caller may name every model that the request names. A request whose models are not
// found here does not compile.
template <typename Request>
absl::Status AllowModels(const Caller& caller, const Request& request) {
  if constexpr (std::is_same_v<Request, grpc::health::v1::HealthCheckRequest>) {
    return absl::OkStatus();  // open
  } else if constexpr (requires { request.decisions(); }) {
    for (const v1::SelectRequest& decision : request.decisions()) {
      BANDANA_RETURN_IF_ERROR(AuthorizeModel(caller, decision.model()));
    }
    return absl::OkStatus();
  } else {
    return AuthorizeModel(caller, request.model());
  }
}

template <typename In, typename Out>
class Messages : public Exchange {
 public:
  google::protobuf::Message& request() final { return *request_; }
  const google::protobuf::Message& response() const final { return response_; }
  void Renew(google::protobuf::Arena& arena) final {
    request_ = google::protobuf::Arena::CreateMessage<In>(&arena);
    response_.Clear();
  }
  std::string_view model() const final {
    if constexpr (requires { request_->model(); }) {
      return request_->model();
    } else {
      return "";
    }
  }
  std::string_view policy_hash() const final {
    if constexpr (requires { request_->policy_hash(); }) {
      return request_->policy_hash();
    } else {
      return "";
    }
  }
  absl::Status NameModel(const std::string& model) final {
    if constexpr (requires { request_->decisions(); }) {
      for (int i = 0; i < request_->decisions_size(); ++i) {
        BANDANA_RETURN_IF_ERROR(NameOne(absl::StrCat("decisions[", i, "].model"), model,
                                        *request_->mutable_decisions(i)->mutable_model()));
      }
      return absl::OkStatus();
    } else if constexpr (requires { request_->model(); }) {
      return NameOne("model", model, *request_->mutable_model());
    } else {
      return absl::OkStatus();
    }
  }
  absl::Status AllowModels(const Caller& caller) const final {
    return exchange_internal::AllowModels(caller, *request_);
  }

 protected:
  In own_request_;
  In* request_ = &own_request_;
  Out response_;
};

inline std::string_view PrincipalOf(const Caller& caller) {
  return caller.principal == nullptr ? std::string_view() : caller.principal->name;
}

template <auto kMethod>
class ExchangeOf;
template <typename Request, typename Response,
          absl::Status (Handlers::*kMethod)(const Request&, Response&)>
class ExchangeOf<kMethod> final : public Messages<Request, Response> {
 public:
  bool answers_at_once() const override { return true; }
  void Run(const Callees& callees, const Caller& caller, Finish finish) override {
    const CallQuota quota(caller.new_users);
    const CurrentCaller name(PrincipalOf(caller));
    finish((callees.handlers.*kMethod)(*this->request_, this->response_));
  }
};
template <typename Request, typename Response,
          void (Handlers::*kMethod)(const Request&, Response&, Finish)>
class ExchangeOf<kMethod> final : public Messages<Request, Response> {
 public:
  bool answers_at_once() const override { return false; }
  void Run(const Callees& callees, const Caller& caller, Finish finish) override {
    const CallQuota quota(caller.new_users);
    const CurrentCaller name(PrincipalOf(caller));
    (callees.handlers.*kMethod)(*this->request_, this->response_, std::move(finish));
  }
};

}  // namespace exchange_internal

// Rpc::make_exchange of a method of Handlers.
template <auto kMethod>
std::unique_ptr<Exchange> MakeExchange() {
  return std::make_unique<exchange_internal::ExchangeOf<kMethod>>();
}
// Rpc::make_exchange of grpc.health.v1.Health/Check, which names no model and is open.
std::unique_ptr<Exchange> MakeCheckExchange();

}  // namespace bandana::server
