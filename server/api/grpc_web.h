// The frames of gRPC-Web (gRPC's PROTOCOL-WEB), unary calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/api/api_calls.h"
#include "server/api/http_front.h"

namespace bandana::server {

enum class WebForm { kBinary, kText };  // text: base64

// By the content type, `application/grpc-web` or `application/grpc-web-text`, with or without
// `+proto`; nothing of another.
std::optional<WebForm> WebFormOf(std::string_view content_type);

// The header `grpc-timeout`: up to eight digits and one of H, M, S, m, u, n. Nothing of another.
std::optional<absl::Duration> TimeoutOf(std::string_view text);

// The only message of a request's body. Errors: INVALID_ARGUMENT no base64, another number of
// messages than one, a length that is not that of the body; UNIMPLEMENTED a compressed message.
absl::StatusOr<std::string> ReadWebMessage(std::string_view body, WebForm form);

// An answer with a message, and its trailers behind it in the body.
HttpAnswer WebAnswer(const std::string& message, WebForm form);
// An answer without: the status is in the head, where browsers' clients look first.
HttpAnswer WebError(const CallEnd& end, WebForm form);

}  // namespace bandana::server
