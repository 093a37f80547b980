// Which calls of Admin come in: access rules, and their share of the server.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/base/limits.h"
#include "server/service/access/gatekeeper.h"

namespace grpc {
class ServerContext;
}

namespace bandana::server {

// One call, for the log. Nothing in it is a credential.
struct AdminCall {
  std::string_view method;  // of bandana.v1.Admin
  std::string_view caller;  // a principal's name, or anonymous
  std::string model;        // as the caller named it, printable and cut; may be empty
  absl::StatusCode code{};
};

// Selections come before reports, and reports before administration: at most calls_max calls are
// inside at a time, and none comes in while `overloaded` says so. Threads: safe.
class Door {
 public:
  struct Options {
    Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role
    std::function<bool()> overloaded = [] { return false; };
    int calls_max = kAdminCallsMax;
    // After each call that came in, and each that a known principal was refused.
    std::function<void(const AdminCall&)> on_call = [](const AdminCall&) {};
  };

  // One call. Its destructor tells on_call.
  class Visit {
   public:
    Visit(Door& door, grpc::ServerContext& context, std::string_view method);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    // Whether it may come in. Errors: those of Gatekeeper::Admit; RESOURCE_EXHAUSTED, with a
    // pushback in the context's trailing metadata.
    const absl::Status& status() const { return status_; }
    // Whether it may concern this model. Errors: PERMISSION_DENIED.
    absl::Status AllowModel(const std::string& model);
    // What the call will be answered with.
    absl::Status Answer(const absl::Status& status) { return status_ = status; }

   private:
    Door& door_;
    const std::string_view method_;
    Caller caller_;
    std::string model_;
    bool inside_ = false;
    absl::Status status_;
  };

  explicit Door(Options options) : options_(std::move(options)) {}

 private:
  const Options options_;
  std::atomic<int> inside_{0};
};

}  // namespace bandana::server
