// A caller of a room who speaks HTTP and JSON: what it sends, and what it makes of the answer.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/api/http_front.h"
#include "server/service/transport/rpcs.h"

namespace bandana::audit {

// Calls a method of the model. Fills `response`, which must live until `done` is called: once,
// perhaps within another call.
void CallByHttp(server::HttpService& door, const server::Rpc& rpc, const std::string& model,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                std::function<void(absl::Status)> done);

}  // namespace bandana::audit
