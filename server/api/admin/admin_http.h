// Admin over HTTP: JSON, rows and bytes, and its console (console.h). Each call is one of Admin's
// service in this process, so it meets the same rules and leaves the same lines; it is never made
// for a page of another origin.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/address.h"
#include "server/api/http_front.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/transport/handed_calls.h"

namespace grpc {
class Channel;
}

namespace bandana::server {

// The way to Admin's service.
struct AdminDoor {
  std::shared_ptr<grpc::Channel> channel;  // GrpcServer::InProcess
  HandedCalls* handed = nullptr;           // the service's; outlives the door
};

struct AdminHttpOptions {
  AdminDoor door;
  Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role
  Address listen;
  bool tls = false;
  std::string recipes;  // RecipesJson, which the console offers
};

// Threads: all methods are safe.
class AdminHttp {
 public:
  // An upload beyond this goes in parts, or by bandana-ctl.
  static constexpr std::size_t kBodyBytesMax = 64 << 20;

  // `conduct` hears of callers whose credentials are refused.
  AdminHttp(AdminHttpOptions options, ConductSink conduct);
  ~AdminHttp();

  // Whether the path is one of Admin's, or of its console.
  static bool Has(const HttpCall& call);
  void Handle(HttpCall call, AnswerHttp answer);
  // Uploads of callers with the role may be larger than usual.
  std::size_t BodyBytesMax(const HttpCall& head, std::size_t usual) const;
  // HttpService::Refusal of a call that Has. A body that is too long for its caller says who may
  // bring so much.
  HttpAnswer Refusal(int status, const HttpCall& head, std::size_t usual) const;
  // Takes no more calls, cancels those that go on after `patience`, and waits for their end.
  void Shutdown(absl::Duration patience);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace bandana::server
