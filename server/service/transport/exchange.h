// One call of an rpc as messages, for listeners that are not gRPC's. They run the same handlers.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "server/service/access/access.h"
#include "server/service/access/current_caller.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/work.h"

namespace bandana::server {

// Threads: not safe. Lives until the call is finished.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual google::protobuf::Message& request() = 0;
  virtual const google::protobuf::Message& response() const = 0;
  // The model that the request names; empty for those that name several.
  virtual std::string_view model() const = 0;
  // The policy that the request as a whole names; empty where it names none.
  virtual std::string_view policy_hash() const = 0;
  // Puts a name into the request, and into its decisions, where there is none. Errors:
  // INVALID_ARGUMENT there is another.
  virtual absl::Status NameModel(const std::string& model) = 0;
  // Whether the caller may name every model that the request names. Errors: PERMISSION_DENIED.
  virtual absl::Status AllowModels(const Caller& caller) const = 0;
  // Runs the handler, which finishes now or later, on any thread.
  virtual void Run(Handlers& handlers, const Caller& caller, Finish finish) = 0;
};

namespace exchange_internal {

template <auto kMethod>
struct Types;
template <typename Request, typename Response,
          absl::Status (Handlers::*kMethod)(const Request&, Response&)>
struct Types<kMethod> {
  using In = Request;
  using Out = Response;
  static void Run(Handlers& handlers, const In& request, Out& response, const Finish& finish) {
    finish((handlers.*kMethod)(request, response));
  }
};
template <typename Request, typename Response,
          void (Handlers::*kMethod)(const Request&, Response&, Finish)>
struct Types<kMethod> {
  using In = Request;
  using Out = Response;
  static void Run(Handlers& handlers, const In& request, Out& response, Finish finish) {
    (handlers.*kMethod)(request, response, std::move(finish));
  }
};

absl::Status NameOne(std::string_view field, const std::string& model, std::string& name);

template <auto kMethod>
class ExchangeOf final : public Exchange {
 public:
  google::protobuf::Message& request() override { return request_; }
  const google::protobuf::Message& response() const override { return response_; }
  std::string_view model() const override {
    if constexpr (requires { request_.decisions(); }) {
      return "";
    } else {
      return request_.model();
    }
  }
  std::string_view policy_hash() const override {
    if constexpr (requires { request_.policy_hash(); }) {
      return request_.policy_hash();
    } else {
      return "";
    }
  }
  absl::Status NameModel(const std::string& model) override {
    if constexpr (requires { request_.decisions(); }) {
      for (int i = 0; i < request_.decisions_size(); ++i) {
        BANDANA_RETURN_IF_ERROR(NameOne(absl::StrCat("decisions[", i, "].model"), model,
                                        *request_.mutable_decisions(i)->mutable_model()));
      }
      return absl::OkStatus();
    } else {
      return NameOne("model", model, *request_.mutable_model());
    }
  }
  absl::Status AllowModels(const Caller& caller) const override {
    return server::AllowModels(CallerNames{caller}, request_);
  }
  void Run(Handlers& handlers, const Caller& caller, Finish finish) override {
    const CallQuota quota(caller.new_users);
    const CurrentCaller name(caller.principal == nullptr ? std::string_view()
                                                         : caller.principal->name);
    Types<kMethod>::Run(handlers, request_, response_, std::move(finish));
  }

 private:
  struct CallerNames {
    const Caller& caller;
    absl::Status AllowModel(std::string_view model) const { return AuthorizeModel(caller, model); }
  };
  typename Types<kMethod>::In request_;
  typename Types<kMethod>::Out response_;
};

}  // namespace exchange_internal

// Rpc::make_exchange of a method of Handlers.
template <auto kMethod>
std::unique_ptr<Exchange> MakeExchange() {
  return std::make_unique<exchange_internal::ExchangeOf<kMethod>>();
}

}  // namespace bandana::server
