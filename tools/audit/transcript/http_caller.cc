#include "tools/audit/transcript/http_caller.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "nlohmann/json.hpp"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"
#include "server/api/routes.h"

namespace bandana::audit {
namespace {

using nlohmann::json;
using Done = std::function<void(absl::Status)>;

server::HttpCall Call(const HttpCaller& caller, std::string method, std::string path,
                      std::string type, std::string body) {
  server::HttpCall http{.method = std::move(method), .path = std::move(path)};
  http.headers = {{"host", "127.0.0.1"},
                  {"content-type", std::move(type)},
                  {"traceparent", std::string(kTraceparent)}};
  if (!caller.token.empty()) {
    http.headers.push_back({"authorization", absl::StrCat("Bearer ", caller.token)});
  }
  http.body = std::move(body);
  http.peer = "ipv4:127.0.0.1:1";
  return http;
}

json ParsedJson(const google::protobuf::Message& message) {
  const absl::StatusOr<std::string> text = server::ToJson(message);
  BANDANA_CHECK(text.ok());
  return json::parse(*text);
}

// The status that its HTTP status stands for where a body has no code.
absl::Status StatusIn(const server::HttpAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return Internal("HTTP ", answer.status, ": ", answer.body);
  if (body.contains("error")) {
    return {absl::StatusCode::kUnknown, absl::StrCat("HTTP ", answer.status, ": ", answer.body)};
  }
  return {static_cast<absl::StatusCode>(body.at("code").get<int>()),
          body.at("message").get<std::string>()};
}

void CallAsJson(server::HttpService& api, const HttpCaller& caller, const server::Rpc& rpc,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                Done done) {
  const std::string verb = server::VerbOf(rpc);
  const std::string path = absl::StrCat("/v1/models/", caller.model, verb.empty() ? "" : ":", verb);
  absl::StatusOr<std::string> body = server::ToJson(request);
  BANDANA_CHECK(body.ok());
  api.Handle(Call(caller, verb.empty() ? "GET" : "POST", path, "application/json",
                  verb.empty() ? "" : *std::move(body)),
             [&response, done = std::move(done)](const server::HttpAnswer& answer) {
               if (answer.status != 200) return done(StatusIn(answer));
               done(server::FromJson(answer.body, response));
             });
}

// The message of a frame, and what is behind it.
std::string_view FirstFrame(std::string_view body, std::string_view& rest) {
  BANDANA_CHECK(body.size() >= 5);
  std::size_t size = 0;
  for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
  BANDANA_CHECK(body.size() >= 5 + size);
  rest = body.substr(5 + size);
  return body.substr(5, size);
}

std::string HeaderOf(const server::HttpAnswer& answer, std::string_view name) {
  for (const server::HttpHeader& header : answer.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

void CallAsGrpcWeb(server::HttpService& api, const HttpCaller& caller, const server::Rpc& rpc,
                   const google::protobuf::Message& request, google::protobuf::Message& response,
                   Done done) {
  const std::string message = request.SerializeAsString();
  std::string body(1, '\0');
  for (const int shift : {24, 16, 8, 0}) body += static_cast<char>(message.size() >> shift);
  body += message;
  api.Handle(Call(caller, "POST", absl::StrCat("/", std::string(rpc.rule.rpc)),
                  "application/grpc-web+proto", std::move(body)),
             [&response, done = std::move(done)](const server::HttpAnswer& answer) {
               int code = 0;
               if (absl::SimpleAtoi(HeaderOf(answer, "grpc-status"), &code) && code != 0) {
                 return done(absl::Status(static_cast<absl::StatusCode>(code),
                                          HeaderOf(answer, "grpc-message")));
               }
               std::string_view rest;
               const std::string_view first = FirstFrame(answer.body, rest);
               BANDANA_CHECK(response.ParseFromArray(first.data(), static_cast<int>(first.size())));
               done(absl::OkStatus());
             });
}

// A rank call of the decision, whose arms are named.
std::string RankBody(const v1::SelectRequest& request) {
  json body;
  if (!request.decision_id().empty()) body["eventId"] = request.decision_id();
  body["contextFeatures"] = {{{"bandana", {{"user", request.user()}}}},
                             ParsedJson(request.context())};
  for (const v1::NamedArm& arm : request.arms().named_arms().arms()) {
    body["actions"].push_back(
        {{"id", arm.id()}, {"features", json::array({ParsedJson(arm.features())})}});
  }
  body["deferActivation"] = request.deferred();
  return body.dump();
}

// A Personalizer client's view of a decision: every action with its probability.
void ReadRanking(const server::HttpAnswer& answer, const v1::SelectRequest& request,
                 v1::SelectResponse& response) {
  const json body = json::parse(answer.body);
  for (const json& one : body.at("ranking")) {
    const auto& arms = request.arms().named_arms().arms();
    for (int i = 0; i < arms.size(); ++i) {
      if (arms[i].id() == one.at("id")) response.add_positions(static_cast<std::uint32_t>(i));
    }
    response.add_propensities(one.at("probability").get<double>());
  }
}

void CallAsPersonalizer(server::HttpService& api, const HttpCaller& caller, const server::Rpc& rpc,
                        const google::protobuf::Message& request,
                        google::protobuf::Message& response, Done done) {
  const auto post = [&](const std::string& path, std::string body, server::AnswerHttp answered) {
    api.Handle(
        Call(caller, "POST", "/personalizer/v1.0/" + path, "application/json", std::move(body)),
        std::move(answered));
  };
  if (const auto* select = dynamic_cast<const v1::SelectRequest*>(&request)) {
    return post(
        "rank", RankBody(*select),
        [request = *select, &response, done = std::move(done)](const server::HttpAnswer& answer) {
          if (answer.status != 201) return done(StatusIn(answer));
          ReadRanking(answer, request, static_cast<v1::SelectResponse&>(response));
          done(absl::OkStatus());
        });
  }
  const auto no_content = [done](const server::HttpAnswer& answer) {
    done(answer.status == 204 ? absl::OkStatus() : StatusIn(answer));
  };
  if (const auto* report = dynamic_cast<const v1::ReportRequest*>(&request)) {
    const v1::Outcome& outcome = report->outcomes(0);
    json body = json::object();
    if (outcome.has_reward()) body["value"] = outcome.reward();
    return post(absl::StrCat("events/", outcome.decision_id(), "/reward"), body.dump(), no_content);
  }
  if (const auto* activate = dynamic_cast<const v1::ActivateRequest*>(&request)) {
    return post(absl::StrCat("events/", activate->decision_ids(0), "/activate"), "", no_content);
  }
  CallAsJson(api, caller, rpc, request, response, std::move(done));
}

}  // namespace

void CallByHttp(server::HttpService& api, const HttpCaller& caller, const server::Rpc& rpc,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                Done done) {
  switch (caller.api) {
    case CallerApi::kGrpcWeb:
      return CallAsGrpcWeb(api, caller, rpc, request, response, std::move(done));
    case CallerApi::kPersonalizer:
      return CallAsPersonalizer(api, caller, rpc, request, response, std::move(done));
    case CallerApi::kGrpc:
    case CallerApi::kJson:
      return CallAsJson(api, caller, rpc, request, response, std::move(done));
  }
}

}  // namespace bandana::audit
