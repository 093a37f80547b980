// Admin by HTTP: as a shell, a page and a spreadsheet use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "nlohmann/json.hpp"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kModels[] = "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n";
constexpr char kGroups[] =
    "models { name: 'shop' dimension: 2 effects { standard {} user_groups: 'town' }"
    " mode: NON_PRIVATE }\n";

std::string Digest(const std::string& token) { return ToHex(Sha256Of(token)); }

class AdminHttpTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    auto server = ServerProcess::Start(
        {.config = config, .folder = folder_.path(), .arguments = {"--api_listen=127.0.0.1:0"}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    address_ = server_->api_listen();
  }
  HttpResult Send(HttpSent sent) const {
    if (!token_.empty()) sent.headers.push_back("Authorization: Bearer " + token_);
    return testing::Send(address_, sent);
  }
  HttpResult Post(const std::string& path, const std::string& body,
                  std::vector<std::string> headers = {}) const {
    return Send({.path = path, .headers = std::move(headers), .body = body});
  }
  HttpResult Get(const std::string& path, std::vector<std::string> headers = {}) const {
    return Send({.method = "GET", .path = path, .headers = std::move(headers)});
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::string address_;
  std::string token_;
};

TEST_F(AdminHttpTest, AModelIsMadeChangedAndTakenAway) {
  Start(kModels);
  const HttpResult made =
      Post("/v1/admin:createModel", R"({"config":{"name":"ads","dimension":1,"shared":{},)"
                                    R"("mode":"NON_PRIVATE","exploration":{"alpha":0.5}}})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(Json::parse(made.body)["config"]["name"], "ads");
  EXPECT_EQ(Post("/v1/admin:createModel", R"({"config":{"name":"ads","dimension":1,)"
                                          R"("shared":{},"mode":"NON_PRIVATE"}})")
                .status,
            409);
  EXPECT_EQ(Json::parse(Get("/v1/admin:listModels").body)["models"].size(), 2u);
  const HttpResult changed =
      Post("/v1/models/ads:update", R"({"config":{"exploration":{"alpha":0.25}}})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(Json::parse(changed.body)["config"]["exploration"]["alpha"], 0.25);
  EXPECT_THAT(Post("/v1/models/ads:update", R"({"config":{"name":"x"}})").body,
              HasSubstr("config.name: must be the path's, ads"));
  EXPECT_EQ(Json::parse(Get("/v1/models/ads:stats").body)["epoch"], "1");
  EXPECT_EQ(Json::parse(Post("/v1/models/ads:openEpoch", "").body)["epoch"], "2");
  EXPECT_EQ(Post("/v1/admin:putAlias",
                 R"({"alias":{"name":"front","shares":[{"model":"ads","weight":1}]}})")
                .status,
            200);
  EXPECT_EQ(Post("/v1/admin:deleteAlias", R"({"name":"front"})").status, 200);
  EXPECT_EQ(Post("/v1/models/ads:delete", "").status, 200);
  EXPECT_EQ(Get("/v1/models/ads:stats").status, 404);
}

TEST_F(AdminHttpTest, WhatIsWrongIsSaidInTheCallersTerms) {
  Start(kModels);
  EXPECT_EQ(Get("/v1/models/news:putArms").status, 405);
  EXPECT_EQ(HeaderOf(Get("/v1/models/news:delete"), "allow"), "POST");
  EXPECT_EQ(Get("/v1/models/news:nothing").status, 404);
  EXPECT_EQ(Get("/v1/admin:checkImport").status, 404);
  EXPECT_THAT(Post("/v1/models/news:removeArms", R"({"ids":[1],"what":2})").body,
              HasSubstr("what: there is no such field"));
  EXPECT_THAT(Post("/v1/models/news:removeArms", R"({"model":"other"})").body,
              HasSubstr("model: must be the path's, news"));
  EXPECT_EQ(Post("/v1/models/news:putArms", "{}",
                 {"Content-Type: application/x-ndjson", "Content-Encoding: gzip"})
                .status,
            415);
  EXPECT_THAT(Post("/v1/models/news:putArms", "{}", {"Content-Type: application/json"}).body,
              HasSubstr("content-type: must be application/x-ndjson (JSON Lines) or text/csv"));
  EXPECT_THAT(Post("/v1/models/news:putArms", "{\"id\":1,\"features\":[1,2]}\n\n{\"id\":\"x\"}\n",
                   {"Content-Type: application/x-ndjson"})
                  .body,
              HasSubstr("line 3: id: "));
  EXPECT_THAT(Post("/v1/models/news:putArms", "id,nose\n1,2\n", {"Content-Type: text/csv"}).body,
              HasSubstr("line 2: nose: there is no such column of arms"));
  EXPECT_THAT(Post("/v1/models/news:putArms", "name\nx\n", {"Content-Type: text/csv"}).body,
              HasSubstr("header: must have the column id"));
  EXPECT_THAT(
      Post("/v1/models/news:putArms", "id,features\n1,1 2 3\n", {"Content-Type: text/csv"}).body,
      HasSubstr("features"));
  EXPECT_THAT(Get("/v1/models/news:listArms").body, "");  // nothing was put
}

TEST_F(AdminHttpTest, ArmsGoUpAndDownAsLinesAndAsTables) {
  Start(kModels);
  const HttpResult put = Post("/v1/models/news:putArms",
                              "id,name,tags,features,field:price,availability\r\n"
                              "7,\"A, b\",\"red,new\",0.1 0.2,3.5,2026-01-01T00:00:00Z/\r\n"
                              "9,,,1 0,,\r\n",
                              {"Content-Type: text/csv"});
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Json::parse(put.body)["added"], 2);
  const std::string csv = Get("/v1/models/news:listArms", {"Accept: text/csv"}).body;
  EXPECT_EQ(csv,
            "id,name,tags,features,groups,fields,availability\r\n"
            "7,\"A, b\",\"red,new\",0.1 0.2,,price=3.5,2026-01-01T00:00:00+00:00/\r\n"
            "9,,,1 0,,,\r\n");
  // The answer goes up again, and changes nothing.
  EXPECT_EQ(Json::parse(
                Post("/v1/models/news:putArms", csv, {"Content-Type: text/csv"}).body)["replaced"],
            2);
  EXPECT_EQ(Get("/v1/models/news:listArms", {"Accept: text/csv"}).body, csv);
  const std::string lines = Get("/v1/models/news:listArms").body;
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n')))["name"], "A, b");
  EXPECT_EQ(
      Json::parse(Post("/v1/models/news:putArms", lines, {"Content-Type: application/x-ndjson"})
                      .body)["replaced"],
      2);
  EXPECT_EQ(Get("/v1/models/news:listArms", {"Accept: text/csv"}).body, csv);
}

// Larger than a body of other calls may be, and than a message of gRPC.
TEST_F(AdminHttpTest, ManyArmsAreOneChange) {
  Start("models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE arms_max: 200000 }\n");
  std::string body;
  for (int i = 0; i < 90'000; ++i) {
    absl::StrAppend(&body, R"({"id":)", i, R"(,"features":[0.5,0.25],"tags":["t)", i % 10,
                    "\"]}\n");
  }
  ASSERT_GT(body.size(), std::size_t{4} << 20);
  const HttpResult put =
      Post("/v1/models/news:putArms", body, {"Content-Type: application/x-ndjson"});
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Json::parse(put.body)["arms"], 90'000);
  const HttpResult down = Get("/v1/models/news:listArms");
  EXPECT_EQ(std::ranges::count(down.body, '\n'), 90'000);
  // A mistake in the last line changes nothing.
  EXPECT_EQ(
      Post("/v1/models/news:putArms",
           "{\"id\":200000,\"features\":[1,1]}\n" + std::string("{\"id\":1,\"features\":[1]}\n"),
           {"Content-Type: application/x-ndjson"})
          .status,
      400);
  EXPECT_EQ(Json::parse(Get("/v1/models/news:stats").body)["arms"], 90'000);
}

TEST_F(AdminHttpTest, UsersGoUpAndDown) {
  Start(kGroups);
  const HttpResult put = Post("/v1/models/shop:putUsers", "id,group:town\nann,Ulm\nbob,\n",
                              {"Content-Type: text/csv"});
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Get("/v1/models/shop:listUsers", {"Accept: text/csv"}).body,
            "id,node,groups\r\nann,,town=Ulm\r\nbob,,\r\n");
  EXPECT_EQ(Json::parse(Get("/v1/models/shop:listUsers").body)["users"].size(), 2u);
  EXPECT_EQ(
      Json::parse(
          Post("/v1/models/shop:exportUser", R"({"id":"ann"})").body)["user"]["groups"]["town"],
      "Ulm");
  EXPECT_EQ(Post("/v1/models/shop:deleteUsers", R"({"ids":["ann"]})").status, 200);
  EXPECT_THAT(Get("/v1/models/shop:listUsers", {"Accept: application/x-ndjson"}).body,
              Not(HasSubstr("ann")));
}

TEST_F(AdminHttpTest, AModelGoesOutAndComesBackUnderAnotherName) {
  Start(kModels);
  Post("/v1/models/news:putArms", "id,features\n3,1 2\n", {"Content-Type: text/csv"});
  const HttpResult file = Post("/v1/models/news:export", "");
  ASSERT_EQ(file.status, 200);
  EXPECT_EQ(HeaderOf(file, "content-type"), "application/octet-stream");
  const HttpResult in =
      Post("/v1/admin:import?model=copy", file.body, {"Content-Type: application/octet-stream"});
  ASSERT_EQ(in.status, 200) << in.body;
  EXPECT_EQ(Json::parse(Get("/v1/models/copy:stats").body)["arms"], 1);
  EXPECT_THAT(Post("/v1/admin:import", file.body).body, HasSubstr("model: must be in the path"));
  EXPECT_NE(Post("/v1/admin:import?model=copy2", file.body.substr(0, 100)).status, 200);
}

TEST_F(AdminHttpTest, RolesAndModelsHoldAsForGrpc) {
  Start(absl::StrCat(
      kModels, "models { name: 'shop' dimension: 2 shared {} mode: NON_PRIVATE }\n",
      "access { principals { name: 'boss' roles: ROLE_ADMIN token_sha256: '",
      Digest("boss-token-0123456789"), "' }",
      " principals { name: 'app' roles: ROLE_SELECT roles: ROLE_REPORT token_sha256: '",
      Digest("app-token-0123456789"), "' }",
      " principals { name: 'clerk' roles: ROLE_ADMIN models: 'shop' token_sha256: '",
      Digest("clerk-token-0123456789"), "' } }\n"));
  EXPECT_EQ(Get("/v1/admin:listModels").status, 401);
  token_ = "nobody-0123456789";
  EXPECT_EQ(Get("/v1/admin:listModels").status, 401);
  token_ = "app-token-0123456789";
  EXPECT_EQ(Get("/v1/admin:listModels").status, 403);
  EXPECT_EQ(Post("/v1/models/news:openEpoch", "").status, 403);
  token_ = "clerk-token-0123456789";
  EXPECT_EQ(Get("/v1/admin:listModels").status, 403);
  EXPECT_EQ(Get("/v1/models/news:stats").status, 403);
  EXPECT_EQ(Get("/v1/models/shop:stats").status, 200);
  token_ = "boss-token-0123456789";
  EXPECT_EQ(Get("/v1/admin:listModels").status, 200);
  EXPECT_EQ(Post("/v1/models/news:openEpoch", "").status, 200);
  // The line about the change names who made it.
  EXPECT_THAT(server_->process().err(), HasSubstr("OpenEpoch"));
  EXPECT_THAT(server_->process().err(), HasSubstr("boss"));
  // A body of an upload is not taken before its caller is known.
  const auto upload = [&](std::size_t bytes) {
    return Post("/v1/models/news:putArms", std::string(bytes, ' '),
                {"Content-Type: application/x-ndjson"});
  };
  token_ = "app-token-0123456789";
  EXPECT_EQ(upload(2 << 20).status, 403);
  token_ = "";
  EXPECT_EQ(upload(2 << 20).status, 401);
  token_ = "boss-token-0123456789";
  const HttpResult long_one = upload((64 << 20) + 1);
  EXPECT_EQ(long_one.status, 413);
  EXPECT_THAT(long_one.body, HasSubstr("the body is larger than 67108864 bytes"));
  const HttpResult usual = Post("/v1/models/news:stats", std::string(2 << 20, ' '));
  EXPECT_EQ(usual.status, 413);
  EXPECT_THAT(usual.body, HasSubstr("the body is larger than 1048576 bytes"));
}

TEST_F(AdminHttpTest, NoPageOfAnotherOriginMayCall) {
  Start(absl::StrCat(kModels, "api { allowed_origins: '*' }"));
  const auto with = [&](const std::string& header) {
    return Post("/v1/models/news:openEpoch", "", {header}).status;
  };
  EXPECT_EQ(with("Origin: https://evil.example"), 403);
  EXPECT_EQ(with("Origin: null"), 403);
  EXPECT_EQ(with("Origin: http://127.0.0.1:1"), 403);
  EXPECT_EQ(with("Sec-Fetch-Site: cross-site"), 403);
  EXPECT_EQ(with("Sec-Fetch-Site: same-site"), 403);
  EXPECT_EQ(with("Origin: http://" + address_), 200);
  const HttpResult read = Get("/v1/admin:listModels", {"Origin: https://evil.example"});
  EXPECT_EQ(read.status, 403);
  EXPECT_EQ(HeaderOf(read, "access-control-allow-origin"), "");
  // A name that somebody has let point here.
  EXPECT_EQ(Send({.method = "GET", .path = "/v1/admin:listModels", .host = "evil.example"}).status,
            403);
  const HttpResult asked =
      Send({.method = "OPTIONS",
            .path = "/v1/models/news:openEpoch",
            .headers = {"Origin: https://evil.example", "Access-Control-Request-Method: POST"}});
  EXPECT_EQ(asked.status, 403);
  EXPECT_EQ(HeaderOf(asked, "access-control-allow-origin"), "");
}

TEST_F(AdminHttpTest, AnAddressOfAdminHasBothProtocols) {
  Start(absl::StrCat(kModels, "admin_listen: '127.0.0.1:0'"));
  EXPECT_EQ(Get("/v1/admin:listModels").status, 404);
  EXPECT_EQ(Post("/v1/models/news:openEpoch", "").status, 404);
  EXPECT_THAT(Get("/openapi.json").body, Not(HasSubstr("openEpoch")));
  address_ = server_->admin_listen();
  EXPECT_EQ(Get("/v1/admin:listModels").status, 200);
  EXPECT_EQ(Post("/v1/models/news:openEpoch", "").status, 200);
  EXPECT_EQ(Post("/v1/models/news:select", "{}").status, 404);
  const Json document = Json::parse(Get("/openapi.json").body);
  EXPECT_TRUE(document["paths"].contains("/v1/models/{model}:openEpoch"));
  EXPECT_FALSE(document["paths"].contains("/v1/models/{model}:select"));
  EXPECT_EQ(server_->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
