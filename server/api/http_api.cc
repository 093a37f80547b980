#include "server/api/http_api.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/address.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "server/api/answers.h"
#include "server/api/content.h"
#include "server/api/grpc_web.h"
#include "server/api/http_front.h"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"
#include "server/api/openapi.h"
#include "server/api/raw_rewards.h"

namespace bandana::server {
namespace {

Credentials CredentialsOf(const HttpCall& http) {
  Credentials credentials;
  for (const HttpHeader& header : http.headers) {
    if (header.name == "authorization") credentials.authorization.emplace_back(header.value);
  }
  for (const std::string& subject : http.subjects) credentials.subjects.emplace_back(subject);
  return credentials;
}

HttpAnswer MethodNotAllowed(std::string_view allowed) {
  HttpAnswer answer = ErrorAnswer(
      absl::UnimplementedError(absl::StrCat("this path takes ", ToAbsl(allowed), " alone")));
  answer.status = 405;
  answer.headers.push_back({"allow", allowed == "GET" ? "GET, HEAD" : std::string(allowed)});
  return answer;
}

absl::Status ReadWeb(std::string_view body, WebForm form, google::protobuf::Message& request) {
  BANDANA_ASSIGN_OR_RETURN(const std::string message, ReadWebMessage(body, form));
  if (message.size() > std::size_t{kHotMessageBytesMax}) {
    return absl::ResourceExhaustedError(
        absl::StrCat("request is larger than ", kHotMessageBytesMax, " bytes"));
  }
  if (request.ParseFromString(message)) return absl::OkStatus();
  return InvalidArgument("request: not a ", request.GetDescriptor()->full_name());
}

}  // namespace

HttpApi::HttpApi(const ApiServerOptions& options, Handlers& handlers, const ConductSink& conduct)
    : handlers_(handlers),
      conduct_(conduct),
      origins_(std::make_shared<const Origins>(options.allowed_origins,
                                               ParseAddress(options.listen).value_or(Address{}),
                                               options.tls != nullptr)),
      document_(
          OpenApiDocument(kVersion, {.recommender = true, .admin = options.admin.has_value()})),
      body_bytes_max_(static_cast<std::size_t>(options.body_bytes_max)),
      calls_({.gatekeeper = options.gatekeeper,
              .observer = options.observer,
              .log = options.log,
              .spans = options.spans,
              .calls_max = options.calls_in_flight_max,
              .conduct = conduct,
              .tells_all = options.tls != nullptr},
             handlers),
      personalizer_(options.personalizer, calls_) {
  if (!options.admin) return;
  admin_ = std::make_unique<AdminHttp>(
      AdminHttpOptions{.door = *options.admin,
                       .gatekeeper = options.gatekeeper,
                       .listen = ParseAddress(options.listen).value_or(Address{}),
                       .tls = options.tls != nullptr,
                       .recipes = options.recipes},
      conduct);
}

void HttpApi::Handle(HttpCall http, AnswerHttp answer) {
  if (admin_ != nullptr && AdminHttp::Has(http)) {
    return admin_->Handle(std::move(http), std::move(answer));
  }
  if (!origins_->AllowsHost(http)) {
    return answer(ErrorAnswer(absl::PermissionDeniedError(
        "host: the plaintext listener is asked under a name that may be anybody's: ask under an "
        "address, or add the name to api.allowed_origins")));
  }
  if (Origins::IsPreflight(http)) return answer(origins_->AnswerPreflight(http));
  if (!origins_->Allows(http)) {
    return answer(
        ErrorAnswer(absl::PermissionDeniedError("origin: is not one of api.allowed_origins")));
  }
  HttpCall page;  // what Open looks at
  if (const std::string_view origin = http.Header("origin"); !origin.empty()) {
    page.headers.push_back({"origin", std::string(origin)});
    // A call may be answered on a thread that is not waited for at the end.
    answer = [origins = origins_, page = std::move(page),
              answer = std::move(answer)](HttpAnswer out) {
      origins->Open(page, out);
      answer(std::move(out));
    };
  }
  Dispatch(http, std::move(answer));
}

void HttpApi::Dispatch(const HttpCall& http, AnswerHttp answer) {
  const bool reads = http.method == "GET" || http.method == "HEAD";
  const bool is_personalizer = Personalizer::Has(http.path);
  if (const absl::Status content = CheckContent(http); !content.ok()) {
    return answer(
        Unsupported(is_personalizer ? Personalizer::Refused(content, 415) : ErrorAnswer(content)));
  }
  if (const absl::Duration time = TimeFor(http); time <= absl::ZeroDuration()) {
    return answer(Refusal(504, http));
  }
  if (const auto form = WebFormOf(http.Header("content-type")); form && http.method == "POST") {
    return WebCall(http, *form, std::move(answer));
  }
  if (http.path == "/openapi.json") {
    return answer(reads ? JsonAnswer(200, document_) : MethodNotAllowed("GET"));
  }
  if (is_personalizer) return personalizer_.Handle(http, std::move(answer));
  const std::optional<Route> route = FindRoute(http.path);
  if (!route) {
    return answer(ErrorAnswer(NotFound("no such path; /openapi.json lists those of models")));
  }
  if (route->method == "GET" ? !reads : http.method != route->method) {
    return answer(MethodNotAllowed(route->method));
  }
  JsonCall(http, *route, std::move(answer));
}

void HttpApi::JsonCall(const HttpCall& http, const Route& route, AnswerHttp answer) {
  const std::shared_ptr<ApiCall> call =
      calls_.Begin(*route.rpc, http, route.model, CredentialsOf(http));
  if (!call->status().ok()) return answer(ErrorAnswer(call->End(call->status())));
  const std::shared_ptr<Exchange> exchange = route.rpc->make_exchange();
  if (const absl::Status read = ReadJson(http, route, *call, *exchange); !read.ok()) {
    return answer(ErrorAnswer(call->End(read)));
  }
  call->Run(exchange, [call, exchange, answer = std::move(answer)](const absl::Status& status) {
    if (!status.ok()) return answer(ErrorAnswer(call->End(status)));
    absl::StatusOr<std::string> text = ToJson(exchange->response());
    const CallEnd end = call->End(text.status());
    if (!text.ok()) return answer(ErrorAnswer(end));
    HttpAnswer out = JsonAnswer(200, *std::move(text));
    AddCallHeaders(end, out);
    answer(std::move(out));
  });
}

absl::Status HttpApi::ReadJson(const HttpCall& http, const Route& route, const ApiCall& call,
                               Exchange& exchange) {
  BANDANA_RETURN_IF_ERROR(AuthorizeModel(call.caller(), route.model));
  std::string_view body = http.body;
  std::string mended;
  if (route.rpc == &report_rpc_) {
    BANDANA_ASSIGN_OR_RETURN(const RawRewardRule* const rule,
                             RuleForReports(handlers_, route.model));
    if (rule->any_counts) body = mended = WithoutOddRewards(body);
  }
  absl::Status read = FromJson(body, exchange.request());
  if (!read.ok() && (route.rpc == &select_rpc_ || route.rpc == &batch_rpc_) &&
      TakesAnyContext(handlers_, route.model)) {
    exchange.request().Clear();
    read = FromJson(WithoutOddFeatures(body), exchange.request());
  }
  BANDANA_RETURN_IF_ERROR(read);
  return exchange.NameModel(route.model);
}

void HttpApi::WebCall(const HttpCall& http, WebForm form, AnswerHttp answer) {
  const Rpc* const rpc = FindGrpcWebRpc(http.path);
  if (rpc == nullptr) {
    return answer(WebError({.status = absl::UnimplementedError("no such method")}, form));
  }
  const std::shared_ptr<ApiCall> call = calls_.Begin(*rpc, http, "", CredentialsOf(http));
  if (!call->status().ok()) return answer(WebError(call->End(call->status()), form));
  const std::shared_ptr<Exchange> exchange = rpc->make_exchange();
  if (const absl::Status read = ReadWeb(http.body, form, exchange->request()); !read.ok()) {
    return answer(WebError(call->End(read), form));
  }
  call->Run(
      exchange, [call, exchange, form, answer = std::move(answer)](const absl::Status& status) {
        const std::string message = status.ok() ? exchange->response().SerializeAsString() : "";
        const CallEnd end = call->End(status);
        answer(status.ok() ? WebAnswer(message, form) : WebError(end, form));
      });
}

absl::Duration HttpApi::TimeFor(const HttpCall& head) const {
  const std::string_view timeout = head.Header("grpc-timeout");
  return timeout.empty() ? absl::InfiniteDuration()
                         : TimeoutOf(timeout).value_or(absl::InfiniteDuration());
}

std::size_t HttpApi::BodyBytesMax(const HttpCall& head, std::size_t usual) const {
  return admin_ == nullptr ? usual : admin_->BodyBytesMax(head, usual);
}

HttpAnswer HttpApi::Refusal(int status, const HttpCall& head) {
  if (admin_ != nullptr && AdminHttp::Has(head)) {
    return admin_->Refusal(status, head, body_bytes_max_);
  }
  if (status == 413) {
    conduct_(head.peer, Conduct::kRefused);
    const std::optional<Route> route = FindRoute(head.path);
    const Rpc* const rpc = route ? route->rpc : FindGrpcWebRpc(head.path);
    if (rpc != nullptr) calls_.NoteTooLarge(*rpc, route ? route->model : "");
  }
  HttpAnswer answer = RefusalAnswer(status);
  const auto form = WebFormOf(head.Header("content-type"));
  if (form && status == 504) answer = WebError({.status = RefusalOf(status)}, *form);
  if (origins_->Allows(head)) origins_->Open(head, answer);
  return answer;
}

}  // namespace bandana::server
