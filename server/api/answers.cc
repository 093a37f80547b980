#include "server/api/answers.h"

#include <algorithm>
#include <array>

#include "common/base/status.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

struct Code {
  std::string_view name;
  int http;
};
// By google.rpc.Code. The numbers of HTTP are those that google.api's JSON interfaces use.
constexpr std::array<Code, 17> kCodes = {{
    {"OK", 200},
    {"CANCELLED", 499},
    {"UNKNOWN", 500},
    {"INVALID_ARGUMENT", 400},
    {"DEADLINE_EXCEEDED", 504},
    {"NOT_FOUND", 404},
    {"ALREADY_EXISTS", 409},
    {"PERMISSION_DENIED", 403},
    {"RESOURCE_EXHAUSTED", 429},
    {"FAILED_PRECONDITION", 400},
    {"ABORTED", 409},
    {"OUT_OF_RANGE", 400},
    {"UNIMPLEMENTED", 501},
    {"INTERNAL", 500},
    {"UNAVAILABLE", 503},
    {"DATA_LOSS", 500},
    {"UNAUTHENTICATED", 401},
}};

const Code& CodeOf(absl::StatusCode code) {
  const auto index = static_cast<std::size_t>(code);
  return kCodes[index < kCodes.size() ? index : 2];
}

}  // namespace

int HttpStatusOf(absl::StatusCode code) { return CodeOf(code).http; }
std::string_view CodeName(absl::StatusCode code) { return CodeOf(code).name; }

HttpAnswer JsonAnswer(int status, std::string body) {
  return {.status = status,
          .headers = {{"content-type", "application/json"},
                      {"cache-control", "no-store"},
                      {"x-content-type-options", "nosniff"}},
          .body = std::move(body)};
}

HttpAnswer ErrorAnswer(const CallEnd& end) {
  const absl::StatusCode code = end.status.code();
  nlohmann::ordered_json body;
  body["code"] = static_cast<int>(code);
  body["status"] = std::string(CodeName(code));
  body["message"] = TextForPeer(end.status.message());
  HttpAnswer answer = JsonAnswer(HttpStatusOf(code), body.dump());
  if (code == absl::StatusCode::kUnauthenticated) {
    answer.headers.push_back({"www-authenticate", "Bearer"});
  }
  AddCallHeaders(end, answer);
  return answer;
}

void AddCallHeaders(const CallEnd& end, HttpAnswer& answer) {
  if (!end.request_id.empty()) answer.headers.push_back({"request-id", end.request_id});
  if (end.retry_after <= absl::ZeroDuration()) return;
  const std::int64_t ms = PushbackMillis(end.retry_after);
  answer.headers.push_back({kPushbackKey, absl::StrCat(ms)});
  answer.headers.push_back({"retry-after", absl::StrCat((ms + 999) / 1000)});
}

HttpAnswer ErrorAnswer(const absl::Status& status) {
  return ErrorAnswer(CallEnd{.status = status});
}

absl::Status RefusalOf(int http_status) {
  switch (http_status) {
    case 413:
      return absl::ResourceExhaustedError("request: the body is larger than api.body_bytes_max");
    case 431:
      return absl::ResourceExhaustedError("request: its head is longer than 16384 bytes");
    case 503:
      return Unavailable("too much is being sent at a time");
    case 501:
      return absl::UnimplementedError("transfer-encoding: chunked alone is taken");
    case 504:
      return absl::DeadlineExceededError("the call's time (grpc-timeout) is over");
    default:
      return InvalidArgument("request: is no HTTP/1.1");
  }
}

HttpAnswer RefusalAnswer(int http_status) {
  HttpAnswer answer = ErrorAnswer(RefusalOf(http_status));
  answer.status = http_status;
  return answer;
}

}  // namespace bandana::server
