// Which bodies are read: their coding and their type.
#pragma once

#include "absl/status/status.h"
#include "server/api/http_front.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT a content coding other than identity.
absl::Status CheckCoding(const HttpCall& call);

// CheckCoding of a call with JSON, and its type. Errors: also INVALID_ARGUMENT a charset other than
// UTF-8, or another kind of content than JSON, gRPC-Web and those that clients name where they are
// not told one (text/plain, application/x-www-form-urlencoded). A body that came so would be no
// JSON, and a private model would take it for a reward that is missing.
absl::Status CheckContent(const HttpCall& call);

// The answer to such an error, as 415.
HttpAnswer Unsupported(HttpAnswer refused);

}  // namespace bandana::server
