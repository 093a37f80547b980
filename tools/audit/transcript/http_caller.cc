#include "tools/audit/transcript/http_caller.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "nlohmann/json.hpp"
#include "server/api/json_call.h"
#include "server/api/routes.h"

namespace bandana::audit {
namespace {

absl::Status StatusIn(const server::HttpAnswer& answer) {
  const nlohmann::json error = nlohmann::json::parse(answer.body);
  return {static_cast<absl::StatusCode>(error.at("code").get<int>()),
          error.at("message").get<std::string>()};
}

}  // namespace

void CallByHttp(server::HttpService& door, const server::Rpc& rpc, const std::string& model,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                std::function<void(absl::Status)> done) {
  const std::string verb = server::VerbOf(rpc);
  server::HttpCall http{.method = verb.empty() ? "GET" : "POST",
                        .path = absl::StrCat("/v1/models/", model, verb.empty() ? "" : ":", verb)};
  http.headers = {{"host", "127.0.0.1"}, {"content-type", "application/json"}};
  http.peer = "ipv4:127.0.0.1:1";
  absl::StatusOr<std::string> body = server::ToJson(request);
  BANDANA_CHECK(body.ok());
  if (!verb.empty()) http.body = *std::move(body);
  door.Handle(std::move(http),
              [&response, done = std::move(done)](const server::HttpAnswer& answer) {
                if (answer.status != 200) return done(StatusIn(answer));
                done(server::FromJson(answer.body, response));
              });
}

}  // namespace bandana::audit
