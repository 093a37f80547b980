// Which calls of Admin come in: access rules, and their share of the server.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/connections/conduct.h"
#include "server/service/transport/call_log.h"

namespace grpc {
class ServerContext;
}

namespace bandana::server {

// Selections come before reports, and reports before administration: at most calls_max calls are
// inside at a time, and none comes in while `overloaded` says so. Threads: safe.
class AdminGate {
 public:
  struct Options {
    Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role
    std::function<bool()> overloaded = [] { return false; };
    int calls_max = kAdminCallsMax;
    // Gets calls that change something, if they came in or a known principal was refused, and those
    // with a line (HasLine). May be null.
    CallLog* log = nullptr;
    // After each call; `status_code` is a grpc::StatusCode.
    std::function<void(std::string_view method, int status_code, absl::Duration duration)> on_end =
        [](std::string_view, int, absl::Duration) {};
    // Told of each call: see Acceptor::Report.
    std::function<void(const std::string& peer, Conduct conduct)> conduct = [](const std::string&,
                                                                               Conduct) {};
  };

  // One call. Its destructor tells `log` and on_end; a failed call gets its name as trailing
  // metadata.
  class Call {
   public:
    Call(AdminGate& gate, grpc::ServerContext& context, std::string_view method);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Whether it may come in. Errors: those of Gatekeeper::Admit; RESOURCE_EXHAUSTED, with a
    // pushback in the context's trailing metadata.
    const absl::Status& status() const { return status_; }
    // Whether it may concern this model. Errors: PERMISSION_DENIED.
    absl::Status AllowModel(const std::string& model);
    // Sets the answer of the call.
    absl::Status Answer(const absl::Status& status) { return status_ = status; }

   private:
    void WriteLine(absl::Duration duration);

    AdminGate& gate_;
    grpc::ServerContext& context_;
    const std::string_view method_;
    const absl::Time arrival_;
    Caller caller_;
    std::string model_;
    bool inside_ = false;
    absl::Status status_;
  };

  explicit AdminGate(Options options) : options_(std::move(options)) {}

 private:
  const Options options_;
  std::atomic<int> inside_{0};
};

}  // namespace bandana::server
