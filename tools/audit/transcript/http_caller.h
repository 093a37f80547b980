// Callers of a world's server who speak HTTP: what they send, and what they make of the answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/api/http_front.h"
#include "server/service/transport/rpcs.h"
#include "tools/audit/transcript/caller_api.h"

namespace bandana::audit {

// Who calls, and which model or alias.
struct HttpCaller {
  CallerApi api = CallerApi::kJson;
  std::string model;
  std::string token;  // empty: anonymous
};
// Every caller traces its calls: server/service/transport/call_log.h.
inline constexpr std::string_view kTraceparent =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Calls a method. Fills `response`, which must live until `done` is called: once, perhaps within
// another call. Clients of Personalizer have no words for what reads a model: they ask for it as
// JSON.
void CallByHttp(server::HttpService& api, const HttpCaller& caller, const server::Rpc& rpc,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                std::function<void(absl::Status)> done);

}  // namespace bandana::audit
