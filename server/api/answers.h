// Answers of the HTTP API to errors.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/api/api_calls.h"
#include "server/api/http_front.h"

namespace bandana::server {

// The HTTP status of a google.rpc.Code.
int HttpStatusOf(absl::StatusCode code);
// INVALID_ARGUMENT
std::string_view CodeName(absl::StatusCode code);

HttpAnswer JsonAnswer(int status, std::string body);

// A google.rpc.Status as JSON, with its code's name: {"code": 3, "status": "INVALID_ARGUMENT",
// "message": "..."}. With it go `request-id`, the name of the call's line in the log, `retry-after`
// in whole seconds and `grpc-retry-pushback-ms`, where there are any.
HttpAnswer ErrorAnswer(const CallEnd& end);
void AddCallHeaders(const CallEnd& end, HttpAnswer& answer);
HttpAnswer ErrorAnswer(const absl::Status& status);

// Why a request never becomes a call (HttpService::Refusal), and the answer that says so.
absl::Status RefusalOf(int http_status);
HttpAnswer RefusalAnswer(int http_status);

}  // namespace bandana::server
