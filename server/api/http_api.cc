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
#include "server/api/grpc_web.h"
#include "server/api/http_front.h"
#include "server/api/json_call.h"
#include "server/api/openapi.h"
#include "server/api/raw_rewards.h"

namespace bandana::server {
namespace {

constexpr std::string_view kTypes[] = {"", "application/json", "text/json", "text/plain",
                                       "application/x-www-form-urlencoded"};

bool IsIdentity(absl::string_view codings) {
  for (const absl::string_view coding : absl::StrSplit(codings, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(coding);
    if (!name.empty() && !absl::EqualsIgnoreCase(name, "identity")) return false;
  }
  return true;
}

// Whether the charset is UTF-8: a missing one is, and US-ASCII is a part of it.
bool IsUtf8(absl::string_view parameter) {
  absl::string_view charset = absl::StripAsciiWhitespace(parameter);
  if (!absl::StartsWithIgnoreCase(charset, "charset")) return true;
  charset = absl::StripLeadingAsciiWhitespace(charset.substr(7));
  if (!absl::ConsumePrefix(&charset, "=")) return true;
  charset = absl::StripAsciiWhitespace(charset);
  if (absl::ConsumePrefix(&charset, "\"")) absl::ConsumeSuffix(&charset, "\"");
  return absl::EqualsIgnoreCase(charset, "utf-8") || absl::EqualsIgnoreCase(charset, "utf8") ||
         absl::EqualsIgnoreCase(charset, "us-ascii");
}

absl::Status CheckType(const std::string& value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, ';');
  const std::string type = absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]));
  const bool known = std::ranges::find(kTypes, type) != std::end(kTypes) || WebFormOf(type) ||
                     (type.starts_with("application/") && type.ends_with("+json"));
  if (!known) return InvalidArgument("content-type: must be application/json, or none");
  if (!std::all_of(parts.begin() + 1, parts.end(), IsUtf8)) {
    return InvalidArgument("content-type: the charset must be utf-8");
  }
  return absl::OkStatus();
}

// INVALID_ARGUMENT, to be answered as 415: a content coding other than identity, a charset other
// than UTF-8, or another kind of content than JSON, gRPC-Web and those that clients name where they
// are not told one (text/plain, application/x-www-form-urlencoded). A body that came so would be no
// JSON, and a private model would take it for a reward that is missing.
absl::Status CheckContent(const HttpCall& call) {
  for (const HttpHeader& header : call.headers) {
    if (header.name == "content-encoding" && !IsIdentity(header.value)) {
      return InvalidArgument("content-encoding: must be identity, or none: send the body as it is");
    }
    if (header.name == "content-type") BANDANA_RETURN_IF_ERROR(CheckType(header.value));
  }
  return absl::OkStatus();
}

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
      document_(OpenApiDocument(kVersion)),
      calls_({.gatekeeper = options.gatekeeper,
              .observer = options.observer,
              .log = options.log,
              .calls_max = options.calls_in_flight_max,
              .conduct = conduct,
              .tells_all = options.tls != nullptr},
             handlers),
      personalizer_(options.personalizer, calls_) {}

void HttpApi::Handle(HttpCall http, AnswerHttp answer) {
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
    HttpAnswer refused =
        is_personalizer ? Personalizer::Refused(content, 415) : ErrorAnswer(content);
    refused.status = 415;
    refused.headers.push_back({"accept-encoding", "identity"});
    return answer(std::move(refused));
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

HttpAnswer HttpApi::Refusal(int status, const HttpCall& head) {
  absl::Status why = InvalidArgument("request: is no HTTP/1.1");
  if (status == 413) {
    conduct_(head.peer, Conduct::kRefused);
    why = absl::ResourceExhaustedError("request: the body is larger than api.body_bytes_max");
    const std::optional<Route> route = FindRoute(head.path);
    const Rpc* const rpc = route ? route->rpc : FindGrpcWebRpc(head.path);
    if (rpc != nullptr) calls_.NoteTooLarge(*rpc, route ? route->model : "");
  } else if (status == 431) {
    why = absl::ResourceExhaustedError("request: its head is longer than 16384 bytes");
  } else if (status == 503) {
    why = Unavailable("too much is being sent at a time");
  } else if (status == 501) {
    why = absl::UnimplementedError("transfer-encoding: chunked alone is taken");
  } else if (status == 504) {
    why = absl::DeadlineExceededError("the call's time (grpc-timeout) is over");
  }
  HttpAnswer answer = ErrorAnswer(why);
  answer.status = status;
  const auto form = WebFormOf(head.Header("content-type"));
  if (form && status == 504) answer = WebError({.status = why}, *form);
  if (origins_->Allows(head)) origins_->Open(head, answer);
  return answer;
}

}  // namespace bandana::server
