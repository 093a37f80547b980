// The HTTP interface: JSON, gRPC-Web, Personalizer's API and its own description. It knows no
// sockets.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/api/admin/admin_http.h"
#include "server/api/api_calls.h"
#include "server/api/api_server.h"
#include "server/api/grpc_web.h"
#include "server/api/http_front.h"
#include "server/api/origins.h"
#include "server/api/personalizer.h"
#include "server/api/routes.h"

namespace bandana::server {

// Threads: all methods are safe.
class HttpApi final : public HttpService {
 public:
  // `conduct`: as CallDeskOptions. `handlers` must outlive it.
  HttpApi(const ApiServerOptions& options, Handlers& handlers, const ConductSink& conduct);

  void Handle(HttpCall http, AnswerHttp answer) override;
  std::size_t BodyBytesMax(const HttpCall& head, std::size_t usual) const override;
  absl::Duration TimeFor(const HttpCall& head) const override;
  HttpAnswer Refusal(int status, const HttpCall& head) override;

  ApiCalls& calls() { return calls_; }
  const ApiCalls& calls() const { return calls_; }
  // AdminHttp::Shutdown.
  void ShutAdmin(absl::Duration patience) {
    if (admin_ != nullptr) admin_->Shutdown(patience);
  }

 private:
  void Dispatch(const HttpCall& http, AnswerHttp answer);
  void JsonCall(const HttpCall& http, const Route& route, AnswerHttp answer);
  // Errors: of FromJson; PERMISSION_DENIED; FAILED_PRECONDITION a raw reward for a model that takes
  // none.
  absl::Status ReadJson(const HttpCall& http, const Route& route, const ApiCall& call,
                        Exchange& exchange);
  void WebCall(const HttpCall& http, WebForm form, AnswerHttp answer);

  Handlers& handlers_;
  const ConductSink conduct_;
  const std::shared_ptr<const Origins> origins_;
  const std::string document_;
  const std::size_t body_bytes_max_;
  const Rpc& report_rpc_ = RpcNamed("bandana.v1.Recommender/Report");
  const Rpc& select_rpc_ = RpcNamed("bandana.v1.Recommender/Select");
  const Rpc& batch_rpc_ = RpcNamed("bandana.v1.Recommender/BatchSelect");
  ApiCalls calls_;
  Personalizer personalizer_;
  std::unique_ptr<AdminHttp> admin_;  // null: Admin is not here
};

}  // namespace bandana::server
