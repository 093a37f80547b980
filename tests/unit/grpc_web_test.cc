// Frames of gRPC-Web, paths and origins.
#include "server/api/grpc_web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"
#include "server/api/openapi.h"
#include "server/api/origins.h"
#include "server/api/routes.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

std::string Frame(int flags, const std::string& content, int size = -1) {
  const auto length = static_cast<unsigned>(size < 0 ? static_cast<int>(content.size()) : size);
  std::string frame(1, static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(length >> shift);
  return frame + content;
}

TEST(GrpcWeb, ReadsBothForms) {
  EXPECT_THAT(ReadWebMessage(Frame(0, "abc"), WebForm::kBinary), IsOkAndHolds("abc"));
  EXPECT_THAT(ReadWebMessage(Frame(0, ""), WebForm::kBinary), IsOkAndHolds(""));
  const std::string frame = Frame(0, "abcd");
  EXPECT_THAT(ReadWebMessage(absl::Base64Escape(frame), WebForm::kText), IsOkAndHolds("abcd"));
  // In parts, each with its padding.
  EXPECT_THAT(ReadWebMessage(absl::Base64Escape(frame.substr(0, 5)) +
                                 absl::Base64Escape(frame.substr(5, 1)) +
                                 absl::Base64Escape(frame.substr(6)),
                             WebForm::kText),
              IsOkAndHolds("abcd"));
}

TEST(GrpcWeb, RefusesWhatIsNoSingleMessage) {
  for (const std::string& body :
       {std::string(), std::string("abc"), Frame(0, "abc", 4), Frame(0, "abc", 2),
        Frame(0, "a") + Frame(0, "b"), Frame(0x80, "x"), Frame(0, "", -2)}) {
    if (body == Frame(0, "")) continue;
    EXPECT_THAT(ReadWebMessage(body, WebForm::kBinary),
                StatusIs(absl::StatusCode::kInvalidArgument, "request: "));
  }
  EXPECT_THAT(ReadWebMessage(Frame(1, "x"), WebForm::kBinary),
              StatusIs(absl::StatusCode::kUnimplemented, "request: compressed"));
  EXPECT_THAT(ReadWebMessage("AAAA!", WebForm::kText),
              StatusIs(absl::StatusCode::kInvalidArgument, "request: is not base64"));
}

TEST(GrpcWeb, KnowsItsContentTypes) {
  EXPECT_EQ(WebFormOf("application/grpc-web"), WebForm::kBinary);
  EXPECT_EQ(WebFormOf("application/grpc-web+proto; charset=x"), WebForm::kBinary);
  EXPECT_EQ(WebFormOf("application/grpc-web-text"), WebForm::kText);
  EXPECT_EQ(WebFormOf("application/grpc-web-text+proto"), WebForm::kText);
  for (const char* other : {"", "application/json", "application/grpc", "application/grpc-webx",
                            "application/grpc-web+json"}) {
    EXPECT_EQ(WebFormOf(other), std::nullopt) << other;
  }
}

TEST(Routes, FollowFromTheTable) {
  const auto rpc = [](std::string_view path) {
    const auto route = FindRoute(path);
    return route ? std::string(route->rpc->method()) + " " + route->model : "";
  };
  EXPECT_EQ(rpc("/v1/models/news"), "GetModel news");
  EXPECT_EQ(rpc("/v1/models/news:select"), "Select news");
  EXPECT_EQ(rpc("/v1/models/news%3Aselect"), "Select news");
  EXPECT_EQ(rpc("/v1/models/news:batchSelect"), "BatchSelect news");
  EXPECT_EQ(rpc("/v1/models/news:report"), "Report news");
  EXPECT_EQ(rpc("/v1/models/news:activate"), "Activate news");
  EXPECT_EQ(rpc("/v1/models/news:submit"), "Submit news");
  EXPECT_EQ(rpc("/v1/models/news:posterior"), "GetPosterior news");
  EXPECT_EQ(rpc("/v1/models/news:armEffects"), "GetArmEffects news");
  for (const char* other :
       {"/", "/v1/models/", "/v1/models", "/v1/models/a/b", "/v1/models/a:", "/v1/models/:select",
        "/v1/models/a:Select", "/v1/models/a:model", "/v1/models/a:selectx", "/v2/models/a",
        "/v1/models/a%", "/v1/models/a%zz", "/v1/models/a%2Fb"}) {
    EXPECT_EQ(rpc(other), "") << other;
  }
  EXPECT_NE(FindGrpcWebRpc("/bandana.v1.Recommender/Select"), nullptr);
  EXPECT_EQ(FindGrpcWebRpc("/bandana.v1.Admin/CreateModel"), nullptr);
  EXPECT_EQ(FindGrpcWebRpc("/grpc.health.v1.Health/Check"), nullptr);
  EXPECT_EQ(FindGrpcWebRpc("/v1/models/a:select"), nullptr);
}

HttpCall From(const std::string& origin, const std::string& host) {
  HttpCall call;
  if (!origin.empty()) call.headers.push_back({"origin", origin});
  call.headers.push_back({"host", host});
  return call;
}

const Address kAll{.host = "0.0.0.0", .port = 7073};
const Address kLoopback{.host = "127.0.0.1", .port = 7073};

TEST(Origins, PagesMustBeNamed) {
  const Origins some({"https://shop.example"}, kAll, /*tls=*/false);
  EXPECT_TRUE(some.Allows(From("", "api.example")));
  EXPECT_TRUE(some.Allows(From("https://shop.example", "api.example")));
  EXPECT_TRUE(some.Allows(From("http://10.0.0.5", "10.0.0.5")));  // the listener's own
  EXPECT_FALSE(some.Allows(From("https://shop.example.evil", "api.example")));
  EXPECT_FALSE(some.Allows(From("http://shop.example", "api.example")));
  EXPECT_FALSE(some.Allows(From("null", "api.example")));
  EXPECT_TRUE(Origins({"*"}, kAll, false).Allows(From("https://any.example", "api.example")));
}

// Whoever may let a name point to the listener could otherwise call what listens there.
TEST(Origins, OnlyNamesOfNobodyElseAreTheListenersOwn) {
  const Origins none({}, kLoopback, /*tls=*/false);
  EXPECT_TRUE(none.Allows(From("http://localhost:7073", "localhost:7073")));
  EXPECT_TRUE(none.Allows(From("http://127.0.0.1:7073", "127.0.0.1:7073")));
  EXPECT_FALSE(none.Allows(From("http://evil.example:7073", "evil.example:7073")));
  const Origins everywhere({}, kAll, /*tls=*/false);
  EXPECT_TRUE(everywhere.Allows(From("http://bandana:7073", "bandana:7073")));
  EXPECT_FALSE(everywhere.Allows(From("http://evil.example:7073", "evil.example:7073")));
  // A browser has compared the name with the certificate's.
  EXPECT_TRUE(Origins({}, kAll, true).Allows(From("https://shop.example", "shop.example")));
  EXPECT_FALSE(Origins({}, kAll, true).Allows(From("http://shop.example", "shop.example")));
  EXPECT_TRUE(Origins({}, kLoopback, true).AllowsHost(From("", "shop.example")));
}

// A GET of a page whose own name points here has no origin: the host tells.
TEST(Origins, OnLoopbackOtherNamesAreNotAnswered) {
  const Origins some({"https://shop.example", "http://app.example:8080"}, kLoopback, /*tls=*/false);
  for (const char* own : {"localhost", "LocalHost:7073", "127.0.0.1:7073", "127.8.9.1", "[::1]",
                          "[::1]:7073", "shop.example", "Shop.Example:7073", "app.example", ""}) {
    EXPECT_TRUE(some.AllowsHost(From("", own))) << own;
  }
  for (const char* other : {"evil.example", "evil.example:7073", "localhost.evil.example",
                            "127.0.0.1.evil.example:7073", "shop.example.evil.example", "10.0.0.1",
                            "[::2]:7073", ":7073", "a shop.example"}) {
    EXPECT_FALSE(some.AllowsHost(From("", other))) << other;
  }
  EXPECT_TRUE(Origins({"*"}, kLoopback, false).AllowsHost(From("", "evil.example")));
  EXPECT_FALSE(Origins({}, kAll, false).AllowsHost(From("", "evil.example")));
  EXPECT_TRUE(Origins({}, kAll, false).AllowsHost(From("", "10.0.0.1:7073")));
}

TEST(Origins, AreWrittenAsBrowsersDo) {
  for (const char* good : {"https://shop.example", "http://localhost:8080", "http://[::1]:80"}) {
    EXPECT_TRUE(IsOrigin(good)) << good;
  }
  for (const char* bad : {"", "*", "shop.example", "https://", "https://shop.example/",
                          "https://Shop.example", "ftp://a", "https://a b"}) {
    EXPECT_FALSE(IsOrigin(bad)) << bad;
  }
}

// Every reference leads somewhere, every rpc has its path, every message its fields.
TEST(OpenApi, DescribesEveryRpc) {
  const auto document = nlohmann::json::parse(OpenApiDocument("1.2.3", {.recommender = true}));
  EXPECT_EQ(document["openapi"], "3.0.3");
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  const std::function<void(const nlohmann::json&)> check = [&](const nlohmann::json& node) {
    if (node.is_object() && node.contains("$ref")) {
      const std::string ref = node["$ref"];
      ASSERT_TRUE(ref.starts_with("#/"));
      EXPECT_TRUE(document.contains(nlohmann::json::json_pointer(ref.substr(1)))) << ref;
    }
    for (const auto& [key, value] : node.items()) {
      if (value.is_structured()) check(value);
    }
  };
  check(document);
  std::vector<std::string> operations;
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      operations.push_back(operation["operationId"]);
      std::string plain = path;
      plain.replace(plain.find("{model}"), 7, "news");
      const auto route = FindRoute(plain);
      ASSERT_TRUE(route.has_value()) << path;
      EXPECT_EQ(route->rpc->method(), operation["operationId"]);
      EXPECT_EQ(method, route->method == "GET" ? "get" : "post");
      EXPECT_EQ(operation.contains("requestBody"), method == "post");
      ASSERT_TRUE(operation["responses"].contains("200"));
      ASSERT_TRUE(operation["responses"].contains("default"));
    }
  }
  EXPECT_EQ(operations.size(), RoutedRpcs().size());
  const auto& fields = document["components"]["schemas"]["SelectRequest"]["properties"];
  EXPECT_EQ(static_cast<int>(fields.size()), v1::SelectRequest::descriptor()->field_count());
  EXPECT_EQ(fields["topK"]["type"], "integer");
  EXPECT_EQ(fields["decisionId"]["type"], "string");
  EXPECT_EQ(fields["context"]["type"], "object");
  EXPECT_EQ(fields["arms"]["$ref"], "#/components/schemas/ArmSet");
}

TEST(GrpcWeb, ReadsTimeouts) {
  EXPECT_EQ(TimeoutOf("100m"), absl::Milliseconds(100));
  EXPECT_EQ(TimeoutOf("1H"), absl::Hours(1));
  EXPECT_EQ(TimeoutOf("2M"), absl::Minutes(2));
  EXPECT_EQ(TimeoutOf("99999999S"), absl::Seconds(99'999'999));
  EXPECT_EQ(TimeoutOf("7u"), absl::Microseconds(7));
  EXPECT_EQ(TimeoutOf("0n"), absl::ZeroDuration());
  for (const char* odd : {"", "m", "10", "-1S", "1.5S", "123456789m", "1s", "1 S", "S1"}) {
    EXPECT_EQ(TimeoutOf(odd), std::nullopt) << odd;
  }
}

}  // namespace
}  // namespace bandana::server
