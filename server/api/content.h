// Which content the HTTP API reads, by the head of a call alone: nothing of a body decides it.
#pragma once

#include "absl/status/status.h"
#include "server/api/http_front.h"

namespace bandana::server {

// INVALID_ARGUMENT, to be answered as 415: a content coding other than identity, a charset other
// than UTF-8, or another kind of content than JSON, gRPC-Web and those that clients name where they
// are not told one (text/plain, application/x-www-form-urlencoded). A body that came so would be no
// JSON, and a private model would take it for a reward that is missing.
absl::Status CheckContent(const HttpCall& call);

}  // namespace bandana::server
